package kube

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Prefixes of the paths. Only some paths below the last two are served.
var Prefixes = []string{rayPrefix, eventsPrefix, corePrefix}

const (
	rayPrefix    = "/apis/ray.io/v1/"
	eventsPrefix = "/apis/events.k8s.io/v1/namespaces/"
	corePrefix   = "/api/v1/namespaces/"
)

// target is the target of a request.
type target struct {
	// route is the pattern of the path, for metrics and the log.
	route     string
	namespace string
	// resource and name are those of a Ray object in the path; empty if it has none.
	resource, name string
	// query to pass on.
	query string
	// service is the Service whose proxy is requested; empty for all other requests.
	service string
	// templates means that the body is an object whose groups may name compute templates.
	templates bool
}

// targetOf returns the target of a request, or an error if the path is not served. answer is the header of the error's answer.
func targetOf(answer http.Header, r *http.Request) (*target, error) {
	clean := path.Clean(r.URL.Path)
	if clean != strings.TrimSuffix(r.URL.Path, "/") && !strings.Contains(r.URL.Path, "/proxy/") || slices.Contains(strings.Split(r.URL.Path, "/"), "..") {
		return nil, notServed(r)
	}
	switch {
	case strings.HasPrefix(r.URL.Path, rayPrefix):
		return rayTarget(r), nil
	case strings.HasPrefix(r.URL.Path, eventsPrefix):
		return eventsTarget(answer, r)
	case strings.HasPrefix(r.URL.Path, corePrefix):
		return proxyTarget(r)
	}
	return nil, notServed(r)
}

func notServed(r *http.Request) error {
	return rpcstatus.PathNotFound("the gateway serves nothing at " + rpcstatus.Quoted(r.URL.Path))
}

// withTemplates are the resources whose groups may name compute templates.
var withTemplates = []string{"rayclusters", "rayjobs", "rayservices"}

func rayTarget(r *http.Request) *target {
	t := &target{route: rayPrefix + "{path}", query: r.URL.RawQuery}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, rayPrefix), "/")
	if n := len(parts); n >= 2 && parts[0] == "namespaces" {
		parts = append(parts, "", "")
		t.namespace, t.resource, t.name = parts[1], parts[2], parts[3]
		t.templates = slices.Contains(withTemplates, t.resource) && (r.Method == http.MethodPost && n == 3 || r.Method == http.MethodPut && n == 4)
	}
	return t
}

// eventsTarget narrows a list of events to those about Ray's objects.
func eventsTarget(answer http.Header, r *http.Request) (*target, error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, eventsPrefix), "/")
	if len(parts) != 2 || parts[1] != "events" {
		return nil, notServed(r)
	}
	if r.Method != http.MethodGet {
		answer.Set("Allow", http.MethodGet)
		return nil, rpcstatus.MethodNotAllowed("events can only be read")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, rpcstatus.BadField("", "the query string cannot be read: %v", err)
	}
	selector := "regarding.apiVersion=" + rayv1.GroupVersion.String()
	if given := query.Get("fieldSelector"); given != "" {
		selector = given + "," + selector
	}
	query.Set("fieldSelector", selector)
	return &target{route: eventsPrefix + "{namespace}/events", namespace: parts[0], query: query.Encode()}, nil
}

// proxyTarget reads the name of a Service: name, name:port or scheme:name:port.
func proxyTarget(r *http.Request) (*target, error) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, corePrefix), "/", 5)
	if len(parts) < 4 || parts[1] != "services" || parts[3] != "proxy" {
		return nil, notServed(r)
	}
	names := strings.Split(parts[2], ":")
	name := names[0]
	if len(names) == 3 {
		name = names[1]
	}
	if len(names) > 3 || len(validation.IsDNS1035Label(name)) > 0 || len(validation.IsDNS1123Label(parts[0])) > 0 {
		return nil, rpcstatus.BadField("service", "%q is not name, name:port or scheme:name:port of a Service", rpcstatus.Quoted(parts[2]))
	}
	return &target{route: corePrefix + "{namespace}/services/{service}/proxy/{path}", namespace: parts[0], service: name, query: r.URL.RawQuery}, nil
}
