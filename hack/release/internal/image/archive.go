package image

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/raygate/raygate/hack/release/internal/pack"
)

// Archive writes the image as an OCI layout in a tar file, under its name and each of the tags. `ctr images import`, `podman load` and
// `skopeo copy oci-archive:` take it.
func (b *Built) Archive(out string, tags []string) error {
	dir, err := os.MkdirTemp("", "layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	for _, tag := range tags {
		ref, err := name.NewTag(b.Program.Name + ":" + tag)
		if err != nil {
			return fmt.Errorf("naming image: %w", err)
		}
		annotations := map[string]string{
			"org.opencontainers.image.ref.name": tag,
			// The name that kubelet and containerd give to an image without a registry.
			"io.containerd.image.name": strings.Replace(ref.Name(), name.DefaultRegistry, "docker.io", 1),
		}
		if err := l.AppendIndex(b.Index, layout.WithAnnotations(annotations)); err != nil {
			return fmt.Errorf("writing %s: %w", out, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	files, err := pack.Folder(dir)
	if err != nil {
		return err
	}
	config, err := b.Parts[0].Image.ConfigFile()
	if err != nil {
		return fmt.Errorf("reading configuration: %w", err)
	}
	return pack.Tar(out, config.Created.Time, files)
}
