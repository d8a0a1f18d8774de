package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/raygate/raygate/hack/release/internal/pack"
)

// repository is a new one with a commit. git runs a command in it.
func repository(t *testing.T) (dir string, git func(args ...string)) {
	t.Helper()
	dir = t.TempDir()
	git = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "--quiet")
	write(t, filepath.Join(dir, "file"), "one")
	git("add", ".")
	git("commit", "--quiet", "-m", "First")
	return dir, git
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A release is made of a tag of which nothing is changed.
func TestReleaseNeedsTagAndCleanTree(t *testing.T) {
	dir, git := repository(t)
	check := func(wantVersion, wantError, given string) {
		t.Helper()
		o := options{source: dir, version: given}
		err := o.readRepository(context.Background(), true)
		switch {
		case wantError != "":
			if err == nil || !strings.Contains(err.Error(), wantError) {
				t.Errorf("error %v, want one with %q", err, wantError)
			}
		case err != nil || o.version != wantVersion || o.revision == "" || o.created.IsZero():
			t.Errorf("version %q, revision %q of %s, %v; want version %q", o.version, o.revision, o.created, err, wantVersion)
		}
	}
	check("", "has none", "")
	git("tag", "nightly")
	check("", "has none", "")
	git("tag", "v1.2.3")
	check("v1.2.3", "", "")
	check("v1.2.3", "", "v1.2.3")
	check("", "the tag is v1.2.3", "v1.2.4")
	write(t, filepath.Join(dir, "new"), "not committed")
	check("", "new", "")
	git("add", ".")
	git("commit", "--quiet", "-m", "Second")
	check("", "has none", "")
	git("tag", "v1.2.4")
	check("v1.2.4", "", "")
	write(t, filepath.Join(dir, "go.mod"), "module github.com/raygate/raygate\n\nrequire (\n\tgithub.com/raygate/raygate/api v1.2.4\n\tgithub.com/raygate/raygate/proto v1.2.3 // indirect\n)\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "Third")
	git("tag", "v1.2.5")
	check("", "go.mod: github.com/raygate/raygate/api v1.2.4\ngo.mod: github.com/raygate/raygate/proto v1.2.3", "")
	write(t, filepath.Join(dir, "go.mod"), "module github.com/raygate/raygate\n\nrequire github.com/raygate/raygate/api v1.2.6\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "Fourth")
	git("tag", "v1.2.6")
	check("v1.2.6", "", "")
}

// The chart of a release has its version and registry, Helm reads it, and packing it again gives the same bytes.
func TestChart(t *testing.T) {
	o := options{source: "../..", version: "v1.2.3+build", registry: "registry.example.com/ray", log: io.Discard}
	var packed [][]byte
	for range 2 {
		o.out = filepath.Join(t.TempDir(), "new")
		if err := charts(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"raygate-crds", "ray-cluster"} {
			c, err := loader.Load(filepath.Join(o.out, name+"-1.2.3+build.tgz"))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Validate(); err != nil || c.Metadata.Version != "1.2.3+build" || (len(c.Dependencies()) == 1) != (name == "raygate-crds") {
				t.Errorf("chart %+v: %v, %d dependencies", c.Metadata, err, len(c.Dependencies()))
			}
		}
		data, err := os.ReadFile(filepath.Join(o.out, "raygate-1.2.3+build.tgz"))
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, data)
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("packing the chart again gives another archive")
	}
	c, err := loader.LoadArchive(bytes.NewReader(packed[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if c.Metadata.Version != "1.2.3+build" || c.Metadata.AppVersion != "v1.2.3_build" || c.Values["imageRegistry"] != "registry.example.com/ray" || len(c.Dependencies()) != 1 {
		t.Errorf("chart %+v, registry %v, %d dependencies", c.Metadata, c.Values["imageRegistry"], len(c.Dependencies()))
	}
}

// kubectl apply -k takes the manifests of a release, with its images.
func TestManifests(t *testing.T) {
	o := options{source: "../..", version: "v1.2.3", registry: "registry.example.com/ray", out: t.TempDir(), log: io.Discard}
	if err := manifests(o); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(o.out, "raygate-manifests-v1.2.3.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	fs := filesys.MakeFsInMemory()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(h.Name, "crd/bases/") { // kustomize takes long over CRDs
			data = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + strings.TrimSuffix(filepath.Base(h.Name), ".yaml") + "}\n")
		}
		if err := fs.WriteFile("/"+h.Name, data); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/raygate-manifests-v1.2.3/apiserver/config/with-operator")
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if !bytes.Contains(text, []byte("image: registry.example.com/ray/"+p.Name+":v1.2.3\n")) {
			t.Errorf("the image of %s is not that of the release", p.Name)
		}
	}
	if bytes.Contains(text, []byte(":latest")) {
		t.Error("an image is the latest")
	}
}

// sha256sum checks what is written for it.
func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "images"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a"), "one")
	write(t, filepath.Join(dir, "images", "b"), "two")
	sums := filepath.Join(dir, "SHA256SUMS")
	for range 2 { // there is one already the second time
		if err := pack.Checksums(dir, sums); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	want := "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  a\n3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3  images/b\n"
	if string(data) != want {
		t.Errorf("checksums\n%swant\n%s", data, want)
	}
}

// The archive of the command line holds the program and what goes with it, and is the same each time.
func TestCommandLine(t *testing.T) {
	source := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/raygate\n\ngo 1.26.0\n", "cmd/raygate/main.go": "package main\n\nfunc main() {}\n", "LICENSE": "license\n", "docs/cli.md": "# raygate\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(source, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(source, name), text)
	}
	var archives [][]byte
	for range 2 {
		o := options{source: source, version: "v1.2.3", out: t.TempDir(), log: io.Discard}
		if err := commandLine(t.Context(), o, "linux", runtime.GOARCH); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(o.out, "raygate-v1.2.3-linux-"+runtime.GOARCH+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the archives differ")
	}
	z, err := gzip.NewReader(bytes.NewReader(archives[0]))
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[filepath.Base(h.Name)] = h.Mode
	}
	if want := map[string]int64{"raygate": 0o755, "LICENSE": 0o644, "cli.md": 0o644}; !maps.Equal(modes, want) {
		t.Errorf("files %v, want %v", modes, want)
	}
}
