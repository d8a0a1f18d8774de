package image

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// The registry has a signature of the image and of that of each platform, where cosign looks for them, by the key and about these digests.
func TestSign(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signature.LoadECDSASignerVerifier(key, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	b := built(t, commit)
	if err := b.Sign(t.Context(), host, signer); err != nil {
		t.Fatal(err)
	}
	digests := []string{digest(t, b.Index)}
	for _, part := range b.Parts {
		digests = append(digests, digest(t, part.Image))
	}
	for _, want := range digests {
		ref, err := name.ParseReference(host + "/program:" + strings.Replace(want, ":", "-", 1) + ".sig")
		if err != nil {
			t.Fatal(err)
		}
		artifact, err := remote.Image(ref)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := artifact.Manifest()
		if err != nil || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != signatureType {
			t.Fatalf("manifest %+v, %v", manifest, err)
		}
		layers, err := artifact.Layers()
		if err != nil {
			t.Fatal(err)
		}
		r, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := base64.StdEncoding.DecodeString(manifest.Layers[0].Annotations[signatureAnnotation])
		if err != nil {
			t.Fatal(err)
		}
		if err := signer.VerifySignature(bytes.NewReader(signed), bytes.NewReader(text)); err != nil {
			t.Errorf("signature of %s: %v", want, err)
		}
		var about payload.Cosign
		if err := about.UnmarshalJSON(text); err != nil || about.Image.DigestStr() != want {
			t.Errorf("the signature is about %s, want %s: %v", about.Image, want, err)
		}
	}
}
