package pack

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File is a part of an archive.
type File struct {
	// Name in the archive, with slashes.
	Name string
	// Path on this machine; empty means that Data is the content.
	Path string
	Data []byte
	// Executable means that the file is a program.
	Executable bool
}

// Folder lists the regular files below a folder, by their path from there.
func Folder(dir string) ([]File, error) {
	var out []File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && d.Type() == fs.ModeSymlink {
			linked, err := Folder(target)
			out = append(out, Under(filepath.ToSlash(name), linked)...)
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out = append(out, File{Name: filepath.ToSlash(name), Path: path, Executable: info.Mode()&0o100 != 0})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	return out, nil
}

// Under puts files into a folder of the archive.
func Under(dir string, files []File) []File {
	out := slices.Clone(files)
	for i := range out {
		out[i].Name = dir + "/" + out[i].Name
	}
	return out
}

// Tar writes a tar archive, compressed if its name ends in gz.
func Tar(out string, modified time.Time, files []File) (err error) {
	f, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("writing archive: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	to, done := io.Writer(f), func() error { return nil }
	if strings.HasSuffix(out, "gz") {
		z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
		if err != nil {
			return fmt.Errorf("writing archive: %w", err)
		}
		to, done = z, z.Close
	}
	w := tar.NewWriter(to)
	sorted := slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range sorted {
		if err := add(w, modified, file); err != nil {
			return fmt.Errorf("writing %s into %s: %w", file.Name, out, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("writing archive: %w", err)
	}
	return done()
}

func add(w *tar.Writer, modified time.Time, file File) error {
	data := file.Data
	if file.Path != "" {
		var err error
		if data, err = os.ReadFile(file.Path); err != nil {
			return err
		}
	}
	mode := int64(0o644)
	if file.Executable {
		mode = 0o755
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: file.Name, Mode: mode, Size: int64(len(data)), ModTime: modified, Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// Checksums writes a file for `sha256sum --check` about the files below dir, with their relative paths, except for the file itself.
func Checksums(dir, out string) error {
	files, err := Folder(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, file := range files { // walked in lexical order
		if file.Path == out {
			continue
		}
		data, err := os.ReadFile(file.Path)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file.Path, err)
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), file.Name)
	}
	return os.WriteFile(out, []byte(text.String()), 0o644)
}
