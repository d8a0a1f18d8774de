package raysim

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// unpackLimit limits the total size of the files of a working directory.
const unpackLimit = 1 << 30

var packageName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,200}$`)

func (c *Cluster) packagePath(name string) string { return filepath.Join(c.opts.Dir, "packages", name) }

// packageOf returns the name of the package in the path, or answers the request.
func packageOf(w http.ResponseWriter, r *http.Request) (string, bool) {
	name := r.PathValue("name")
	if r.PathValue("protocol") != "gcs" || !packageName.MatchString(name) {
		plain(w, http.StatusInternalServerError, "Traceback: ValueError: %s://%s is no package", r.PathValue("protocol"), name)
		return "", false
	}
	return name, true
}

func (c *Cluster) hasPackage(w http.ResponseWriter, r *http.Request) {
	name, ok := packageOf(w, r)
	if !ok {
		return
	}
	c.mu.Lock()
	ok = c.packages[name]
	c.mu.Unlock()
	if !ok {
		plain(w, http.StatusNotFound, "Package gcs://%s does not exist", name)
	}
}

func (c *Cluster) putPackage(w http.ResponseWriter, r *http.Request) {
	name, ok := packageOf(w, r)
	if !ok {
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err == nil {
		err = os.WriteFile(c.packagePath(name), data, 0o600)
	}
	if err != nil {
		plain(w, http.StatusInternalServerError, "Traceback: %v", err)
		return
	}
	c.mu.Lock()
	c.packages[name] = true
	c.mu.Unlock()
}

// unpackWorkingDir fills dir with the package that working_dir names; empty means an empty folder.
func (c *Cluster) unpackWorkingDir(uri, dir string) error {
	if uri == "" {
		return nil
	}
	if strings.HasPrefix(uri, "http://") || strings.HasPrefix(uri, "https://") {
		return c.fetchWorkingDir(uri, dir)
	}
	name, ok := strings.CutPrefix(uri, "gcs://")
	c.mu.Lock()
	known := ok && c.packages[name]
	c.mu.Unlock()
	switch {
	case !ok:
		return fmt.Errorf("working_dir %s: the simulator has uploaded packages (gcs://) and fetches archives by http:// and https:// only", uri)
	case !known:
		return fmt.Errorf("working_dir %s: there is no such package", uri)
	}
	return unzip(c.packagePath(name), dir, false)
}

// fetchWorkingDir fills dir with an archive from a URL. Ray drops the top folder of such an archive if nothing is beside it; the simulator
// refuses that archive.
func (c *Cluster) fetchWorkingDir(uri, dir string) error {
	if !strings.HasSuffix(uri, ".zip") {
		return fmt.Errorf("working_dir %s: the name of the archive must end with .zip", uri)
	}
	r, err := http.NewRequestWithContext(c.ctx, http.MethodGet, uri, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("fetching the working directory: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // it is read only
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("fetching the working directory: %s", resp.Status)
	}
	file, err := os.CreateTemp(c.packagePath(""), "fetched-*.zip")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, io.LimitReader(resp.Body, unpackLimit))
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("fetching the working directory: %w", err)
	}
	return unzip(file.Name(), dir, true)
}

func unzip(path, dir string, fetched bool) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("reading package: %w", err)
	}
	defer z.Close()               //nolint:errcheck // it is read only
	root, err := os.OpenRoot(dir) // no name in the archive leads out of it
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // a folder
	if fetched && hasSoleFolder(z.File) {
		return errors.New("the archive has nothing but one folder at its top, which Ray drops")
	}
	left := int64(unpackLimit)
	for _, f := range z.File {
		if f.FileInfo().IsDir() || !f.Mode().IsRegular() {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(f.Name), 0o700); err != nil {
			return fmt.Errorf("unpacking %s: %w", f.Name, err)
		}
		n, err := unzipFile(root, f, left)
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", f.Name, err)
		}
		left -= n
	}
	return nil
}

func hasSoleFolder(files []*zip.File) bool {
	if len(files) == 0 {
		return false
	}
	top, _, _ := strings.Cut(files[0].Name, "/")
	return !slices.ContainsFunc(files, func(f *zip.File) bool { return !strings.HasPrefix(f.Name, top+"/") })
}

func unzipFile(root *os.Root, f *zip.File, limit int64) (int64, error) {
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close() //nolint:errcheck // it is read only
	out, err := root.OpenFile(f.Name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, f.Mode().Perm()|0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = errors.New("the package is too large")
	}
	return n, errors.Join(err, out.Close())
}
