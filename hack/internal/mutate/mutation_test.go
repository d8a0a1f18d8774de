package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMutations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	source := "package a\n\nfunc f(x int) bool {\n\tif x > 1 && g(x) {\n\t\tlog(x)\n\t\treturn true\n\t}\n\treturn x-1 == 0\n}\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := mutationsOf(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		got = append(got, m.what)
		if string(m.text()) == source {
			t.Errorf("%s changes nothing", m.what)
		}
	}
	slices.Sort(got)
	want := []string{`"&&" becomes "||"`, `"-" becomes "+"`, `"==" becomes "!="`, `">" becomes "<="`, `"log(x)" becomes "{}"`, `"true" becomes "false"`, `"x > 1 && g(x)" becomes "!(x > 1 && g(x))"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
