package login

import (
	"bytes"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/oidcprovider"
)

// The Python client logs in at the same provider, and shares the file: each side uses and renews a login of the other.
func TestPythonClientSharesLogins(t *testing.T) {
	p, dir := oidcprovider.New(t), t.TempDir()
	file, ca := filepath.Join(dir, "login.json"), filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(which string) string {
		return python(t, []string{"RAYGATE_TEST_ISSUER=" + p.URL, EnvFile + "=" + file, "SSL_CERT_FILE=" + ca}, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", which, "provider.py")
	}
	run("not command_line") // first: only the last token for a renewal is good
	store, l := &Store{file}, newLogin(p)
	if err := l.Browser(trusting(t, p), 0, open(t, p, same)); err != nil {
		t.Fatal(err)
	}
	if err := store.Save("of-the-command-line", l); err != nil {
		t.Fatal(err)
	}
	if out := run("command_line"); strings.Contains(out, l.IDToken) || !strings.Contains(out, "1 passed") {
		t.Errorf("a token is in the output, or a test did not run:\n%s", out)
	}
	renewed, err := store.Load("of-the-command-line")
	if err != nil || renewed.RefreshToken == l.RefreshToken {
		t.Fatalf("the Python client left %v, %v", renewed, err)
	}
	renewed.Expiry = time.Now()
	if err := store.Save("of-the-command-line", renewed); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Current(trusting(t, p), "of-the-command-line"); err != nil {
		t.Errorf("renewing what the Python client left: %v", err)
	}
}

// python runs the interpreter of hack/python.sh among the tests of the Python client. Without one the test is skipped.
func python(t *testing.T, env []string, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("installs what the Python client needs")
	}
	root := filepath.Join("..", "..", "..", "..")
	var stderr bytes.Buffer
	find := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "python.sh"))
	find.Stderr = &stderr
	path, err := find.Output()
	if code, ok := errors.AsType[*exec.ExitError](err); ok && code.ExitCode() == 3 {
		t.Skipf("the Python client is NOT tested: %s", strings.TrimSpace(stderr.String()))
	}
	if err != nil {
		t.Fatalf("finding Python: %v: %s", err, stderr.Bytes())
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), args...)
	cmd.Dir = filepath.Join(root, "clients", "python", "tests")
	cmd.Env = append(os.Environ(), append(env, "PYTHONPATH=../src", "PYTHONDONTWRITEBYTECODE=1")...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python %v: %v\n%s", args, err, out)
	}
	return string(out)
}
