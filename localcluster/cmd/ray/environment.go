package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// proxyVariable is the URL of the proxy for processes of a simulated Pod. The proxy resolves Services by name, and 127.0.0.1 to
// the Pod itself.
const proxyVariable = "RAYGATE_SIM_PROXY"

// environment reads all environment variables of this program.
func environment() env {
	e := env{proxy: os.Getenv(proxyVariable), path: filepath.SplitList(os.Getenv("PATH"))}
	for _, name := range []string{"RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"} {
		// Without a scheme, the value is the address of Ray itself, which head Pods set; the dashboard address then comes from
		// another source.
		if v := os.Getenv(name); strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://") {
			e.address = v
			break
		}
	}
	if v := os.Getenv("RAY_JOB_HEADERS"); v != "" {
		if err := json.Unmarshal([]byte(v), &e.headers); err != nil {
			e.errs = fmt.Errorf("RAY_JOB_HEADERS: %w", err)
		}
	}
	if os.Getenv("RAY_AUTH_MODE") == "token" {
		e.token, e.errs = readToken()
	}
	return e
}

// readToken returns the token from the first source that has one.
func readToken() (string, error) {
	if v := os.Getenv("RAY_AUTH_TOKEN"); v != "" {
		return v, nil
	}
	path := os.Getenv("RAY_AUTH_TOKEN_PATH")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the token: %w", err)
		}
		path = filepath.Join(home, ".ray", "auth_token")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("RAY_AUTH_MODE is token, and there is no token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
