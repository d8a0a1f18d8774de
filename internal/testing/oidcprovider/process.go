package oidcprovider

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/raygate/raygate/internal/testing/programs"
)

// Process is the provider of test/oidc as a process. It has the users ada and ben, whose passwords are their names.
type Process struct {
	// URL is the issuer.
	URL string
	// Dir has ca.crt and authentication.yaml.
	Dir string
	// Log is the file with its output.
	Log string
}

// Start builds and starts the provider for the gateway at the base URL console. It ends with the test. args are more flags.
func Start(t testing.TB, console string, args ...string) *Process {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "oidc")
	if err := programs.Build("test/oidc", program); err != nil {
		t.Fatal(err)
	}
	p := &Process{Dir: dir, Log: filepath.Join(dir, "oidc.log")}
	log, err := os.Create(p.Log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"-dir", dir, "-console", console}, args...)...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		text, _ := os.ReadFile(p.Log)
		t.Fatalf("starting the identity provider: %v: %s", err, text)
	}
	p.URL = strings.TrimSpace(line)
	return p
}

// Config is the file for --authentication-config.
func (p *Process) Config() string { return filepath.Join(p.Dir, "authentication.yaml") }

// Client returns a client that trusts the provider, with cookies of its own. It follows redirects like a browser.
func (p *Process) Client(t testing.TB) *http.Client {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(p.Dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

// Control sends a request of package test/oidc to the provider: rotate, away or end.
func (p *Process) Control(t testing.TB, what string, form url.Values) {
	t.Helper()
	resp, err := p.Client(t).PostForm(p.URL+"/control/"+what, form)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: the provider answers %s", what, resp.Status)
	}
}

// LogIn enters user and password at the login page at address, and returns the request to the client that the provider redirects to.
func (p *Process) LogIn(t testing.TB, c *http.Client, address, user string) *url.URL {
	t.Helper()
	var back *url.URL
	follow := *c
	follow.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), p.URL+"/") {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}
	resp, err := follow.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if back == nil { // without a session the provider shows its form
		if resp, err = follow.PostForm(resp.Request.URL.String(), url.Values{"user": {user}, "password": {user}}); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	if back == nil {
		t.Fatalf("the provider answers a login of %s with %s", user, resp.Status)
	}
	return back
}

// EnterCode enters the code of a device at the provider, as a user.
func (p *Process) EnterCode(t testing.TB, code, user string) {
	t.Helper()
	resp, err := p.Client(t).PostForm(p.URL+"/device", url.Values{"user_code": {code}, "user": {user}, "password": {user}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the provider answers the code of a device with %s", resp.Status)
	}
}
