package gateway

import (
	"fmt"
	"net/http"
	"strings"
)

// Check is one line of /readyz.
type Check struct {
	Name string
	// Run returns why it fails. The text is shown to anyone.
	Run func() error
}

// serveReady answers 200 when all checks pass. With ?verbose it lists them.
func (g *Gateway) serveReady(w http.ResponseWriter, r *http.Request) {
	var lines strings.Builder
	code := http.StatusOK
	for _, c := range g.Checks {
		if err := c.Run(); err != nil {
			code = http.StatusServiceUnavailable
			fmt.Fprintf(&lines, "[-] %s: %v\n", c.Name, err)
			continue
		}
		fmt.Fprintf(&lines, "[+] %s: ok\n", c.Name)
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
