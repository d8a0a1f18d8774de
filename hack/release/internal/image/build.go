package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// User and group of the processes; the manifests name the same.
const user = 65532

// Program is the program of an image.
type Program struct {
	// Name is the name of the image, and of the program at the root of its file system.
	Name string
	// Package is the Go package of the program, such as ./operator/cmd/manager.
	Package string
	// Description describes the program in one line.
	Description string
}

// Options are the same for all programs of a release.
type Options struct {
	// Source is the folder of the Go module that is compiled.
	Source string
	// LDFlags are handed to the linker.
	LDFlags string
	// Tags are the build tags, by comma; empty means none.
	Tags string
	// Version is a label of the image, and the version of the main module in the SBOM.
	Version string
	// Revision is the commit that the source is; empty leaves the label out.
	Revision string
	// Created is the time of the image and of all of its files: the time of the commit, so that the digest only depends on the source.
	Created time.Time
	// Platforms are the platforms of the index, in its order.
	Platforms []v1.Platform
}

// Built is an image for several platforms.
type Built struct {
	Program Program
	Index   v1.ImageIndex
	// Parts has one element for each platform.
	Parts []Part
}

// Part is the image for one platform.
type Part struct {
	Platform v1.Platform
	Image    v1.Image
	// SBOM lists the components of the program: SPDX 2.3 in JSON.
	SBOM []byte
}

// Build compiles the program and makes its image for each platform.
func Build(ctx context.Context, o Options, p Program) (*Built, error) {
	b := &Built{Program: p, Index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, platform := range o.Platforms {
		part, err := build(ctx, o, p, platform)
		if err != nil {
			return nil, fmt.Errorf("making image %s for %s: %w", p.Name, platform, err)
		}
		b.Parts = append(b.Parts, *part)
		b.Index = mutate.AppendManifests(b.Index, mutate.IndexAddendum{Add: part.Image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return b, nil
}

func build(ctx context.Context, o Options, p Program, platform v1.Platform) (*Part, error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, p.Name)
	source := Source{Dir: o.Source, Package: p.Package, LDFlags: o.LDFlags, Tags: o.Tags, OS: platform.OS, Architecture: platform.Architecture}
	if err := source.Compile(ctx, binary); err != nil {
		return nil, err
	}
	sbom, err := bill(binary, p, o, platform)
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	base, err := layer(o.Created, baseFiles())
	if err != nil {
		return nil, err
	}
	top, err := layer(o.Created, []file{{path: p.Name, mode: 0o755, data: program}})
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: base, History: history(o, "certificates of public authorities, users")},
		mutate.Addendum{Layer: top, History: history(o, "go build "+p.Package)})
	if err != nil {
		return nil, fmt.Errorf("adding layers: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant, config.Created = platform.OS, platform.Architecture, platform.Variant, v1.Time{Time: o.Created}
	config.Config = v1.Config{
		User: strconv.Itoa(user) + ":" + strconv.Itoa(user), WorkingDir: "/", Entrypoint: []string{"/" + p.Name},
		Env: []string{"PATH=/", "HOME=/", "SSL_CERT_FILE=/" + certificatesPath}, Labels: labels(o, p),
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("writing configuration: %w", err)
	}
	return &Part{Platform: platform, Image: image, SBOM: sbom}, nil
}

func history(o Options, by string) v1.History {
	return v1.History{Created: v1.Time{Time: o.Created}, CreatedBy: by}
}

func labels(o Options, p Program) map[string]string {
	out := map[string]string{
		"org.opencontainers.image.title":       p.Name,
		"org.opencontainers.image.description": p.Description,
		"org.opencontainers.image.version":     o.Version,
		"org.opencontainers.image.source":      "https://github.com/raygate/raygate",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.created":     o.Created.UTC().Format(time.RFC3339),
	}
	if o.Revision != "" {
		out["org.opencontainers.image.revision"] = o.Revision
	}
	return out
}

// Source is a Go program for one platform.
type Source struct {
	// Dir is the folder of the module, Package the main package in it.
	Dir, Package, LDFlags string
	// Tags are the build tags, by comma; empty means none.
	Tags string
	// OS and Architecture as in GOOS and GOARCH.
	OS, Architecture string
}

// Compile builds the program without C and without a trace of the folder that it is built in.
func (s Source) Compile(ctx context.Context, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", s.Tags, "-ldflags", s.LDFlags, "-o", out, s.Package)
	cmd.Dir = s.Dir
	// Set variables of the environment that would change the result to the baseline of each architecture.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+s.OS, "GOARCH="+s.Architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off", "GOEXPERIMENT=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compiling %s for %s/%s: %w", s.Package, s.OS, s.Architecture, err)
	}
	return nil
}
