package workdir

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Package is an archive on disk.
type Package struct {
	// Name is _ray_pkg_HASH.zip. HASH is the SHA-256 sum of the archive, in hexadecimal.
	Name string
	// Size is that of the archive in bytes, and Files the number of files in it.
	Size  int64
	Files int

	file *os.File
}

// URI is how Ray refers to the package once a cluster has it.
func (p *Package) URI() string { return "gcs://" + p.Name }

// Reader returns the archive from its beginning.
func (p *Package) Reader() io.Reader { return io.NewSectionReader(p.file, 0, p.Size) }

// Close deletes the archive.
func (p *Package) Close() error { return errors.Join(p.file.Close(), os.Remove(p.file.Name())) }

// TooLargeError means that the archive of a folder is larger than allowed.
type TooLargeError struct {
	// Limit is in bytes, and Total the size of the files before compression.
	Limit, Total int64
	// Largest are the largest files with their sizes, the largest first.
	Largest []string
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the package is larger than %s (its files have %s); name what the job does not need in .rayignore. The largest files are %s",
		bytes(e.Limit), bytes(e.Total), strings.Join(e.Largest, ", "))
}

// shownFiles is the maximum number of files in a TooLargeError.
const shownFiles = 5

func tooLarge(limit int64, entries []entry) *TooLargeError {
	e := &TooLargeError{Limit: limit}
	for _, f := range entries {
		e.Total += f.info.Size()
	}
	bySize := slices.SortedStableFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(b.info.Size(), a.info.Size()) })
	for _, f := range bySize[:min(shownFiles, len(bySize))] {
		e.Largest = append(e.Largest, f.path+" ("+bytes(f.info.Size())+")")
	}
	return e
}

// bytes is a size for people.
func bytes(n int64) string { return humanize.IBytes(uint64(n)) }

// Pack packs a folder into a temporary file, which Close deletes. An archive of more than limit bytes is a TooLargeError.
func Pack(ctx context.Context, folder string, limit int64) (*Package, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("packing the working directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	entries, err := list(root)
	if err != nil {
		return nil, fmt.Errorf("packing the working directory: %w", err)
	}
	file, err := os.CreateTemp("", "raygate-*.zip")
	if err != nil {
		return nil, fmt.Errorf("packing the working directory: %w", err)
	}
	p := &Package{file: file, Files: len(entries)}
	if err := p.write(ctx, root, entries, limit); err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("packing the working directory: %w", err)
	}
	return p, nil
}

// soleFolderMark is packed beside a folder that is alone. Ray drops the top folder of an archive that it fetches by URL if nothing is beside it.
const soleFolderMark = ".raygate"

// write writes the archive, which depends on nothing but the paths, the contents and whether files are executable.
func (p *Package) write(ctx context.Context, root *os.Root, entries []entry, limit int64) error {
	sum := sha256.New()
	out := &limited{w: io.MultiWriter(p.file, sum), left: limit}
	archive := zip.NewWriter(out)
	if hasSoleFolder(entries) {
		if _, err := archive.CreateHeader(header(soleFolderMark, 0o644)); err != nil {
			return err
		}
	}
	for _, f := range entries {
		err := addFile(archive, root, f)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errFull):
			return tooLarge(limit, entries)
		case err != nil:
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	err := archive.Close()
	if errors.Is(err, errFull) {
		return tooLarge(limit, entries)
	}
	p.Name, p.Size = "_ray_pkg_"+hex.EncodeToString(sum.Sum(nil))+".zip", limit-out.left
	return err
}

func hasSoleFolder(entries []entry) bool {
	if len(entries) == 0 {
		return false
	}
	top, _, _ := strings.Cut(entries[0].path, "/")
	return !slices.ContainsFunc(entries, func(e entry) bool { return !strings.HasPrefix(e.path, top+"/") })
}

// epoch is the time of all files: the first that an archive can have.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

func header(path string, mode os.FileMode) *zip.FileHeader {
	h := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: epoch}
	h.SetMode(mode)
	return h
}

func addFile(archive *zip.Writer, root *os.Root, f entry) error {
	if f.info.IsDir() {
		_, err := archive.CreateHeader(header(f.path, os.ModeDir|0o755))
		return err
	}
	in, err := root.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	mode := os.FileMode(0o644)
	if f.info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	out, err := archive.CreateHeader(header(f.path, mode))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

var errFull = errors.New("the archive is full")

// limited writes up to a number of bytes.
type limited struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if int64(len(b)) > l.left {
		return 0, errFull
	}
	n, err := l.w.Write(b)
	l.left -= int64(n)
	return n, err
}
