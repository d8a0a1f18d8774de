package raysim

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Options configure a simulated head. The zero value is usable except for Dir.
type Options struct {
	// Dir gets a folder per job with its log and its working directory. It is required, and created if missing.
	Dir string
	// Token, if not empty, is required in every request except the public ones.
	Token string
	// NodeIP is the address of the head in records; empty means 127.0.0.1.
	NodeIP string
	// Run runs the entrypoints; nil means Shell{}.Run.
	Run func(context.Context, Launch) (exitCode int, err error)
	// Serve answers below /api/serve/, once a request is authorized; nil is a Ray without the extras of Serve.
	Serve http.Handler
	// Now is the clock of the records; nil means time.Now.
	Now func() time.Time
	// Poll is the interval in which a tail checks for the end of a log; 0 means 100 ms.
	Poll time.Duration
}

// Launch is an entrypoint to run. Options.Run returns its exit code once it and all processes that it has started have ended. If the
// context ends first, Run ends the entrypoint, gracefully at first; the job is then STOPPED independent of the result. An error means that
// the entrypoint could not be started.
type Launch struct {
	SubmissionID string
	Entrypoint   string
	// Env are the variables of the runtime environment, as KEY=value.
	Env []string
	// Dir is the working directory.
	Dir string
	// Output is the log; writes go to its end.
	Output *os.File
	// Started makes the job RUNNING; it is called once the process runs. Calls after the first do nothing.
	Started func()
}

// Cluster is a simulated head: an http.Handler that answers like its dashboard.
type Cluster struct {
	opts   Options
	serves bool // Ray has the extras of Serve
	mux    *http.ServeMux
	ctx    context.Context // ends all jobs and tails
	cancel context.CancelFunc
	jobs   sync.WaitGroup

	mu        sync.Mutex
	token     string
	closed    bool
	order     []*job // by time of submission
	folders   int    // given so far
	packages  map[string]bool
	tails     map[*tail]struct{}
	intercept func(http.ResponseWriter, *http.Request) bool
}

// New returns a head without jobs. Close ends the processes that it runs.
func New(o Options) (*Cluster, error) {
	if err := os.MkdirAll(filepath.Join(o.Dir, "packages"), 0o700); err != nil {
		return nil, fmt.Errorf("making folder of simulated Ray head: %w", err)
	}
	if o.Run == nil {
		o.Run = Shell{}.Run
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	serves := o.Serve != nil
	if !serves {
		o.Serve = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			plain(w, http.StatusNotImplemented, "Serve dependencies are not installed. Please run `pip install \"ray[serve]\"`.")
		})
	}
	if o.Poll == 0 {
		o.Poll = 100 * time.Millisecond
	}
	if o.NodeIP == "" {
		o.NodeIP = "127.0.0.1"
	}
	c := &Cluster{opts: o, serves: serves, token: o.Token, mux: http.NewServeMux(), packages: map[string]bool{}, tails: map[*tail]struct{}{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.routes()
	return c, nil
}

// Close ends all entrypoints and tails and waits for the entrypoints. Afterwards nothing can be submitted.
func (c *Cluster) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.jobs.Wait()
}

// Active is the number of jobs that have not ended.
func (c *Cluster) Active() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, j := range c.order {
		if !j.details.Status.Terminal() {
			n++
		}
	}
	return n
}

func (c *Cluster) routes() {
	c.mux.HandleFunc("POST /api/jobs/{$}", c.submit)
	c.mux.HandleFunc("GET /api/jobs/{$}", c.list)
	c.mux.HandleFunc("GET /api/jobs/{id}", c.get)
	c.mux.HandleFunc("DELETE /api/jobs/{id}", c.remove)
	c.mux.HandleFunc("POST /api/jobs/{id}/stop", c.stop)
	c.mux.HandleFunc("GET /api/jobs/{id}/logs", c.logs)
	c.mux.HandleFunc("GET /api/jobs/{id}/logs/tail", c.tail)
	c.mux.HandleFunc("GET /api/version", c.version)
	c.mux.HandleFunc("GET /api/component_activities", c.activities)
	c.mux.HandleFunc("GET /api/v0/actors", c.actors)
	c.mux.HandleFunc("GET /api/v0/nodes", c.nodes)
	c.mux.HandleFunc("GET /api/v0/logs", c.nodeLogs)
	c.mux.HandleFunc("GET /api/v0/logs/file", c.readNodeLog)
	c.mux.HandleFunc("GET /api/packages/{protocol}/{name}", c.hasPackage)
	c.mux.HandleFunc("PUT /api/packages/{protocol}/{name}", c.putPackage)
	c.mux.HandleFunc("GET /api/authentication_mode", c.authenticationMode)
	c.mux.HandleFunc("POST /api/authenticate", c.authenticate)
	c.mux.Handle("/api/serve/", c.opts.Serve)
	c.mux.HandleFunc("GET /api/gcs_healthz", healthy)
	c.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "This is a simulated Ray head: it has the job API and no pages.\n")
	})
}

// ServeHTTP answers one request.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	intercept := c.intercept
	c.mu.Unlock()
	if intercept != nil && intercept(w, r) {
		return
	}
	if !c.authorized(w, r) {
		return
	}
	if fromBrowser(r) {
		plain(w, http.StatusMethodNotAllowed, "Method Not Allowed for browser traffic.")
		return
	}
	switch {
	// Paths of collections end with a slash. Without it the mux would redirect, so answer 404.
	case r.URL.Path == "/api/jobs" || r.URL.Path == "/api/serve" || !c.known(r):
		plain(w, http.StatusNotFound, "404: Not Found")
	case !c.has(r.Method, r):
		plain(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
	default:
		c.mux.ServeHTTP(w, r)
	}
}

// has reports whether there is a handler of a method for the path of a request.
func (c *Cluster) has(method string, r *http.Request) bool {
	_, pattern := c.mux.Handler(&http.Request{Method: method, URL: r.URL})
	return pattern != ""
}

// known reports whether a handler of any method exists.
func (c *Cluster) known(r *http.Request) bool {
	return slices.ContainsFunc([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}, func(method string) bool { return c.has(method, r) })
}

// plain writes an answer in plain text, as for all errors.
func plain(w http.ResponseWriter, code int, format string, args ...any) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintf(w, format, args...)
}
