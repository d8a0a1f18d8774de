package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// sbomType is the media type of SPDX documents in JSON, and the artifact type under which registries list them.
const sbomType = "application/spdx+json"

// Push sends the image to a registry (host and path, such as registry.example.com/ray) under each of the tags, and the list of the parts of each
// platform's image as an artifact that refers to it. Credentials are those of `docker login`.
func (b *Built) Push(ctx context.Context, registry string, tags []string) error {
	repository, err := name.NewRepository(registry + "/" + b.Program.Name)
	if err != nil {
		return fmt.Errorf("naming image: %w", err)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	for _, tag := range tags {
		if err := remote.WriteIndex(repository.Tag(tag), b.Index, options...); err != nil {
			return fmt.Errorf("pushing %s: %w", repository.Tag(tag), err)
		}
	}
	for _, part := range b.Parts {
		bill, err := part.artifact()
		if err != nil {
			return fmt.Errorf("describing %s for %s: %w", b.Program.Name, part.Platform, err)
		}
		digest, err := bill.Digest()
		if err != nil {
			return fmt.Errorf("describing %s for %s: %w", b.Program.Name, part.Platform, err)
		}
		if err := remote.Write(repository.Digest(digest.String()), bill, options...); err != nil {
			return fmt.Errorf("pushing the parts of %s for %s: %w", repository, part.Platform, err)
		}
	}
	return nil
}

// artifact is the SBOM as an OCI artifact whose subject is the image.
func (p Part) artifact() (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbomType)
	image, err := mutate.Append(image, mutate.Addendum{Layer: static.NewLayer(p.SBOM, sbomType)})
	if err != nil {
		return nil, err
	}
	digest, err := p.Image.Digest()
	if err != nil {
		return nil, err
	}
	size, err := p.Image.Size()
	if err != nil {
		return nil, err
	}
	subject := mutate.Subject(image, v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest, Size: size})
	return subject.(v1.Image), nil // it returns its argument
}
