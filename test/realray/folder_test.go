package realray

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raygate/raygate/internal/testing/programs"
)

// machine is the address of this machine for Pods.
const machine = "10.244.0.1"

// startPackageGateway starts a gateway that keeps files of jobs, from which Pods fetch them, and returns its addresses of gRPC and REST.
func startPackageGateway(t *testing.T) (grpc, rest string) {
	t.Helper()
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	grpc, rest = fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("http://%s:%d", machine, ports[1])
	p := &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(t.TempDir(), "gateway.log"), Ready: rest + "/readyz",
		Args: []string{
			"--kubeconfig", product.kubeconfig, "--authentication=none", "--insecure-allow-remote-none", "--use-kubernetes-proxy",
			"--grpc-address", grpc, "--http-address", strings.TrimPrefix(rest, "http://"), fmt.Sprintf("--metrics-address=127.0.0.1:%d", ports[2]),
			"--package-url", rest, "--package-store=file://" + filepath.Join(t.TempDir(), "packages"),
		},
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return grpc, rest
}

// A folder of 200 files with an import among them runs from the command line, Python and the console, on a running cluster and on one of its own, with its
// log and exit code. An unchanged folder is sent once to each place. Python's runs on a running cluster are in TestCoreClients.
func TestFolder(t *testing.T) {
	t.Parallel()
	grpc, rest := startPackageGateway(t)
	w := newWorld(t)
	rc := w.cluster("demo", 0)
	w.ready(rc)
	folder := filepath.Join(t.TempDir(), "app")
	files := map[string]string{"main.py": "import sys\nfrom lib import part198\nprint(part198.TEXT)\nsys.exit(7)\n"}
	for i := range 199 {
		files[fmt.Sprintf("lib/part%d.py", i)] = fmt.Sprintf("TEXT = 'part %d of the folder'\n", i)
	}
	for path, text := range files {
		at := filepath.Join(folder, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	own := []string{"--image", image(), "--ray-version", rayVersion, "--head-memory", "2Gi"}
	for _, run := range []struct {
		name, said string
		flags      []string
		code       int
	}{
		{"running cluster", "uploaded 200 files", []string{"--cluster", "demo"}, 7},
		{"running cluster again", "not sent again: 200 files", []string{"--cluster", "demo"}, 7},
		{"own cluster", "uploaded 200 files", own, 7},
		{"own cluster again", "not sent again: 200 files", append(own, "--detach"), 0},
	} {
		w.run(run.name, func(w *world) {
			stdout, stderr, code := w.submit(grpc, folder, run.flags...)
			if code != run.code || !strings.Contains(stderr, run.said) || code != 0 && !strings.Contains(stdout, "part 198 of the folder\n") {
				w.t.Errorf("exit code %d, output %q, want %q in standard error:\n%s", code, stdout, run.said, stderr)
			}
		})
	}
	w.run("Python with an own cluster", func(w *world) { w.folderFromPython(grpc, rest) })
	w.run("console", func(w *world) { w.folderFromConsole(rest) })
}

// submit runs main.py of a folder from the command line.
func (w *world) submit(grpc, folder string, flags ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*settle)
	defer cancel()
	args := append([]string{"submit", folder, "--server", grpc, "-n", w.ns}, flags...)
	cmd := exec.CommandContext(ctx, programs.Binary("raygate"), append(args, "--", "python", "main.py")...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		w.t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// folderFromPython runs the test of the Python client for folders with a cluster of their own.
func (w *world) folderFromPython(grpc, rest string) {
	python := w.python()
	source, err := filepath.Abs("../../clients/python/src")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*settle)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", "test_folder_with_a_cluster_of_its_own and grpc", "../../clients/python/tests/test_client.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+source, "PYTHONDONTWRITEBYTECODE=1", "RAYGATE_GRPC="+grpc, "RAYGATE_URL="+rest, "RAYGATE_NAMESPACE="+w.ns, "RAYGATE_IMAGE="+image())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "1 passed") {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

// folderFromConsole runs the test of the console for folders, in Chromium. It is in a network namespace of its own, as Chromium aborts requests when interfaces
// such as those of Pods come and go.
func (w *world) folderFromConsole(rest string) {
	dir := w.t.TempDir()
	socket, program := filepath.Join(dir, "gateway.sock"), filepath.Join(dir, "console.test")
	target, err := url.Parse(rest)
	if err != nil {
		w.t.Fatal(err)
	}
	gateway := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	if gateway.Listener, err = new(net.ListenConfig).Listen(w.t.Context(), "unix", socket); err != nil {
		w.t.Fatal(err)
	}
	gateway.Start()
	defer gateway.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), 6*settle)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", program, ".")
	build.Dir = "../console"
	if out, err := build.CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, "unshare", "--net", "sh", "-c", `ip link set lo up && exec "$0" "$@"`, program, "-test.v", "-test.run=^TestJobWithFilesOnRay$")
	cmd.Env = append(os.Environ(), "RAYGATE_SOCKET="+socket, "RAYGATE_NAMESPACE="+w.ns, "RAYGATE_IMAGE="+image())
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil && strings.Contains(text, "test-console: not run"):
		w.t.Skipf("the console is NOT tested: %s", text)
	case err != nil || !strings.Contains(text, "--- PASS: TestJobWithFilesOnRay"):
		w.t.Fatalf("%v\n%s", err, out)
	}
}
