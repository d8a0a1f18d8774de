package kueue

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const kueueVersion = "v0.15.0"

// local are changes of the source for a manager outside a Kubernetes cluster: its server for positions in queues has a fixed address, and reads
// the configuration that only a Pod has. The environment names both instead.
var local = strings.NewReplacer(
	"\t\"net\"\n", "\t\"net\"\n\t\"os\"\n\t\"strconv\"\n",
	`certDir = "/visibility"`, `certDir = os.Getenv("VISIBILITY_CERT_DIR")`,
	"\to.SecureServing.BindPort = 8082\n", `	o.SecureServing.BindPort, _ = strconv.Atoi(os.Getenv("VISIBILITY_PORT"))
	o.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	o.CoreAPI.CoreAPIKubeconfigPath = os.Getenv("KUBECONFIG")
	o.Authentication.RemoteKubeConfigFile = os.Getenv("KUBECONFIG")
	o.Authorization.RemoteKubeConfigFile = os.Getenv("KUBECONFIG")
`)

// module returns the folder of Kueue's module, and its manager, built.
func module(t *testing.T) (folder, manager string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "sigs.k8s.io/kueue@"+kueueVersion).Output()
	if err != nil {
		t.Fatalf("downloading Kueue: %v", err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	manager = filepath.Join(cache, "raygate", "kueue-"+kueueVersion, "kueue-local")
	if _, err := os.Stat(manager); err == nil {
		return found.Dir, manager
	}
	build(t, found.Dir, manager)
	return found.Dir, manager
}

// build builds the manager from a copy of the module with the changes.
func build(t *testing.T, module, manager string) {
	t.Helper()
	source := t.TempDir()
	for _, folder := range []string{"apis", "client-go", "cmd/kueue", "internal", "pkg"} {
		if err := os.CopyFS(filepath.Join(source, folder), os.DirFS(filepath.Join(module, folder))); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "pkg/visibility/server.go"} {
		data, err := os.ReadFile(filepath.Join(module, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		changed := string(data)
		if strings.HasSuffix(file, ".go") {
			if changed = local.Replace(changed); !strings.Contains(changed, "VISIBILITY_CERT_DIR") || !strings.Contains(changed, "VISIBILITY_PORT") {
				t.Fatalf("%s of Kueue %s differs from the expected", file, kueueVersion)
			}
		}
		if err := os.WriteFile(filepath.Join(source, filepath.FromSlash(file)), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", manager, "./cmd/kueue")
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building Kueue: %v:\n%s", err, out)
	}
}
