package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raygate/raygate/localcluster/internal/raysim"
)

// TestMain lets the test binary be the program, under any of its names.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name == "ray" || strings.HasPrefix(name, "python") {
		main()
	}
	os.Exit(m.Run())
}

// machine is a simulated head, and a folder with the program under its names.
type machine struct {
	head *raysim.Cluster
	url  string
	bin  string
	env  []string
}

func newMachine(t *testing.T, token string) *machine {
	t.Helper()
	head, err := raysim.New(raysim.Options{Dir: t.TempDir(), Token: token, Poll: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(head)
	t.Cleanup(func() {
		head.Close()
		s.Close()
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"ray", "python"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return &machine{head: head, url: s.URL, bin: bin}
}

// run returns standard output, standard error and the exit code.
func (m *machine) run(t *testing.T, name string, args ...string) (string, string, int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(m.bin, name), args...)
	cmd.Env = append([]string{"PATH=" + m.bin + ":/nowhere", "HOME=" + t.TempDir()}, m.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (m *machine) ray(t *testing.T, args ...string) (string, string, int) {
	t.Helper()
	return m.run(t, "ray", append([]string{"job"}, args...)...)
}

func TestExitCodes(t *testing.T) {
	m := newMachine(t, "")
	a := "--address=" + m.url
	for _, tc := range []struct {
		name string
		args []string
		code int
		out  string
	}{
		{"submit and wait, good", []string{"submit", a, "--submission-id=good", "--", "echo", "it's me"}, 0, "it's me\n"},
		{"submit and wait, bad", []string{"submit", a, "--submission-id=bad", "--", "sh", "-c", "echo no; exit 9"}, 1, "no\n"},
		{"the same id again", []string{"submit", a, "--submission-id=good", "--no-wait", "--", "true"}, 1, ""},
		{"submit, not waiting", []string{"submit", a, "--submission-id=quick", "--no-wait", "--", "false"}, 0, ""},
		{"status of a failed job", []string{"status", a, "bad"}, 0, "Status for job 'bad': FAILED\n"},
		{"status of no job", []string{"status", a, "none"}, 1, ""},
		{"log of a failed job, followed", []string{"logs", a, "--follow", "bad"}, 0, "no\n"},
		{"log", []string{"logs", a, "good"}, 0, "it's me\n"},
		{"log of no job", []string{"logs", a, "-f", "none"}, 1, ""},
		{"delete", []string{"delete", a, "bad"}, 0, ""},
		{"unknown flag", []string{"submit", a, "--no-such-flag", "--", "true"}, 2, ""},
		{"bad JSON", []string{"submit", a, "--runtime-env-json={", "--", "true"}, 2, ""},
		{"nobody there", []string{"status", "--address=http://127.0.0.1:1", "x"}, 1, ""},
	} {
		out, errs, code := m.ray(t, tc.args...)
		if code != tc.code || out != tc.out {
			t.Errorf("%s: want %d %q, got %d %q; %s", tc.name, tc.code, tc.out, code, out, errs)
		}
		if code != 0 && errs == "" {
			t.Errorf("%s: it fails without a word", tc.name)
		}
	}
	if out, _, code := m.ray(t, "list", a); code != 0 || !strings.Contains(out, `"submission_id": "good"`) {
		t.Errorf("list: %d %s", code, out)
	}
}

func TestSubmittedBody(t *testing.T) {
	m := newMachine(t, "")
	_, errs, code := m.ray(t, "submit", "--address", strings.TrimPrefix(m.url, "http://"), "--no-wait", "--runtime-env-json", `{"env_vars":{"A":"b"}}`, "--metadata-json", `{"k":"v"}`,
		"--submission-id", "j", "--entrypoint-num-cpus", "1.000000", "--entrypoint-num-gpus", "0.500000", "--entrypoint-resources", `{"x":1}`, "--", "python", "-c", "print('a b')", "--flag")
	if code != 0 {
		t.Fatal(errs)
	}
	d := m.head.Jobs()[0]
	if want := `python -c 'print('"'"'a b'"'"')' --flag`; d.Entrypoint != want {
		t.Errorf("entrypoint %s, want %s", d.Entrypoint, want)
	}
	if d.Metadata["k"] != "v" || string(d.RuntimeEnv) != `{"env_vars":{"A":"b"}}` {
		t.Errorf("record %+v", d)
	}
}

func TestStop(t *testing.T) {
	m := newMachine(t, "")
	a := "--address=" + m.url
	m.ray(t, "submit", a, "--submission-id=j", "--no-wait", "--", "sleep", "300")
	if _, errs, code := m.ray(t, "stop", a, "j"); code != 0 || m.head.Jobs()[0].Status != raysim.Stopped {
		t.Errorf("%d %s; job %s", code, errs, m.head.Jobs()[0].Status)
	}
	// Waiting for a job that is stopped is not a failure.
	done := make(chan int, 1)
	go func() {
		_, _, code := m.ray(t, "submit", a, "--submission-id=k", "--", "sleep", "300")
		done <- code
	}()
	for end := time.Now().Add(time.Minute); len(m.head.Jobs()) < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the job is not submitted")
		}
	}
	m.ray(t, "stop", a, "--no-wait", "k")
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestCutTail: a log that ends without a closing handshake is a failure, so that a submitter is started again.
func TestCutTail(t *testing.T) {
	m := newMachine(t, "")
	a := "--address=" + m.url
	m.ray(t, "submit", a, "--submission-id=j", "--no-wait", "--", "sleep", "300")
	done := make(chan int, 1)
	go func() {
		_, _, code := m.ray(t, "logs", a, "--follow", "j")
		done <- code
	}()
	for {
		m.head.CutTails()
		select {
		case code := <-done:
			if code != 1 {
				t.Errorf("exit code %d", code)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestToken(t *testing.T) {
	m := newMachine(t, "xyz")
	a := "--address=" + m.url
	if _, errs, code := m.ray(t, "list", a); code == 0 || !strings.Contains(errs, "401") {
		t.Errorf("without a token: %d %s", code, errs)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("xyz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"RAY_AUTH_TOKEN=xyz", "RAY_AUTH_TOKEN_PATH=" + file} {
		m.env = []string{"RAY_AUTH_MODE=token", env}
		if _, errs, code := m.ray(t, "submit", a, "--", "true"); code != 0 {
			t.Errorf("%s: %d %s", env, code, errs)
		}
	}
}

// TestAddressFromEnvironment: an address of the dashboard overrides the flag, one of Ray itself does not.
func TestAddressFromEnvironment(t *testing.T) {
	m := newMachine(t, "")
	m.env = []string{"RAY_ADDRESS=" + m.url}
	if _, errs, code := m.ray(t, "list", "--address=http://127.0.0.1:1"); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
	m.env = []string{"RAY_ADDRESS=127.0.0.1:6379"}
	if _, errs, code := m.ray(t, "list", "--address="+m.url); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
}

// TestProxy: names of the cluster and 127.0.0.1 go through the proxy of the Pod.
func TestProxy(t *testing.T) {
	m := newMachine(t, "")
	target, err := url.Parse(m.url)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		asked.Add(1)
		r.Out.URL.Host = target.Host
	}, FlushInterval: -1})
	defer proxy.Close()
	m.env = []string{proxyVariable + "=" + proxy.URL}
	for _, address := range []string{"http://head.ns.svc.cluster.local:8265", "http://127.0.0.1:8265"} {
		asked.Store(0)
		if out, errs, code := m.ray(t, "submit", "--address="+address, "--", "echo", "hello"); code != 0 || out != "hello\n" || asked.Load() < 4 {
			t.Errorf("%s: %d %q %s; %d requests went through the proxy", address, code, out, errs, asked.Load())
		}
	}
	if _, errs, code := m.run(t, "python", "-c", `import urllib.request; urllib.request.urlopen("http://localhost:8265/api/gcs_healthz")`); code != 0 {
		t.Errorf("probe: %d %s", code, errs)
	}
}

func TestPython(t *testing.T) {
	m := newMachine(t, "")
	probes := map[string][]string{ // of KubeRay, and of raygate
		"in the program": {"-c", `import urllib.request; exit(0 if b'success' in urllib.request.urlopen('` + m.url + `/api/gcs_healthz', timeout=10).read() else 1)`},
		"as argument":    {"-c", "import sys, urllib.request as r; sys.exit(b'success' not in r.urlopen(sys.argv[1], timeout=10).read())", m.url + "/api/gcs_healthz"},
	}
	for name, args := range probes {
		if _, errs, code := m.run(t, "python", args...); code != 0 {
			t.Errorf("healthy, address %s: %d %s", name, code, errs)
		}
	}
	m.head.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	if _, errs, code := m.run(t, "python", "-c", probes["as argument"][1], "http://localhost:52365/api/local_raylet_healthz"); code != 0 {
		t.Errorf("agent: %d %s", code, errs)
	}
	for name, args := range probes {
		if _, _, code := m.run(t, "python", args...); code != 1 {
			t.Errorf("not healthy, address %s: %d", name, code)
		}
	}
	if _, errs, code := m.run(t, "python", "main.py"); code != 127 || !strings.Contains(errs, "not found") {
		t.Errorf("no Python: %d %s", code, errs)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "python"), []byte("#!/bin/sh\necho real \"$@\"\nexit 5\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.env = []string{"PATH=" + m.bin + ":" + dir + ":/bin"}
	if out, _, code := m.run(t, "python", "main.py", "x"); code != 5 || out != "real main.py x\n" {
		t.Errorf("the machine's Python: %d %q", code, out)
	}
}
