package main

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/raygate/raygate/hack/release/internal/pack"
)

// passwordVariable has the password of the key, as for cosign.
const passwordVariable = "COSIGN_PASSWORD"

// readKey reads the key for signatures: PEM, or a file of `cosign generate-key-pair`. It does nothing without a key.
func (o *options) readKey(file string) (err error) {
	if file == "" {
		return nil
	}
	password := func(bool) ([]byte, error) { return []byte(os.Getenv(passwordVariable)), nil }
	if o.signer, err = signature.LoadSignerFromPEMFile(file, crypto.SHA256, password); err != nil {
		return fmt.Errorf("reading the key (-key, password in %s): %w", passwordVariable, err)
	}
	return nil
}

// seal writes the checksums of a release and, with a key, their signature and the public key. `cosign verify-blob` checks them.
func seal(o options) error {
	sums := filepath.Join(o.out, "SHA256SUMS")
	if o.signer == nil {
		return pack.Checksums(o.out, sums)
	}
	public, err := o.signer.PublicKey()
	if err != nil {
		return fmt.Errorf("reading the public key: %w", err)
	}
	encoded, err := cryptoutils.MarshalPublicKeyToPEM(public)
	if err != nil {
		return fmt.Errorf("encoding the public key: %w", err)
	}
	if err := os.WriteFile(filepath.Join(o.out, "raygate.pub"), encoded, 0o644); err != nil {
		return err
	}
	if err := pack.Checksums(o.out, sums); err != nil {
		return err
	}
	data, err := os.ReadFile(sums)
	if err != nil {
		return err
	}
	signed, err := o.signer.SignMessage(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("signing the checksums: %w", err)
	}
	return os.WriteFile(sums+".sig", []byte(base64.StdEncoding.EncodeToString(signed)), 0o644)
}
