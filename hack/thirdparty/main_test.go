package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommittedFilesAreUpToDate(t *testing.T) {
	want, err := files()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	root := filepath.Join("..", "..", "third_party")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		got[rel], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("third_party differs from the pinned modules, run `make generate` (-want +got):\n%s", diff)
	}
}
