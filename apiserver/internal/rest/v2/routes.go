package v2

import (
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/edge"
)

// routes knows which HTTP method goes with which path, from the annotations of the services. The mux of grpc-gateway knows as well but does not say,
// and a 405 without Allow, or a query parameter that is silently ignored, leaves people guessing.
type routes []route

type route struct {
	method   string
	pattern  string // as annotated, for metrics
	segments []string
	verb     string // with its colon
	query    parameters
	stream   bool   // the answer has no end
	text     bool   // the answer is a log: its bytes as they are
	long     bool   // the call stays open, also one that waits
	rpc      string // the full name of the method
	// variables are the fields that the parts of a path are for; empty for the others.
	variables []protoreflect.Name
	// body is the field of the request that a body holds, and shown that of the response which is the answer. For the first * is all of it and nothing
	// none, for the second nothing is all.
	body, shown protoreflect.Name
}

// routesOf returns the routes of a service.
func routesOf(service protoreflect.ServiceDescriptor) routes {
	var all routes
	for i := range service.Methods().Len() {
		rpc := service.Methods().Get(i)
		rule, ok := proto.GetExtension(rpc.Options(), annotations.E_Http).(*annotations.HttpRule)
		if !ok || rule == nil {
			continue
		}
		for _, rule := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
			method, pattern := edge.HTTPRule(rule)
			end := len(pattern)
			if at := strings.Index(pattern, ":"); at >= 0 {
				end = at
			}
			r := route{
				method: method, pattern: pattern, segments: strings.Split(pattern[:end], "/"), verb: pattern[end:], query: parametersOf(rpc.Input(), rule, pattern),
				stream: rpc.IsStreamingServer(), text: rpc.IsStreamingServer() && rpc.Output().Fields().ByName("data") != nil,
				rpc: "/" + string(service.FullName()) + "/" + string(rpc.Name()), body: protoreflect.Name(rule.GetBody()), shown: protoreflect.Name(rule.GetResponseBody()),
			}
			r.long = edge.MethodOf(r.rpc).Long
			for _, s := range r.segments {
				name, ok := strings.CutPrefix(s, "{")
				if !ok {
					name = ""
				}
				r.variables = append(r.variables, protoreflect.Name(strings.TrimSuffix(name, "}")))
			}
			all = append(all, r)
		}
	}
	return all
}

// match returns the route of a request by the parts of its path, nil if there is none.
func (all routes) match(method string, parts []string) *route {
	for i := range all {
		if all[i].method == method && len(all[i].segments) == len(parts) && all[i].matches(parts) {
			return &all[i]
		}
	}
	return nil
}

// matches compares the parts of a path with as many segments.
func (r *route) matches(parts []string) bool {
	last := len(parts) - 1
	name, ok := strings.CutSuffix(parts[last], r.verb)
	// In what names an object a colon begins a verb. The id of a submission may have one.
	if !ok || r.verb == "" && strings.Contains(name, ":") && r.segments[last] != "{submission_id}" || r.verb != "" && name == "" {
		return false
	}
	for i, s := range r.segments[:last] {
		if !strings.HasPrefix(s, "{") && s != parts[i] {
			return false
		}
	}
	return strings.HasPrefix(r.segments[last], "{") || r.segments[last] == name
}
