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
func (s *Server) ServeHealth(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/livez" {
		writeText(w, http.StatusOK, "ok\n")
		return
	}
	code, lines := s.checks()
	if code == http.StatusOK && !r.URL.Query().Has("verbose") {
		lines = "ok\n"
	}
	writeText(w, code, lines)
}

// servePublicHealth is ServeHealth for the public: it returns the state without its reason.
func (s *Server) servePublicHealth(w http.ResponseWriter, r *http.Request) {
	code := http.StatusOK
	if r.URL.Path != "/livez" {
		code, _ = s.checks()
	}
	text := "ok\n"
	if code != http.StatusOK {
		text = "not ready: /readyz?verbose on the port of the metrics says why\n"
	}
	writeText(w, code, text)
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

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
