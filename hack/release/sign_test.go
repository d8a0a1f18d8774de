package main

import (
	"bytes"
	"crypto"
	"crypto/elliptic"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

// The checksums of a release are signed with the key, whose public part is among the files. The key has a password, as those of cosign.
func TestSeal(t *testing.T) {
	t.Setenv(passwordVariable, "secret")
	private, _, err := cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(), func(bool) ([]byte, error) { return []byte("secret"), nil })
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	write(t, key, string(private))
	o := options{out: t.TempDir(), log: io.Discard}
	if err := o.readKey(key); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(o.out, "a"), "one")
	if err := seal(o); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(o.out, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	verifier, err := signature.LoadVerifierFromPEMFile(filepath.Join(o.out, "raygate.pub"), crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := base64.StdEncoding.DecodeString(string(read("SHA256SUMS.sig")))
	if err != nil {
		t.Fatal(err)
	}
	sums := read("SHA256SUMS")
	if err := verifier.VerifySignature(bytes.NewReader(signed), bytes.NewReader(sums)); err != nil {
		t.Error(err)
	}
	if text := string(sums); !strings.Contains(text, "  a\n") || !strings.Contains(text, "  raygate.pub\n") {
		t.Errorf("checksums %s", text)
	}
	t.Setenv(passwordVariable, "wrong")
	if err := o.readKey(key); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong password: %v", err)
	}
}
