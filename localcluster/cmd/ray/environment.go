package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// proxyVariable names the proxy through which a process of a simulated Pod sees the cluster: Services by name, and its own Pod as 127.0.0.1.
const proxyVariable = "RAYGATE_SIM_PROXY"

// environment is the only reader of the environment.
func environment() env {
	e := env{proxy: os.Getenv(proxyVariable), path: filepath.SplitList(os.Getenv("PATH"))}
	for _, name := range []string{"RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"} {
		// Without a scheme it is the address of Ray itself, which head Pods have set; the dashboard is then found by other means.
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

// readToken takes the token from the first source that has one.
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
