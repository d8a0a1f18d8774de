package realnode

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// writePauseImage makes the archive of an image with one program.
func writePauseImage(program, archive string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("making the image of Pods' sandboxes: %w", err)
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	err = w.WriteHeader(&tar.Header{Name: "pause", Mode: 0o755, Size: int64(len(data))})
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("making the image of Pods' sandboxes: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return fmt.Errorf("making the image of Pods' sandboxes: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return fmt.Errorf("making the image of Pods' sandboxes: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("making the image of Pods' sandboxes: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	config.Config.Entrypoint = []string{"/pause"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return fmt.Errorf("making the image of Pods' sandboxes: %w", err)
	}
	tag, err := name.NewTag(pauseImage)
	if err != nil {
		return fmt.Errorf("making the image of Pods' sandboxes: %w", err)
	}
	if err := tarball.WriteToFile(archive, tag, image); err != nil {
		return fmt.Errorf("making the image of Pods' sandboxes: %w", err)
	}
	return nil
}
