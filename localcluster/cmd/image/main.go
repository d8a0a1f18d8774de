// Command image creates the archive of a container image from a folder, without a container engine.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

type options struct {
	root, tags, user, workdir, env, out string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", "", "the folder that becomes the file system")
	flag.StringVar(&o.tags, "tags", "", "names of the image, by comma")
	flag.StringVar(&o.user, "user", "", "user that containers run as")
	flag.StringVar(&o.workdir, "workdir", "/", "working directory of containers")
	flag.StringVar(&o.env, "env", "", "environment of containers: NAME=value, by comma")
	flag.StringVar(&o.out, "out", "", "the archive")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	layerFile := o.out + ".layer"
	defer os.Remove(layerFile)
	// tar preserves owners, links and modes of the whole tree.
	tar := exec.Command("tar", "--numeric-owner", "--sort=name", "-C", o.root, "-cf", layerFile, ".")
	tar.Stderr = os.Stderr
	if err := tar.Run(); err != nil {
		return fmt.Errorf("packing %s: %w", o.root, err)
	}
	layer, err := tarball.LayerFromFile(layerFile, tarball.WithCompressionLevel(1))
	if err != nil {
		return fmt.Errorf("reading layer: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return fmt.Errorf("adding layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("reading configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{User: o.user, WorkingDir: o.workdir, Env: strings.Split(o.env, ","), Cmd: []string{"/bin/bash"}}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return fmt.Errorf("writing configuration: %w", err)
	}
	images := map[name.Tag]v1.Image{}
	for tag := range strings.SplitSeq(o.tags, ",") {
		t, err := name.NewTag(tag)
		if err != nil {
			return err
		}
		images[t] = image
	}
	return tarball.MultiWriteToFile(o.out, images)
}
