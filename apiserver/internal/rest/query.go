package rest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Parameters are the query parameters of a route: the fields of its request that are neither in the path nor the body.
type Parameters map[string]protoreflect.FieldDescriptor

// parametersOf lists each field under both of its names.
func parametersOf(request protoreflect.MessageDescriptor, rule *annotations.HttpRule, path string) Parameters {
	p := Parameters{}
	for i := range request.Fields().Len() {
		f := request.Fields().Get(i)
		name := string(f.Name())
		if f.Message() != nil && !isText(f.Message()) || rule.GetBody() == name || rule.GetBody() == "*" || strings.Contains(path, "{"+name+"}") {
			continue
		}
		p[name], p[f.JSONName()] = f, f
	}
	return p
}

// isText reports whether values of a message type can be in a query as text.
func isText(md protoreflect.MessageDescriptor) bool {
	return slices.Contains([]protoreflect.FullName{"google.protobuf.FieldMask", duration, moment}, md.FullName())
}

const duration, moment = "google.protobuf.Duration", "google.protobuf.Timestamp"

// names returns the documented names of the parameters.
func (p Parameters) names() string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(p)), func(name string) bool { return strings.Contains(name, "_") })
	return strings.Join(names, ", ")
}

// Check refuses parameters that would be ignored: without it, a misspelt validateOnly would create an object.
func (p Parameters) Check(query string) error {
	if query == "" {
		return nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return rpcstatus.BadField("", "the query string cannot be read: %v", err)
	}
	bad := &rpcstatus.InvalidError{Reason: "INVALID_ARGUMENT"}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		given := values[key]
		if f := p[key]; f != nil && f.JSONName() != key { // both names are one parameter
			given = append(given, values[f.JSONName()]...)
		}
		if problem := p.problem(key, given); problem != "" {
			bad.Violations = append(bad.Violations, rpcstatus.Violation{Field: strings.ToValidUTF8(key, "?"), Description: problem, Reason: "INVALID_ARGUMENT"})
		}
	}
	if len(bad.Violations) == 0 {
		return nil
	}
	return bad
}

// problem returns the problem of one parameter, or nothing.
func (p Parameters) problem(key string, values []string) string {
	f, known := p[key]
	switch {
	case !known && len(p) == 0:
		return "unknown query parameter: this method takes none"
	case !known:
		return "unknown query parameter: use " + p.names()
	case len(values) > 1:
		return "the query parameter is given more than once"
	case !utf8.ValidString(values[0]):
		return "the value is not valid UTF-8"
	}
	return valueProblem(f, values[0])
}

func valueProblem(f protoreflect.FieldDescriptor, value string) string {
	switch f.Kind() { //nolint:exhaustive // text of any form is fine for the others
	case protoreflect.BoolKind:
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Sprintf("%q is not true or false", value)
		}
	case protoreflect.Int32Kind:
		if _, err := strconv.ParseInt(value, 10, 32); err != nil {
			return fmt.Sprintf("%q is not a whole number of 32 bits", value)
		}
	case protoreflect.MessageKind:
		if _, err := time.ParseDuration(value); err != nil && f.Message().FullName() == duration {
			return fmt.Sprintf("%q is not a duration such as 90s", value)
		}
		if _, err := time.Parse(time.RFC3339, value); err != nil && f.Message().FullName() == moment {
			return fmt.Sprintf("%q is not a time such as 2026-01-31T12:00:00Z", value)
		}
	}
	return ""
}

// RefuseUnsupported refuses a write with a dry run or a condition that is not supported, since it would write in any case. supported are the parameters and
// headers.
func RefuseUnsupported(r *http.Request, supported ...string) error {
	if IsRead(r.Method) || r.Method == http.MethodOptions {
		return nil
	}
	for _, name := range []string{"If-Match", "If-None-Match", "If-Unmodified-Since"} {
		if r.Header.Values(name) != nil && !slices.Contains(supported, name) {
			return rpcstatus.BadField("", "the condition %s is not supported here; remove it", name)
		}
	}
	if r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return rpcstatus.BadField("", "the query string cannot be read: %v", err)
	}
	for name := range query {
		switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
		case "dryrun", "validateonly", "etag":
			if !slices.Contains(supported, name) {
				return rpcstatus.BadField(rpcstatus.Quoted(name), "the query parameter is not supported here; remove it")
			}
		}
	}
	return nil
}
