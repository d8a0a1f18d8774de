package rest

import (
	"fmt"
	"net/http"
	"strings"
)

// Check is one line of /readyz.
type Check struct {
	Name string
	// Run returns a message, which may be empty, or the reason why the check fails. Both are shown on the port of the metrics only.
	Run func() (string, error)
}

// ServeHealth answers /livez with 200 in any case, and other paths with 200 if all checks pass. With ?verbose it lists them.
func (s *Server) ServeHealth(w http.ResponseWriter, r *http.Request) { s.serveHealth(w, r, true) }

// serveHealth is ServeHealth. Without details, it returns the state without its reason, for the public.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request, details bool) {
	code, text := http.StatusOK, "ok\n"
	if r.URL.Path != "/livez" {
		var lines string
		code, lines = s.checks()
		switch {
		case details && (code != http.StatusOK || r.URL.Query().Has("verbose")):
			text = lines
		case code != http.StatusOK:
			text = "not ready: /readyz?verbose on the port of the metrics says why\n"
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}

// checks returns the code of /readyz and a line for each check.
func (s *Server) checks() (code int, text string) {
	var lines strings.Builder
	code = http.StatusOK
	for _, c := range s.Checks {
		text, err := c.Run()
		if err != nil {
			code = http.StatusServiceUnavailable
			fmt.Fprintf(&lines, "[-] %s: %v\n", c.Name, err)
			continue
		}
		if text != "" {
			text = ", " + text
		}
		fmt.Fprintf(&lines, "[+] %s: ok%s\n", c.Name, text)
	}
	return code, lines.String()
}
