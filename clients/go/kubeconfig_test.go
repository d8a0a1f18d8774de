package raygate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, dir, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKubeconfig takes tokens from where kubectl takes them.
func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "token", "from-file\n", 0o600)
	plugin := write(t, dir, "plugin", "#!/bin/sh\n"+`echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'`+"\n", 0o700)
	users := map[string]string{
		"token":  `token: from-text`,
		"file":   `tokenFile: ` + filepath.Join(dir, "token"),
		"plugin": `exec: {apiVersion: client.authentication.k8s.io/v1, command: ` + plugin + `, interactiveMode: Never}`,
		"none":   ``,
	}
	want := map[string]string{"token": "from-text", "file": "from-file", "plugin": "from-plugin", "none": ""}
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Config\ncurrent-context: token\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts:\n")
	for name := range users {
		fmt.Fprintf(&b, "- {name: %s, context: {cluster: c, user: %s, namespace: ns-%s}}\n", name, name, name)
	}
	b.WriteString("users:\n")
	for name, user := range users {
		fmt.Fprintf(&b, "- name: %s\n  user: {%s}\n", name, strings.TrimSpace(user))
	}
	path := write(t, dir, "config", b.String(), 0o600)
	for name := range users {
		t.Run(name, func(t *testing.T) {
			id, err := Kubeconfig(path, name)
			if err != nil {
				t.Fatal(err)
			}
			token, err := id.Token(t.Context())
			if err != nil || token != want[name] || id.Namespace != "ns-"+name || name == "none" && id.Certificate != nil {
				t.Errorf("token %q, %v; namespace %q; want %q", token, err, id.Namespace, want[name])
			}
		})
	}
	if id, err := Kubeconfig(path, ""); err != nil || id.Namespace != "ns-token" {
		t.Errorf("the current context: %v, %v", id, err)
	}
	if _, err := Kubeconfig(path, "missing"); err == nil {
		t.Error("a context that is not there is taken")
	}
	if _, err := Kubeconfig(filepath.Join(dir, "missing"), ""); err == nil {
		t.Error("a file that is not there is taken")
	}
}

func TestPasswordsAreNotSent(t *testing.T) {
	path := write(t, t.TempDir(), "config", "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"+
		"contexts: [{name: a, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {username: me, password: sesame}}]\n", 0o600)
	id, err := Kubeconfig(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if token, err := id.Token(t.Context()); token != "" || err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("token %q, error %v", token, err)
	}
}

func TestConfigFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "token", "b\n", 0o600)
	notPEM := write(t, dir, "ca", "hello", 0o600)
	tests := map[string]struct {
		env            map[string]string
		address, token string
		fails          bool
	}{
		"nothing":      {},
		"local":        {env: map[string]string{EnvLocalServer: "127.0.0.1:1"}, address: "127.0.0.1:1"},
		"server first": {env: map[string]string{EnvLocalServer: "127.0.0.1:1", EnvServer: "gw", EnvToken: "a"}, address: "gw", token: "a"},
		"token file":   {env: map[string]string{EnvTokenFile: file}, token: "b"},
		"both":         {env: map[string]string{EnvTokenFile: file, EnvToken: "a"}, fails: true},
		"no PEM":       {env: map[string]string{EnvCertificateAuthority: notPEM}, fails: true},
		"no file":      {env: map[string]string{EnvCertificateAuthority: file + "-missing"}, fails: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := ConfigFromEnvironment(func(name string) string { return tc.env[name] })
			if (err != nil) != tc.fails || c.Address != tc.address {
				t.Fatalf("%+v, %v", c, err)
			}
			token := ""
			if c.Token != nil {
				if token, err = c.Token(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if token != tc.token && !tc.fails {
				t.Errorf("token %q, want %q", token, tc.token)
			}
		})
	}
}
