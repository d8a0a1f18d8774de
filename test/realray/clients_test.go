package realray

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/raycli"
)

// Ray's own command line and SDK from PyPI, and the Python client, reach real Ray through the gateway. The cluster asks for a token that none of them has.
func TestCoreClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 0, func(rc *rayv1.RayCluster) {
		rc.Spec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}
		rc.Spec.HeadGroupSpec.RayStartParams["num-cpus"] = "1"
	})
	w.ready(rc)
	address := raycli.Address(raycli.StartGateway(t, product.kubeconfig), w.ns, "demo")
	token := raycli.Caller(t, product.client, w.ns, "user", "get", "create", "update", "delete")
	w.run("command line of Ray", func(w *world) { raycli.Use(w.t, raycli.Find(w.t, false), address, token, "") })
	w.run("pages of the dashboard", func(w *world) {
		for path, part := range map[string]string{"/": "<title>Ray Dashboard</title>", "/api/version": `"ray_version"`} {
			page, err := send(w.t.Context(), "GET", address+path, nil, "Authorization: Bearer "+token)
			if err != nil || page.code != http.StatusOK || !strings.Contains(string(page.body), part) {
				w.t.Errorf("%s: HTTP %d, %v: %s", path, page.code, err, page.body)
			}
		}
	})
	w.run("example of the README in Python", func(w *world) {
		python, err := exec.CommandContext(w.t.Context(), "../../hack/python.sh").Output()
		if err != nil {
			w.t.Skipf("the Python client is NOT tested: %v", err)
		}
		source, err := filepath.Abs("../../clients/python/src")
		if err != nil {
			w.t.Fatal(err)
		}
		cmd := exec.CommandContext(w.t.Context(), strings.TrimSpace(string(python)), "-m", "pytest", "-v", "-p", "no:cacheprovider",
			"../../clients/python/tests/test_docs.py", "-k", "README")
		cmd.Env = append(os.Environ(), "PYTHONPATH="+source, "PYTHONDONTWRITEBYTECODE=1", "RAYGATE_GRPC="+product.grpc, "RAYGATE_URL="+product.rest,
			"RAYGATE_NAMESPACE="+w.ns, "RAYGATE_DEMO=exists")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "1 passed") {
			w.t.Errorf("%v\n%s", err, out)
		}
	})
}
