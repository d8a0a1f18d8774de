package image

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// The format of signatures that `cosign verify` and admission controllers read.
const (
	signatureType       = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// Sign pushes signatures of the image that Push has sent, and of that of each platform.
func (b *Built) Sign(ctx context.Context, registry string, by signature.Signer) error {
	repository, err := name.NewRepository(registry + "/" + b.Program.Name)
	if err != nil {
		return fmt.Errorf("naming image: %w", err)
	}
	parts := []interface{ Digest() (v1.Hash, error) }{b.Index}
	for _, part := range b.Parts {
		parts = append(parts, part.Image)
	}
	for _, part := range parts {
		digest, err := part.Digest()
		if err != nil {
			return fmt.Errorf("computing digest of %s: %w", b.Program.Name, err)
		}
		signed, err := signatureOf(repository.Digest(digest.String()), by)
		if err != nil {
			return fmt.Errorf("signing %s: %w", b.Program.Name, err)
		}
		tag := repository.Tag(digest.Algorithm + "-" + digest.Hex + ".sig")
		if err := remote.Write(tag, signed, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("pushing %s: %w", tag, err)
		}
	}
	return nil
}

// signatureOf is the artifact with the signature of an image.
func signatureOf(image name.Digest, by signature.Signer) (v1.Image, error) {
	text, err := payload.Cosign{Image: image}.MarshalJSON()
	if err != nil {
		return nil, err
	}
	signed, err := by.SignMessage(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer:       static.NewLayer(text, signatureType),
		Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signed)},
	})
}
