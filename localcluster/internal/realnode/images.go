package realnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// importImages waits for containerd, and gives it the image that every Pod needs and those whose archives lie beside the programs.
func (n node) importImages(ctx context.Context) error {
	pause := n.path("pause.tar")
	if err := writePauseImage(filepath.Join(n.o.Bin, "pause"), pause); err != nil {
		return err
	}
	if err := n.awaitImport(ctx, pause); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(n.o.Bin, "images", "*.tar"))
	if err != nil {
		return fmt.Errorf("finding images: %w", err)
	}
	for _, archive := range archives {
		if err := n.importOnce(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

// awaitImport tries again until containerd is there.
func (n node) awaitImport(ctx context.Context, archive string) error {
	var last error
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); {
		if last = n.importArchive(ctx, archive); last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
	return fmt.Errorf("containerd is not ready after %s: %w", startLimit, last)
}

// importOnce leaves out an archive that the node has from an earlier run.
func (n node) importOnce(ctx context.Context, archive string) error {
	info, err := os.Stat(archive)
	if err != nil {
		return fmt.Errorf("importing images: %w", err)
	}
	key := fmt.Sprintf("%d %s", info.Size(), info.ModTime())
	marker := n.path(filepath.Base(archive) + ".imported")
	switch have, err := os.ReadFile(marker); {
	case err == nil && string(have) == key:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("importing images: %w", err)
	}
	n.o.Progress("importing %s into node %s", filepath.Base(archive), n.name())
	if err := n.importArchive(ctx, archive); err != nil {
		return err
	}
	if err := os.WriteFile(marker, []byte(key), 0o600); err != nil {
		return fmt.Errorf("importing images: %w", err)
	}
	return nil
}

func (n node) importArchive(ctx context.Context, archive string) error {
	return command(ctx, filepath.Join(n.o.Bin, "ctr"), "--address", n.socket(), "--namespace", namespace, "images", "import", "--snapshotter", "overlayfs", archive)
}
