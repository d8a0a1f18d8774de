package image

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificatesPath is where Go looks first.
const certificatesPath = "etc/ssl/certs/ca-certificates.crt"

// file is a regular file of an image, owned by root.
type file struct {
	path string
	mode int64
	data []byte
}

// baseFiles are the files that programs expect of any system: names of users, and the trusted authorities, which are Mozilla's list in the
// pinned version of its module. Files of the build machine are not used, because they differ between machines.
func baseFiles() []file {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // its constraints cannot be expressed in a file of certificates
		}
		_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer takes everything
	}
	return []file{
		{path: "etc/group", mode: 0o644, data: []byte(fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", user))},
		{path: "etc/passwd", mode: 0o644, data: []byte(fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/:/sbin/nologin\n", user, user))},
		{path: certificatesPath, mode: 0o644, data: roots.Bytes()},
	}
}

// layer packs files, in their order, with the folders that they are in.
func layer(modified time.Time, files []file) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	known := map[string]bool{}
	for _, f := range files {
		for i, c := range f.path {
			if dir := f.path[:i]; c == '/' && !known[dir] {
				known[dir] = true
				if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: modified, Format: tar.FormatPAX}); err != nil {
					return nil, fmt.Errorf("packing %s: %w", dir, err)
				}
			}
		}
		if strings.HasPrefix(f.path, "/") || path.Clean(f.path) != f.path {
			return nil, fmt.Errorf("packing %s: not a path below the root", f.path)
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.data)), ModTime: modified, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.path, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return l, nil
}
