package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/raygate/raygate/hack/release/internal/image"
)

// programs are the programs with an image.
var programs = []image.Program{
	{Name: "raygate-operator", Package: "./operator/cmd/manager", Description: "Operator for Ray on Kubernetes"},
	{Name: "raygate-apiserver", Package: "./apiserver/cmd/apiserver", Description: "gRPC and REST gateway for Ray on Kubernetes"},
}

// storeTags link the stores that `make build` leaves out for the time that they take to compile.
const storeTags = "gcs"

// images writes NAME.tar and, for each platform, NAME.OS-ARCHITECTURE.spdx.json.
func images(ctx context.Context, o options) error {
	platforms, err := o.parsePlatforms()
	if err != nil {
		return err
	}
	build := image.Options{Source: o.source, LDFlags: o.ldflags(), Tags: storeTags, Version: o.version, Revision: o.revision, Created: o.created, Platforms: platforms}
	tags := []string{o.tag(), "latest"}
	for _, p := range programs {
		fmt.Fprintf(o.log, "building image %s for %s\n", p.Name, o.platforms)
		built, err := image.Build(ctx, build, p)
		if err != nil {
			return err
		}
		archive := filepath.Join(o.out, p.Name+".tar")
		if err := built.Archive(archive, tags); err != nil {
			return err
		}
		for _, part := range built.Parts {
			name := fmt.Sprintf("%s.%s-%s.spdx.json", p.Name, part.Platform.OS, part.Platform.Architecture)
			if err := os.WriteFile(filepath.Join(o.out, name), part.SBOM, 0o644); err != nil {
				return fmt.Errorf("writing SBOM: %w", err)
			}
		}
		digest, err := built.Index.Digest()
		if err != nil {
			return fmt.Errorf("computing digest of %s: %w", p.Name, err)
		}
		fmt.Fprintf(o.log, "%s: %s@%s\n", archive, p.Name+":"+o.tag(), digest)
		if o.registry == "" {
			continue
		}
		if err := built.Push(ctx, o.registry, tags); err != nil {
			return err
		}
		if o.signer != nil {
			if err := built.Sign(ctx, o.registry, o.signer); err != nil {
				return err
			}
		}
		fmt.Fprintf(o.log, "pushed %s/%s:%s\n", o.registry, p.Name, o.tag())
	}
	return nil
}
