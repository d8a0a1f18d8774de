package realray

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/raycli"
)

// Ray's own command line and SDK from PyPI, and the Python client, reach real Ray through the gateway. The cluster asks for a token that none of them has. A browser shows its dashboard.
func TestCoreClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 0, func(rc *rayv1.RayCluster) {
		rc.Spec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}
		rc.Spec.HeadGroupSpec.RayStartParams["num-cpus"] = "1"
		rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{ // which an example prints
			{Name: "gcs", ContainerPort: 6379}, {Name: "dashboard", ContainerPort: 8265}, {Name: "client", ContainerPort: 10001},
		}
	})
	w.ready(rc)
	gateway := raycli.StartGateway(t, product.kubeconfig)
	address := raycli.Address(gateway, w.ns, "demo")
	token := raycli.Caller(t, product.config, w.ns, "user", "get", "create", "update", "delete")
	w.run("command line of Ray", func(w *world) { raycli.Use(w.t, raycli.Find(w.t, false), address, token, "") })
	w.run("pages of the dashboard", func(w *world) {
		w.page("Authorization: Bearer "+token, address, "/", "<title>Ray Dashboard</title>")
		w.page("Authorization: Bearer "+token, address, "/api/version", `"ray_version"`)
	})
	w.run("the dashboard in a browser", func(w *world) { w.browse(gateway, address, token) })
	w.run("Python client", (*world).pythonClient)
	w.run("notebook with Ray", (*world).rayNotebook)
}

// page demands of a page that it is there and has a part, and returns it.
func (w *world) page(header, at, path, part string) reply {
	w.t.Helper()
	page, err := send(w.t.Context(), "GET", at+path, nil, header)
	if err != nil || page.code != http.StatusOK || !strings.Contains(string(page.body), part) {
		w.t.Fatalf("%s: HTTP %d, %v: %.500s", path, page.code, err, page.body)
	}
	return page
}

// browse asks for what a browser does that opens the dashboard with a ticket in place of credentials: the page with its cookies, the scripts with nothing.
func (w *world) browse(gateway, address, token string) {
	issued, err := send(w.t.Context(), "POST", address+":ticket", nil, "Authorization: Bearer "+token)
	var ticket struct{ Path string }
	if err := errors.Join(err, json.Unmarshal(issued.body, &ticket)); err != nil || issued.code != http.StatusOK || !strings.HasPrefix(ticket.Path, "/dashboards/") {
		w.t.Fatalf("ticket: HTTP %d, %v: %s", issued.code, err, issued.body)
	}
	const origin = "Origin: null"
	var proof strings.Builder
	for _, c := range (&http.Response{Header: issued.header}).Cookies() {
		proof.WriteString(c.Value)
	}
	start := w.page("X-Raygate-Page: "+proof.String(), gateway+ticket.Path, "", "<title>Ray Dashboard</title>")
	if kind, policy := start.header.Get("Content-Type"), start.header.Get("Content-Security-Policy"); !strings.HasPrefix(kind, "text/html") || !strings.Contains(policy, "sandbox allow-scripts") {
		w.t.Errorf("the page is %q with the policy %q", kind, policy)
	}
	script := regexp.MustCompile(`<script[^>]* src="(?:\./)?(static/js/main\.[^"]+\.js)"`).FindSubmatch(start.body)
	if script == nil {
		w.t.Fatalf("the page has no main script: %s", start.body)
	}
	if kind := w.page(origin, gateway+ticket.Path, string(script[1]), "").header.Get("Content-Type"); !strings.Contains(kind, "javascript") {
		w.t.Errorf("the main script is %q", kind)
	}
	w.page("X-Raygate-Page: "+proof.String(), gateway+ticket.Path, "api/version", `"ray_version": "`+rayVersion+`"`)
}

// rayNotebook runs the notebook that computes with Ray Client through a tunnel.
func (w *world) rayNotebook() {
	python := w.python("clients/python/notebooks/requirements.txt")
	source, err := filepath.Abs("../../clients/python/src")
	if err != nil {
		w.t.Fatal(err)
	}
	path := []string{source}
	for _, bin := range []string{filepath.Dir(python), raycli.Find(w.t, false)} { // the notebook's packages come before those of Ray
		found, err := filepath.Glob(filepath.Join(bin, "../lib/python*/site-packages"))
		if err != nil || len(found) != 1 {
			w.t.Fatalf("packages of %s: %v, %v", bin, found, err)
		}
		path = append(path, found...)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*settle)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", "runs", "../../clients/python/tests/notebooks.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+strings.Join(path, ":"), "PYTHONDONTWRITEBYTECODE=1", "RAYGATE_GRPC="+product.grpc, "RAYGATE_URL="+product.rest,
		"RAYGATE_NAMESPACE="+w.ns, "RAYGATE_NOTEBOOKS=ray", "RAYGATE_IMAGE="+image(),
		"RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S=60") // a head is ready before its server of Ray Client, for which Ray waits 30 seconds in all
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "1 passed") {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

// python returns an interpreter with what the client needs, or with what a file pins.
func (w *world) python(requirements ...string) string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), "../../hack/python.sh", requirements...).Output()
	if code := (*exec.ExitError)(nil); errors.As(err, &code) && code.ExitCode() == 3 {
		w.t.Skipf("the Python client is NOT tested: %s", code.Stderr)
	}
	if err != nil {
		w.t.Fatalf("finding Python: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// pythonClient runs the tests of the Python client, the examples of its documentation included, with clusters of this image: those by REST beside
// the others, as ten heads one after the other take three minutes.
func (w *world) pythonClient() {
	python, installed := w.python(), w.t.TempDir()
	install := exec.CommandContext(w.t.Context(), python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
		"--target", installed, "../../clients/python") // as users do, but for what it needs, which is there
	if out, err := install.CombinedOutput(); err != nil {
		w.t.Fatalf("installing the package: %v\n%s", err, out)
	}
	for selected, some := range map[string]string{"rest": "test_asynchronous[rest]", "not rest": "test_examples_run[docs/python.md]"} {
		w.run(selected, func(w *world) {
			w.t.Parallel()
			ctx, cancel := context.WithTimeout(w.t.Context(), 2*settle)
			defer cancel()
			cmd := exec.CommandContext(ctx, python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--durations=5",
				"--deselect", "tests/test_client.py::test_folder_with_a_cluster_of_its_own", // this gateway keeps no packages; see TestFolder
				"-k", selected, "../../clients/python/tests")
			cmd.Env = append(os.Environ(), "PYTHONPATH="+installed, "PYTHONDONTWRITEBYTECODE=1", "RAYGATE_GRPC="+product.grpc, "RAYGATE_URL="+product.rest,
				"RAYGATE_NAMESPACE="+w.ns, "RAYGATE_DEMO=exists", "RAYGATE_IMAGE="+image())
			out, err := cmd.CombinedOutput()
			if text := string(out); err != nil || strings.Contains(text, "skipped") || !strings.Contains(text, some+" PASSED") {
				w.t.Fatalf("%v\n%s", err, out)
			}
			_, durations, _ := strings.Cut(string(out), "slowest")
			w.t.Logf("slowest %s", durations)
		})
	}
}
