package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/raygate/raygate/hack/release/internal/image"
	"github.com/raygate/raygate/hack/release/internal/pack"
)

// laptops are the platforms of the command-line tool.
var laptops = []struct{ os, architecture string }{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// all writes a release.
func all(ctx context.Context, o options) error {
	if err := os.RemoveAll(o.out); err != nil {
		return fmt.Errorf("emptying %s: %w", o.out, err)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	for _, l := range laptops {
		if err := commandLine(ctx, o, l.os, l.architecture); err != nil {
			return err
		}
	}
	if err := images(ctx, o); err != nil {
		return err
	}
	if err := charts(ctx, o); err != nil {
		return err
	}
	if err := manifests(o); err != nil {
		return err
	}
	return seal(o)
}

// commandLine writes raygate-VERSION-OS-ARCHITECTURE.tar.gz.
func commandLine(ctx context.Context, o options, goos, goarch string) error {
	dir, err := os.MkdirTemp("", "raygate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, "raygate")
	fmt.Fprintf(o.log, "building raygate for %s/%s\n", goos, goarch)
	program := image.Source{Dir: o.source, Package: "./cmd/raygate", LDFlags: o.ldflags(), OS: goos, Architecture: goarch}
	if err := program.Compile(ctx, binary); err != nil {
		return err
	}
	name := fmt.Sprintf("raygate-%s-%s-%s", o.version, goos, goarch)
	files := []pack.File{
		{Name: "raygate", Path: binary, Executable: true},
		{Name: "LICENSE", Path: filepath.Join(o.source, "LICENSE")},
		{Name: "cli.md", Path: filepath.Join(o.source, "docs/cli.md")},
	}
	return pack.Tar(filepath.Join(o.out, name+".tar.gz"), o.created, pack.Under(name, files))
}
