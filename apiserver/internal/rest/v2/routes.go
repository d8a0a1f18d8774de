package v2

import (
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/edge"
)

// routes knows which HTTP method goes with which path, from the annotations of the services. The mux knows as well but does not say,
// and a 405 without Allow, or a query parameter that is silently ignored, leaves people guessing.
type routes []route

type route struct {
	method   string
	pattern  string // as annotated, for metrics
	segments []string
	verb     string
	query    parameters
	stream   bool // the answer has no end
	text     bool // the answer is a log: its bytes as they are
	long     bool // the call stays open, also one that waits
}

func routesOf(services ...protoreflect.ServiceDescriptor) routes {
	var all routes
	for _, service := range services {
		for i := range service.Methods().Len() {
			rpc := service.Methods().Get(i)
			rule, ok := proto.GetExtension(rpc.Options(), annotations.E_Http).(*annotations.HttpRule)
			if !ok || rule == nil {
				continue
			}
			for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
				method, pattern := edge.HTTPRule(r)
				path, verb, _ := strings.Cut(pattern, ":")
				all = append(all, route{
					method: method, pattern: pattern, segments: strings.Split(path, "/"), verb: verb, query: parametersOf(rpc.Input(), r, pattern),
					stream: rpc.IsStreamingServer(), text: rpc.IsStreamingServer() && rpc.Output().Fields().ByName("data") != nil, long: edge.MethodOf("/" + string(service.FullName()) + "/" + string(rpc.Name())).Long,
				})
			}
		}
	}
	return all
}

// match returns the route of a request, nil if there is none.
func (all routes) match(method, path string) *route {
	for i := range all {
		if all[i].method == method && all[i].matches(path) {
			return &all[i]
		}
	}
	return nil
}

func (r *route) matches(path string) bool {
	if r.verb != "" {
		var ok bool
		if path, ok = strings.CutSuffix(path, ":"+r.verb); !ok {
			return false
		}
	} else if strings.Contains(path[strings.LastIndex(path, "/")+1:], ":") {
		return false
	}
	parts := strings.Split(path, "/")
	if len(parts) != len(r.segments) {
		return false
	}
	for i, s := range r.segments {
		if !strings.HasPrefix(s, "{") && s != parts[i] {
			return false
		}
	}
	return true
}
