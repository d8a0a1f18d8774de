package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// request is the key of a counter: a verb of Kubernetes and a resource with its group or subresource.
type request struct{ verb, resource string }

// countingProxy passes requests on to the API server and counts them. The metrics of the API server do not suffice, because they do not
// identify the client.
type countingProxy struct {
	listener net.Listener
	server   *http.Server
	// note is called with each request; nil is allowed.
	note func(*http.Request)

	mu     sync.Mutex
	counts map[request]int
}

// newCountingProxy listens on loopback, without TLS, and uses the credentials of config for all callers.
func newCountingProxy(config *rest.Config) (*countingProxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("reading address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("making transport: %w", err)
	}
	p := &countingProxy{counts: map[request]int{}}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // events of a watch must not wait in a buffer
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { // mostly a caller that is gone
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	p.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q, ok := classify(r); ok {
			p.mu.Lock()
			p.counts[q]++
			p.mu.Unlock()
		}
		if p.note != nil {
			p.note(r)
		}
		forward.ServeHTTP(w, r)
	})}
	go func() { _ = p.server.Serve(p.listener) }()
	return p, nil
}

func (p *countingProxy) url() string { return "http://" + p.listener.Addr().String() }

func (p *countingProxy) close() { _ = p.server.Close() }

// reset returns the counts so far and starts again from zero.
func (p *countingProxy) reset() map[request]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := p.counts
	p.counts = map[request]int{}
	return counts
}

var writeVerbs = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}

func (q request) isWrite() bool { return q.verb != "get" && q.verb != "list" && q.verb != "watch" }

// classify returns the resource that a request is about; ok is false for discovery, health and similar requests.
func classify(r *http.Request) (q request, ok bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	default:
		return request{}, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	q.resource = parts[0] + group
	if len(parts) > 2 {
		q.resource += "/" + parts[2]
	}
	switch verb := writeVerbs[r.Method]; {
	case verb != "":
		q.verb = verb
	case r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1":
		q.verb = "watch"
	case len(parts) == 1:
		q.verb = "list"
	default:
		q.verb = "get"
	}
	return q, true
}

// sorted returns the keys of counts, the most frequent first.
func sorted(counts map[request]int) []request {
	return slices.SortedFunc(maps.Keys(counts), func(a, b request) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.resource, b.resource), cmp.Compare(a.verb, b.verb))
	})
}

// sortedAudited returns the keys of counts by client, the most frequent of each first.
func sortedAudited(counts map[audited]int) []audited {
	return slices.SortedFunc(maps.Keys(counts), func(a, b audited) int {
		return cmp.Or(cmp.Compare(a.client, b.client), cmp.Compare(counts[b], counts[a]), cmp.Compare(a.resource, b.resource),
			cmp.Compare(a.verb, b.verb), cmp.Compare(a.code, b.code))
	})
}

// startOperatorBehind starts an operator whose requests go through a proxy.
func (s *session) startOperatorBehind(ctx context.Context, proxy *countingProxy, flags ...string) (*process, error) {
	kubeconfig, err := s.writeKubeconfig(proxy.url())
	if err != nil {
		return nil, err
	}
	return s.startOperator(ctx, kubeconfig, flags...)
}
