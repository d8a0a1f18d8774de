package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnvFile lets a shell read the file, twice, from a folder with an awkward name.
func TestEnvFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a $HOME folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "env")
	text := envFile(dir+"/kubeconfig", "http://127.0.0.1:1", "127.0.0.1:2", dir+"/k8s", dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-euc", `. "$1"; . "$1"; printf '%s\n' "$KUBECONFIG" "$RAYGATE_URL" "$RAYGATE_GRPC" "$PATH"`, "sh", file)
	cmd.Env = []string{"PATH=/bin"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{dir + "/kubeconfig", "http://127.0.0.1:1", "127.0.0.1:2", dir + ":" + dir + "/k8s:/bin"}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}
