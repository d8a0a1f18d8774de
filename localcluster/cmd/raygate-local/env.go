package main

import (
	"fmt"
	"os"
	"strings"
)

// writeEnv writes the settings file for the user's shell.
func (r *runner) writeEnv() error {
	http, grpc := r.addresses()
	text := envFile(r.cp.Kubeconfig, http, grpc, r.paths.k8s(), r.paths.bin)
	if err := os.WriteFile(r.paths.env(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing settings: %w", err)
	}
	return nil
}

// envFile returns the content of that file for POSIX shells. Sourcing it twice adds the folders to PATH only once.
func envFile(kubeconfig, http, grpc string, path ...string) string {
	var b strings.Builder
	b.WriteString("# Settings of the local cluster, to be read by a shell: . .local/env\n")
	fmt.Fprintf(&b, "export KUBECONFIG=%s\n", quote(kubeconfig))
	fmt.Fprintf(&b, "export RAYGATE_URL=%s\n", quote(http))
	fmt.Fprintf(&b, "export RAYGATE_GRPC=%s\n", quote(grpc))
	for _, dir := range path {
		fmt.Fprintf(&b, "case \":$PATH:\" in *:%s:*) ;; *) export PATH=%s:\"$PATH\" ;; esac\n", quote(dir), quote(dir))
	}
	return b.String()
}

// quote quotes s as one word for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
