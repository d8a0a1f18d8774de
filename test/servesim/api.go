package servesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Path is the path of the REST API; the trailing slash belongs to it.
const Path = "/api/serve/applications/"

const bodyLimit = 100 << 20

// ServeHTTP answers the dashboard's requests below Path. Callers have been authorized before.
func (s *Serve) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != Path {
		plain(w, http.StatusNotFound, "404: Not Found")
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.get(w, r)
	case http.MethodPut:
		s.put(w, r)
	case http.MethodDelete:
		s.Shutdown()
		w.WriteHeader(http.StatusOK)
	default:
		plain(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
	}
}

func plain(w http.ResponseWriter, code int, format string, args ...any) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintf(w, format, args...)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v) // fails only when the client is gone
}

func (s *Serve) get(w http.ResponseWriter, r *http.Request) {
	source := strings.ToLower(r.URL.Query().Get("api_type"))
	if !slices.Contains([]string{"", "declarative", "imperative"}, source) {
		plain(w, http.StatusBadRequest, "Invalid API type %q. Valid values are: 'declarative', 'imperative'", source)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	writeJSON(w, s.details(source != "imperative"))
}

func (s *Serve) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		plain(w, http.StatusRequestEntityTooLarge, "Maximum request body size %d exceeded", bodyLimit)
		return
	}
	switch c, err := decode(body); {
	case errors.Is(err, errNotJSON):
		plain(w, http.StatusInternalServerError, "Traceback: %v", err)
	case err != nil:
		plain(w, http.StatusBadRequest, "ValidationError: %v", err)
	default:
		s.accept(c, body)
		w.WriteHeader(http.StatusOK)
	}
}

// accept replaces the applications with those of the config.
func (s *Serve) accept(c config, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	if !s.started {
		s.started, s.options = true, c.instance
	}
	s.puts = append(s.puts, body)
	s.capacity = c.Capacity
	now := s.opts.Now()
	listed := map[string]bool{}
	for _, application := range c.applications {
		name := *application.Name
		listed[name] = true
		if s.apps[name] == nil {
			s.apps[name] = &app{}
		}
		s.apps[name].put(application, now, s.opts.Build)
	}
	for name, a := range s.apps {
		if !listed[name] && !a.deleting {
			a.remove(now)
		}
	}
	s.advance()
}
