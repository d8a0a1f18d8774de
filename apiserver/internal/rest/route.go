package rest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Route is an HTTP method with a path, and the method of a service that it calls, as declared in the protos' annotations.
type Route struct {
	Method string
	// Pattern is the path as annotated, for metrics.
	Pattern string
	// RPC is the full name of the method, Descriptor its descriptor.
	RPC        string
	Descriptor protoreflect.MethodDescriptor
	// Long means that the call stays open.
	Long bool
	// Query are the query parameters of the method.
	Query Parameters
	// Body is the field of the request that the body of the HTTP request fills: * means all of the request, and empty means no body. Shown
	// is the field of the response that is the answer: empty means all of the response.
	Body, Shown protoreflect.Name

	segments []string
	verb     string // with its colon
	// variables are the fields that the parts of a path are for; empty for the others.
	variables []protoreflect.Name
}

// Verb is the text after the name of an object and a colon, such as suspend. Empty for the standard methods.
func (r *Route) Verb() string { return strings.TrimPrefix(r.verb, ":") }

// Routes are the routes of one API.
type Routes []*Route

// RoutesOf returns the routes of services.
func RoutesOf(services ...protoreflect.ServiceDescriptor) Routes {
	var all Routes
	for _, service := range services {
		for i := range service.Methods().Len() {
			rpc := service.Methods().Get(i)
			rule, ok := proto.GetExtension(rpc.Options(), annotations.E_Http).(*annotations.HttpRule)
			if !ok || rule == nil {
				continue
			}
			for _, rule := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
				all = append(all, routeOf(rpc, rule))
			}
		}
	}
	return all
}

func routeOf(rpc protoreflect.MethodDescriptor, rule *annotations.HttpRule) *Route {
	method, pattern := flowcontrol.HTTPRule(rule)
	path, _, _ := strings.Cut(pattern, ":")
	r := &Route{
		Method: method, Pattern: pattern, RPC: "/" + string(rpc.Parent().FullName()) + "/" + string(rpc.Name()), Descriptor: rpc,
		Query: parametersOf(rpc.Input(), rule, pattern), Body: protoreflect.Name(rule.GetBody()), Shown: protoreflect.Name(rule.GetResponseBody()),
		segments: strings.Split(path, "/"), verb: pattern[len(path):],
	}
	r.Long = flowcontrol.MethodOf(r.RPC).Long
	for _, s := range r.segments {
		name, ok := strings.CutPrefix(s, "{")
		if !ok {
			name = ""
		}
		r.variables = append(r.variables, protoreflect.Name(strings.TrimSuffix(name, "}")))
	}
	return r
}

// Match returns the route of a request by the parts of its path, nil if there is none. A variable may be empty: that of a path with a
// trailing slash is.
func (all Routes) Match(method string, parts []string) *Route {
	for _, r := range all {
		if r.Method == method && len(r.segments) == len(parts) && r.matches(parts) {
			return r
		}
	}
	return nil
}

// matches compares the parts of a path with as many segments.
func (r *Route) matches(parts []string) bool {
	last := len(parts) - 1
	name, ok := strings.CutSuffix(parts[last], r.verb)
	// A colon in the name of an object begins a verb. The id of a submission may contain a colon.
	if !ok || r.verb == "" && strings.Contains(name, ":") && !strings.HasPrefix(r.segments[last], "{submission") || r.verb != "" && name == "" {
		return false
	}
	for i, s := range r.segments[:last] {
		if r.variables[i] == "" && s != parts[i] {
			return false
		}
	}
	return r.variables[last] != "" || r.segments[last] == name
}

// Missing returns the error for a request without a route: 404, or 405 with the header Allow if the path has other methods.
func (all Routes) Missing(header http.Header, r *http.Request, notFound, notAllowed string) error {
	parts := strings.Split(r.URL.Path, "/")
	allow := slices.DeleteFunc([]string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut}, func(method string) bool {
		return all.Match(method, parts) == nil
	})
	if len(allow) == 0 {
		return rpcstatus.PathNotFound(notFound)
	}
	header.Set("Allow", strings.Join(allow, ", "))
	return rpcstatus.MethodNotAllowed(notAllowed + ": use " + strings.Join(allow, ", "))
}

// Fill fills in the request of a call from the body, which decode reads into a message, then from the variables of the path, then from the
// query parameters of the route. A nil decode means no body.
func (r *Route) Fill(request proto.Message, u *url.URL, decode func(proto.Message) error) error {
	m, parts := request.ProtoReflect(), strings.Split(u.Path, "/")
	if r.Body != "" && decode != nil {
		into := m
		if r.Body != "*" {
			into = m.Mutable(m.Descriptor().Fields().ByName(r.Body)).Message()
		}
		if err := decode(into.Interface()); err != nil {
			return err
		}
	}
	for i, name := range r.variables {
		if name != "" {
			value := parts[i]
			if i == len(parts)-1 {
				value = strings.TrimSuffix(value, r.verb)
			}
			m.Set(m.Descriptor().Fields().ByName(name), protoreflect.ValueOfString(value))
		}
	}
	if err := r.fillQuery(request, u.RawQuery); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

func (r *Route) fillQuery(request proto.Message, query string) error {
	if query == "" {
		return nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return err
	}
	maps.DeleteFunc(values, func(name string, _ []string) bool { return r.Query[name] == nil })
	return runtime.PopulateQueryParameters(request, values, everyField)
}

// everyField leaves out none.
var everyField = utilities.NewDoubleArray(nil)
