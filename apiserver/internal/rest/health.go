package rest

import (
	"fmt"
	"net/http"
	"strings"
)

// Check is one line of /readyz.
type Check struct {
	Name string
	// Run returns what there is to say, which may be nothing, or why the check fails. Both are shown to anyone.
	Run func() (string, error)
}

// ServeHealth answers /livez with 200 as long as it answers at all, and anything else with 200 when all checks pass. With ?verbose it lists them.
func (s *Server) ServeHealth(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/livez" {
		writeText(w, http.StatusOK, "ok\n")
		return
	}
	var lines strings.Builder
	code := http.StatusOK
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
	switch {
	case code != http.StatusOK, r.URL.Query().Has("verbose"):
		writeText(w, code, lines.String())
	default:
		writeText(w, code, "ok\n")
	}
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
