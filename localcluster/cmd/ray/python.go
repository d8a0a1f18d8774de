package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// healthURL matches the dashboard URL in a submitter's health check, which is the last argument or part of it. agentURL matches
// the URL of the Pod's agent, which is not simulated: its check always succeeds.
var (
	healthURL = regexp.MustCompile(`https?://[^\s'"\\)]+/api/gcs_healthz`)
	agentURL  = regexp.MustCompile(`^http://localhost:\d+/api/local_raylet_healthz$`)
)

// python answers health checks, and runs the machine's Python for everything else.
func python(ctx context.Context, name string, args []string, e env) int {
	if (len(args) == 2 || len(args) == 3) && args[0] == "-c" {
		if agentURL.MatchString(args[len(args)-1]) {
			return 0
		}
		if url := healthURL.FindString(args[len(args)-1]); url != "" {
			if err := probe(ctx, e, url); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		}
	}
	path := elsewhere(name, e.path)
	if path == "" {
		fmt.Fprintf(os.Stderr, "%s: not found on this machine; its stand-in knows the health probe of a dashboard only\n", name)
		return 127
	}
	err := syscall.Exec(path, append([]string{name}, args...), os.Environ())
	fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
	return 126
}

func probe(ctx context.Context, e env, url string) error {
	h, err := httpClient(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := h.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it is read only
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if !strings.Contains(string(body), "success") {
		return fmt.Errorf("the dashboard is not healthy: status %d", resp.StatusCode)
	}
	return nil
}

// elsewhere returns the path of another program of this name on path, or "" if there is none.
func elsewhere(name string, path []string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	me, err := os.Stat(self)
	if err != nil {
		return ""
	}
	for _, dir := range path {
		full := filepath.Join(dir, name)
		info, err := os.Stat(full)
		if err == nil && !info.IsDir() && info.Mode()&0o111 != 0 && !os.SameFile(info, me) {
			return full
		}
	}
	return ""
}
