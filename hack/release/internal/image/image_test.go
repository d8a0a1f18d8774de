package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	spdxjson "github.com/spdx/tools-golang/json"
)

var platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// built makes an image of a copy of the program, in a folder of its own.
func built(t *testing.T, created time.Time) *Built {
	t.Helper()
	source := t.TempDir()
	if err := os.CopyFS(source, os.DirFS("testdata/program")); err != nil {
		t.Fatal(err)
	}
	o := Options{Source: source, LDFlags: "-s -w -buildid= -X main.version=v1.2.3", Tags: "more", Version: "v1.2.3", Revision: "abc", Created: created, Platforms: platforms}
	b, err := Build(t.Context(), o, Program{Name: "program", Package: ".", Description: "A test"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func digest(t *testing.T, of interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	d, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

var commit = time.Unix(1_700_000_000, 0)

// The same source gives the same digest, archive and SBOM, wherever and whenever it is built.
func TestReproducible(t *testing.T) {
	first, second := built(t, commit), built(t, commit)
	if a, b := digest(t, first.Index), digest(t, second.Index); a != b {
		t.Errorf("digests %s and %s", a, b)
	}
	if !bytes.Equal(first.Parts[1].SBOM, second.Parts[1].SBOM) {
		t.Error("the SBOMs differ")
	}
	dir := t.TempDir()
	var archives [][]byte
	for i, b := range []*Built{first, second} {
		file := filepath.Join(dir, string(rune('a'+i)))
		if err := b.Archive(file, []string{"v1.2.3", "latest"}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the archives differ")
	}
	if a, b := digest(t, first.Index), digest(t, built(t, commit.Add(time.Second)).Index); a == b {
		t.Error("the time of the commit is not in the image, or this test cannot fail")
	}
}

// The image contains a static program for its platform, users and certificates, and it does not run as root.
func TestContents(t *testing.T) {
	b := built(t, commit)
	index, err := b.Index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range platforms {
		if got := index.Manifests[i].Platform; !got.Equals(p) {
			t.Errorf("platform %s, want %s", got, p)
		}
		image := b.Parts[i].Image
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; config.Architecture != p.Architecture || c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/program"}) || c.Labels["org.opencontainers.image.version"] != "v1.2.3" {
			t.Errorf("configuration %+v", config)
		}
		files := filesOf(t, image)
		var names []string
		for _, h := range files.headers {
			names = append(names, h.Name)
			if h.Uid != 0 || h.Mode&0o022 != 0 || !h.ModTime.Equal(commit) {
				t.Errorf("%s belongs to %d, has mode %o and is of %s", h.Name, h.Uid, h.Mode, h.ModTime)
			}
		}
		slices.Sort(names)
		if want := []string{"etc", "etc/group", "etc/passwd", "etc/ssl", "etc/ssl/certs", "etc/ssl/certs/ca-certificates.crt", "program"}; !slices.Equal(names, want) {
			t.Errorf("files %v, want %v", names, want)
		}
		if !strings.HasPrefix(files.data["program"], "\x7fELF") {
			t.Error("the program is no program for Linux")
		}
		if !x509.NewCertPool().AppendCertsFromPEM([]byte(files.data[certificatesPath])) || strings.Count(files.data[certificatesPath], "BEGIN") < 50 {
			t.Error("there are no certificates")
		}
	}
}

type contents struct {
	headers []*tar.Header
	data    map[string]string
}

func filesOf(t *testing.T, image v1.Image) contents {
	t.Helper()
	r := mutate.Extract(image)
	defer r.Close()
	out := contents{data: map[string]string{}}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		out.headers, out.data[h.Name] = append(out.headers, h), string(data)
	}
}

// The SBOM is an SPDX document of the program, the standard library and each module.
func TestSBOM(t *testing.T) {
	doc, err := spdxjson.Read(bytes.NewReader(built(t, commit).Parts[0].SBOM))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"SPDX-2.3"`, "pkg:golang/example.org/program@v1.2.3", "pkg:golang/stdlib@1.", `"DESCRIBES"`, `"DEPENDS_ON"`, "2023-11-14T22:13:20Z"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the SBOM lacks %s:\n%s", want, data)
		}
	}
}

// A registry takes the image for both platforms, under both tags, and lists the SBOM of each as what refers to it.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://") + "/some/path"
	b := built(t, commit)
	if err := b.Push(t.Context(), host, []string{"v1.2.3", "latest"}); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"v1.2.3", "latest"} {
		ref, err := name.ParseReference(host + "/program:" + tag)
		if err != nil {
			t.Fatal(err)
		}
		got, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		if digest(t, got) != digest(t, b.Index) {
			t.Errorf("%s is another image", ref)
		}
		for i, p := range platforms {
			image, err := remote.Image(ref, remote.WithPlatform(p))
			if err != nil {
				t.Fatal(err)
			}
			if filesOf(t, image).data["program"] == "" || digest(t, image) != digest(t, b.Parts[i].Image) {
				t.Errorf("%s for %s is another image", ref, p)
			}
		}
	}
	for _, part := range b.Parts {
		subject, err := name.NewDigest(host + "/program@" + digest(t, part.Image))
		if err != nil {
			t.Fatal(err)
		}
		referrers, err := remote.Referrers(subject)
		if err != nil {
			t.Fatal(err)
		}
		list, err := referrers.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Manifests) != 1 || list.Manifests[0].ArtifactType != sbomType {
			t.Fatalf("%v refers to the image for %s", list.Manifests, part.Platform)
		}
		artifact, err := remote.Image(subject.Context().Digest(list.Manifests[0].Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		layers, err := artifact.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("layers %v, %v", layers, err)
		}
		r, err := layers[0].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		sbom, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(sbom, part.SBOM) {
			t.Errorf("the artifact is not the SBOM: %.200s, %v", sbom, err)
		}
	}
}

// containerd finds the name that kubelet asks for in the archive.
func TestArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "program.tar")
	if err := built(t, commit).Archive(file, []string{"v1.2.3", "latest"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := map[string]string{}
	for r := tar.NewReader(f); ; {
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
		found[h.Name] = string(data)
	}
	var index v1.IndexManifest
	if err := json.Unmarshal([]byte(found["index.json"]), &index); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range index.Manifests {
		names = append(names, m.Annotations["io.containerd.image.name"])
		if found["blobs/sha256/"+m.Digest.Hex] == "" {
			t.Errorf("the archive lacks %s", m.Digest)
		}
	}
	if want := []string{"docker.io/library/program:v1.2.3", "docker.io/library/program:latest"}; !slices.Equal(names, want) || found["oci-layout"] == "" {
		t.Errorf("names %v, want %v", names, want)
	}
}
