package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/raycli"
)

// python returns an interpreter that has what the stubs need, or what a file pins. Where there is none, or no network to fill it, the test is skipped with the reason.
func python(t *testing.T, requirements ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "../../hack/python.sh", requirements...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if code := (*exec.ExitError)(nil); errors.As(err, &code) && code.ExitCode() == 3 {
		t.Skipf("the Python client is NOT tested: %s", strings.TrimSpace(stderr.String()))
	}
	if err != nil {
		t.Fatalf("finding Python: %v: %s", err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// runPython runs it as a user would who has installed the package, and returns what it printed.
func runPython(t *testing.T, ns string, args ...string) string {
	t.Helper()
	return runPythonWith(t, python(t), gatewayOf(ns), args...)
}

// gatewayOf is the environment of a client of the gateway in a namespace.
func gatewayOf(ns string) []string {
	return []string{"RAYGATE_GRPC=" + product.grpc, "RAYGATE_URL=" + product.rest, "RAYGATE_TOKEN=" + product.token, "RAYGATE_NAMESPACE=" + ns}
}

func runPythonWith(t *testing.T, interpreter string, env []string, args ...string) string {
	t.Helper()
	source, err := filepath.Abs("../../clients/python/src")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1"}, env)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("python %v: %v\n%s%s", args, err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String() + stderr.String()
}

// The Python client and its stubs against the built gateway, and the examples of its documentation.
func TestPythonClient(t *testing.T) {
	out := runPython(t, namespace(t), "-m", "pytest", "-v", "-p", "no:cacheprovider", "--durations=5", "../../clients/python/tests")
	if strings.Contains(out, "skipped") || !strings.Contains(out, "test_watch") || !strings.Contains(out, "test_examples_run[README.md]") {
		t.Errorf("not every test was run:\n%s", out)
	}
}

// The same with TLS, and with the token of a ServiceAccount, in a file. It is the caller's rights that count.
func TestPythonClientWithTokens(t *testing.T) {
	suite.All(t, "clients/python has tests of its own for credentials")
	ns, dir := namespace(t), t.TempDir()
	token := raycli.Caller(t, product.env.Config, ns, "python", "get")
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	flags, authority := raycli.Certificate(t)
	url, grpc := raycli.StartGatewayWith(t, product.env.Kubeconfig, flags...)
	rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 0)).want(t, 201)
	out := runPythonWith(t, python(t), []string{
		"RAYGATE_GRPC=https://" + grpc, "RAYGATE_URL=" + url, "RAYGATE_NAMESPACE=" + ns, "RAYGATE_SECURE=demo",
		"RAYGATE_TOKEN_FILE=" + dir + "/token", "RAYGATE_CERTIFICATE_AUTHORITY=" + authority,
	}, "-m", "pytest", "-v", "-p", "no:cacheprovider", "../../clients/python/tests/secure.py")
	if !strings.Contains(out, "4 passed") {
		t.Errorf("not every test was run:\n%s", out)
	}
}

// The notebooks as a reader runs them, and the types of them and of the client.
func TestNotebooks(t *testing.T) {
	suite.All(t, "an environment with Jupyter's kernel, pandas and pyright has 450 MiB")
	ns := namespace(t)
	interpreter := python(t, "clients/python/notebooks/requirements.txt")
	out := runPythonWith(t, interpreter, append(gatewayOf(ns), "RAYGATE_NOTEBOOKS=clusters jobs"), "-m", "pytest", "-v", "-p", "no:cacheprovider", "../../clients/python/tests/notebooks.py")
	if !strings.Contains(out, "5 passed") {
		t.Errorf("not every test was run:\n%s", out)
	}
	nothingLeft(t, ns)
}

func TestPythonSample(t *testing.T) {
	ns := namespace(t)
	data, err := os.ReadFile("../../samples/raycluster.minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if data, err = yaml.YAMLToJSON(data); err != nil { // so that the test needs no PyYAML
		t.Fatal(err)
	}
	manifest := filepath.Join(t.TempDir(), "cluster.json")
	if err := os.WriteFile(manifest, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out := runPython(t, ns, "../../samples/clients/python/clusters.py", "--namespace", ns, "--delete", manifest)
	var printed struct {
		Kind     string
		Metadata struct{ Namespace string }
	}
	if err := json.Unmarshal([]byte(out), &printed); err != nil || printed.Kind != "RayCluster" || printed.Metadata.Namespace != ns {
		t.Errorf("the sample printed %v: %s", err, out)
	}
	nothingLeft(t, ns)
}
