package controlplane

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func TestTokensAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.csv")
	first, err := tokens(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := tokens(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("tokens changed (-first +again):\n%s", diff)
	}
	seen := map[string]bool{}
	for _, user := range users {
		if len(first[user]) != 40 || seen[first[user]] {
			t.Errorf("token of %s is short or not its own: %q", user, first[user])
		}
		seen[first[user]] = true
	}
	if err := os.WriteFile(path, []byte("half a lin"), 0o600); err != nil {
		t.Fatal(err)
	}
	if repaired, err := tokens(path); err != nil || len(repaired) != len(users) {
		t.Errorf("want new tokens instead of a broken file, got %v, %v", repaired, err)
	}
}

func TestKubeconfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(path, "https://127.0.0.1:1", []byte("ca"), "admin", "secret"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("want mode 0600, got %o", info.Mode().Perm())
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://127.0.0.1:1" || cfg.BearerToken != "secret" || string(cfg.CAData) != "ca" {
		t.Errorf("kubeconfig does not say what was given: %+v", cfg)
	}
}

func TestFailingChecks(t *testing.T) {
	got := failing("[+]ping ok\n[-]etcd failed: reason withheld\n[-]a/b failed: x\nreadyz check failed\n")
	if diff := cmp.Diff([]string{"etcd", "a/b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
