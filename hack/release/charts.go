package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/raygate/raygate/hack/release/internal/pack"
)

var (
	chartVersion  = regexp.MustCompile(`(?m)^version: .*$`)
	appVersion    = regexp.MustCompile(`(?m)^appVersion: .*$`)
	imageRegistry = regexp.MustCompile(`(?m)^imageRegistry: .*$`)
)

// charts writes NAME-VERSION.tgz for each folder of charts: its files with the version, and the registry if images are pushed to one.
func charts(_ context.Context, o options) error {
	folders, err := filepath.Glob(filepath.Join(o.source, "charts", "*", "Chart.yaml"))
	if err != nil || len(folders) == 0 {
		return fmt.Errorf("there is no chart in %s: %w", o.source, err)
	}
	for _, file := range folders {
		if err := packChart(o, filepath.Dir(file)); err != nil {
			return err
		}
	}
	return nil
}

func packChart(o options, dir string) error {
	name := filepath.Base(dir)
	files, err := pack.Folder(dir)
	if err != nil {
		return err
	}
	version := strings.TrimPrefix(o.version, "v")
	for i, f := range files {
		var change func([]byte) []byte
		switch f.Name {
		case "Chart.yaml":
			change = func(data []byte) []byte {
				data = chartVersion.ReplaceAllLiteral(data, []byte("version: "+version))
				return appVersion.ReplaceAllLiteral(data, []byte("appVersion: "+o.tag()))
			}
		case "values.yaml":
			change = func(data []byte) []byte {
				return imageRegistry.ReplaceAllLiteral(data, fmt.Appendf(nil, "imageRegistry: %q", o.registry))
			}
		default:
			continue
		}
		data, err := os.ReadFile(f.Path)
		if err != nil {
			return err
		}
		files[i].Path, files[i].Data = "", change(data)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	out := filepath.Join(o.out, name+"-"+version+".tgz")
	if err := pack.Tar(out, o.created, pack.Under(name, files)); err != nil {
		return err
	}
	fmt.Fprintln(o.log, out)
	return nil
}

// manifests writes raygate-manifests-VERSION.tar.gz: the folders for kubectl apply -k, with the images of the release.
func manifests(o options) error {
	var all []pack.File
	for _, config := range []string{"operator/config", "apiserver/config"} {
		files, err := pack.Folder(filepath.Join(o.source, config))
		if err != nil {
			return err
		}
		for _, f := range files {
			if filepath.Ext(f.Name) != ".yaml" {
				continue
			}
			if filepath.Base(f.Name) == "deployment.yaml" {
				data, err := os.ReadFile(f.Path)
				if err != nil {
					return err
				}
				f.Path, f.Data = "", withImages(data, o)
			}
			all = append(all, pack.Under(config, []pack.File{f})...)
		}
	}
	name := "raygate-manifests-" + o.version
	return pack.Tar(filepath.Join(o.out, name+".tar.gz"), o.created, pack.Under(name, all))
}

// withImages names the images of the release.
func withImages(data []byte, o options) []byte {
	prefix := ""
	if o.registry != "" {
		prefix = o.registry + "/"
	}
	for _, p := range programs {
		data = bytes.ReplaceAll(data, []byte("image: "+p.Name+":latest"), []byte("image: "+prefix+p.Name+":"+o.tag()))
	}
	return data
}
