package console

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed web
var web embed.FS

// files has the pages. A deep link is answered with index.html, whose script shows the page.
type files struct {
	all     map[string]file // by path below Prefix
	folders map[string]bool // the first parts of paths that are files only
}

type file struct {
	data              []byte
	contentType, etag string
}

// index is the page for every deep link.
const index = "index.html"

// contentTypes replaces the machine's mime.types.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

func newFiles() (*files, error) {
	f := &files{all: map[string]file{}, folders: map[string]bool{}}
	err := fs.WalkDir(web, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := web.ReadFile(name)
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(name, "web/")
		if folder, _, ok := strings.Cut(below, "/"); ok {
			f.folders[folder] = true
		}
		contentType := cmp.Or(contentTypes[path.Ext(name)], mime.TypeByExtension(path.Ext(name)), contentTypes[".txt"]) // licences have no extension
		sum := sha256.Sum256(data)
		// The ETag is weak, because the file is also sent compressed.
		f.all[below] = file{data, contentType, `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of the console: %w", err)
	}
	return f, nil
}

// ServeHTTP implements http.Handler.
func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console is read with GET", http.StatusMethodNotAllowed)
		return
	}
	found, ok := f.all[f.nameOf(r.URL.Path)]
	if !ok {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", found.contentType)
	h.Set("Cache-Control", "no-cache") // cached, and revalidated with the ETag
	h.Set("ETag", found.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.data))
}

// nameOf returns the file for a path: itself, or the index for a path that cannot be a file.
func (f *files) nameOf(requested string) string {
	below := strings.TrimPrefix(path.Clean(requested)+"/", Prefix)
	below = strings.TrimSuffix(below, "/")
	folder, _, nested := strings.Cut(below, "/")
	if f.folders[folder] || !nested && path.Ext(below) != "" {
		return below
	}
	return index
}
