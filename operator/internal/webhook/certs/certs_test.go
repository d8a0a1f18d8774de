package certs

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func pemOf(texts ...string) []byte {
	var out []byte
	for _, text := range texts {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(text)})...)
	}
	return out
}

// The bundle holds the CA in use and the one before, never more, and a renewal with the same CA changes nothing.
func TestWithPredecessor(t *testing.T) {
	cases := map[string]struct{ now, before, want []byte }{
		"first CA":                     {pemOf("a"), nil, pemOf("a")},
		"new CA":                       {pemOf("b"), pemOf("a"), pemOf("b", "a")},
		"new CA after another":         {pemOf("c"), pemOf("b", "a"), pemOf("c", "b")},
		"same CA":                      {pemOf("b", "a"), pemOf("b", "a"), pemOf("b", "a")},
		"same CA, written by a second": {pemOf("b"), pemOf("b"), pemOf("b")},
		"garbage before":               {pemOf("b"), []byte("x"), pemOf("b")},
		"garbage now":                  {[]byte("x"), pemOf("a"), []byte("x")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := withPredecessor(tc.now, tc.before); !bytes.Equal(got, tc.want) {
				t.Errorf("bundle:\n%swant:\n%s", got, tc.want)
			}
		})
	}
}

func TestExpiryOfNothing(t *testing.T) {
	dir := t.TempDir()
	c := NewExpiryCollector(dir)
	for _, content := range []string{"", "no PEM", string(pemOf("no certificate"))} {
		if content != "" {
			if err := os.WriteFile(filepath.Join(dir, "tls.crt"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if n := testutil.CollectAndCount(c); n != 0 {
			t.Errorf("%d metrics from %q, want none", n, content)
		}
	}
}
