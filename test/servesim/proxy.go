package servesim

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Values of proxy_location.
const (
	everyNode = "EveryNode"
	headOnly  = "HeadOnly"
	disabled  = "Disabled"
)

// echoLimit is how much of a request's body is answered.
const echoLimit = 1 << 20

// proxy is the HTTP proxy of a node.
type proxy struct {
	head  bool
	since time.Time
	until time.Time // set: it drains
}

// proxyStart is how long a proxy is STARTING.
const proxyStart = loop

func (p *proxy) status(now time.Time) string {
	switch {
	case !p.until.IsZero():
		return "DRAINING"
	case now.Before(p.since.Add(proxyStart)):
		return "STARTING"
	}
	return "HEALTHY"
}

func (s *Serve) location() string {
	if s.options.ProxyLocation == "" {
		return everyNode
	}
	return s.options.ProxyLocation
}

// wantedProxies reports for each node whether a proxy is to run on it.
func (s *Serve) wantedProxies(p *pass) map[string]bool {
	wanted := map[string]bool{}
	location := s.location()
	for id, n := range p.nodes {
		wanted[id] = s.started && location != disabled && (n.Head || location == everyNode && p.load[id] > 0)
	}
	return wanted
}

// placeProxies adds the required proxies and drains those that are no longer needed.
func (s *Serve) placeProxies(p *pass) {
	wanted := s.wantedProxies(p)
	for id, have := range s.proxies {
		if _, alive := p.nodes[id]; !alive {
			delete(s.proxies, id)
			continue
		}
		switch {
		case p.nodes[id].Leaving:
			have.until = p.now.Add(s.opts.Drain)
		case wanted[id]:
			have.until = time.Time{}
		case have.until.IsZero():
			have.until = p.now.Add(s.opts.Drain)
			p.due(have.until)
		case p.due(have.until):
			delete(s.proxies, id)
		}
	}
	for id, is := range wanted {
		if is && s.proxies[id] == nil {
			s.proxies[id] = &proxy{head: p.nodes[id].Head, since: p.now}
		}
	}
}

// Listening reports whether a proxy runs on the node. Where none does, connections are refused.
func (s *Serve) Listening(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	return s.proxies[node] != nil
}

// Healthy reports whether the proxy of the node answers that it is healthy, which the readiness of a worker depends on.
func (s *Serve) Healthy(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	code, _ := s.healthOf(node)
	return code == http.StatusOK
}

// healthOf is the answer to a health check of a node; 0 if nothing answers. The caller holds s.mu.
func (s *Serve) healthOf(node string) (code int, text string) {
	p := s.proxies[node]
	switch {
	case p == nil:
		return 0, "no proxy runs on this node"
	case !p.until.IsZero():
		return http.StatusServiceUnavailable, "This node is being drained."
	case !s.populated:
		return http.StatusServiceUnavailable, "Route table is not populated yet."
	case !p.head && !s.anyReplica():
		return http.StatusServiceUnavailable, "No replicas are available yet."
	}
	return http.StatusOK, "success"
}

func (s *Serve) anyReplica() bool {
	now := s.opts.Now()
	for _, a := range s.apps {
		for _, d := range a.deployments {
			for _, r := range d.replicas {
				if r.runs(now) {
					return true
				}
			}
		}
	}
	return false
}

// Proxy answers requests to the proxy of a node: health checks, the routes, and requests to applications, which are echoed.
func (s *Serve) Proxy(node string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.advance()
		code, text := s.healthOf(node)
		path := strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(s.options.HTTP.RootPath, "/"))
		routes := s.routes()
		answer, found := s.route(routes, path)
		s.mu.Unlock()
		switch {
		case code == 0:
			panic(http.ErrAbortHandler) // the proxy has gone since the connection was made
		case path == "/-/healthz", path == "/-/routes" && code != http.StatusOK:
			plain(w, code, "%s", text)
		case path == "/-/routes":
			writeJSON(w, routes)
		case !found:
			plain(w, http.StatusNotFound, "Path '%s' not found. Ping http://.../-/routes for available routes.", path)
		case answer == nil:
			plain(w, http.StatusServiceUnavailable, "No replica of the application is available.")
		default:
			body, _ := io.ReadAll(io.LimitReader(r.Body, echoLimit)) // the part that arrived is echoed
			answer["method"], answer["path"], answer["query"], answer["body"], answer["proxy"] = r.Method, path, r.URL.RawQuery, string(body), node
			writeJSON(w, answer)
		}
	})
}

// routes are the applications by prefix. The caller holds s.mu.
func (s *Serve) routes() map[string]string {
	out := map[string]string{}
	for name, a := range s.apps {
		if a.route != nil {
			out[*a.route] = name
		}
	}
	return out
}

// longestPrefix is the longest prefix of a path that ends with a segment of it; empty if there is none.
func longestPrefix(routes map[string]string, path string) string {
	best := ""
	for prefix := range routes {
		whole := prefix == "/" || path == prefix || strings.HasPrefix(path, prefix+"/")
		if whole && len(prefix) > len(best) {
			best = prefix
		}
	}
	return best
}

// route finds the application with the longest prefix, and begins the answer of one of its replicas; nil when none runs.
func (s *Serve) route(routes map[string]string, path string) (answer object, found bool) {
	best := longestPrefix(routes, path)
	if best == "" {
		return nil, false
	}
	a := s.apps[routes[best]]
	d := a.ingress()
	if d == nil {
		return nil, true
	}
	now := s.opts.Now()
	var serving []*replica
	for _, r := range d.replicas {
		if !r.ready.After(now) && (r.stopping.IsZero() || r.stopping.After(now)) {
			serving = append(serving, r)
		}
	}
	if len(serving) == 0 {
		return nil, true
	}
	d.requests++
	r := serving[d.requests%len(serving)]
	return object{
		"application": *a.config.Name, "deployment": d.config.Name, "replica": r.id, "node": r.node, "route": best, "user_config": d.config.UserConfig,
		"import_path": a.config.ImportPath,
	}, true
}
