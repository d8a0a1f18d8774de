package workdir

import (
	"archive/zip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fill writes files by path. A path with a trailing slash is a folder, and content that begins with -> a symbolic link.
func fill(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		at := filepath.Join(dir, path)
		target, link := strings.CutPrefix(content, "->")
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		switch {
		case strings.HasSuffix(path, "/"):
			err = errors.Join(err, os.MkdirAll(at, 0o755))
		case link:
			err = errors.Join(err, os.Symlink(target, at))
		default:
			err = errors.Join(err, os.WriteFile(at, []byte(content), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// pathsOf returns the paths of what is packed of a folder.
func pathsOf(t testing.TB, dir string) ([]string, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	entries, err := list(root)
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.path)
	}
	return paths, err
}

// tree has the files of the tests of ignore files.
var tree = []string{"a", "b.log", "keep.log", "data/a", "data/b.log", "data/deep/a", "data/deep/keep.log", "src/data/a", "src/data.log", "src/x y", "src/{a}", "#a", "!a", "src/a "}

func fillTree(t testing.TB, dir string) {
	t.Helper()
	files := map[string]string{}
	for _, path := range tree {
		files[path] = "x"
	}
	fill(t, dir, files)
}

// byGit returns the files that git does not ignore.
func byGit(t testing.TB, dir string) []string {
	t.Helper()
	cmd := exec.Command("git", "-c", "core.quotePath=false", "ls-files", "-z", "--others", "--exclude-standard")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	slices.Sort(paths)
	return paths
}

func initGit(t testing.TB, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestIgnoreFiles: what git ignores is not packed, and nothing else.
func TestIgnoreFiles(t *testing.T) {
	dir := t.TempDir()
	fillTree(t, dir)
	initGit(t, dir)
	parts := []string{"a", "b.log", "*.log", "data", "src", "deep", "**", "*", "?", "[ab]*", "[!a]", "keep.log", "{a}", "x y", "d*a", `\#a`, `\!a`, `a\ `, `\`, "[", "{a,b}", "x  "}
	random := rand.New(rand.NewPCG(1, 2))
	text := "# comment\r\n\r\n*.log\r\n!keep.log\r\ndata/**\n!data/deep/\n/a\nsrc/{a}\n#a\n"
	for range 50 {
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := pathsOf(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if diff := cmp.Diff(byGit(t, dir), got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q differs (-git +packed):\n%s", text, diff)
		}
		text = ""
		for range 1 + random.IntN(3) {
			if random.IntN(3) == 0 {
				text += "!"
			}
			if random.IntN(4) == 0 {
				text += "/"
			}
			for i := range 1 + random.IntN(3) {
				if i > 0 {
					text += "/"
				}
				text += parts[random.IntN(len(parts))]
			}
			if random.IntN(4) == 0 {
				text += "/"
			}
			text += "\n"
		}
	}
}

func TestList(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
		err   string
	}{
		"both ignore files, in each folder": {
			files: map[string]string{
				".gitignore": "*.log\n", ".rayignore": "/data/\n", "main.py": "", "a.log": "", "data/x": "", "sub/data/x": "",
				"sub/.rayignore": "/y\n!a.log\n", "sub/y": "", "sub/a.log": "", "sub/deep/y": "",
			},
			want: []string{".gitignore", ".rayignore", "main.py", "sub/.rayignore", "sub/data/x", "sub/deep/y"},
		},
		"what is never needed": {
			files: map[string]string{".git/config": "", ".venv/x": "", "a/__pycache__/x.pyc": "", "main.py": ""},
			want:  []string{"main.py"},
		},
		"folders": {
			files: map[string]string{"empty/": "", "ignored/x.log": "", ".gitignore": "*.log"},
			want:  []string{".gitignore", "empty/"},
		},
		"symbolic links within the folder": {
			files: map[string]string{"a/x": "", "file": "->a/x", "folder": "->a", "dangling": "->nothing"},
			want:  []string{"a/x", "file", "folder/x"},
		},
		"a symbolic link out of the folder": {files: map[string]string{"a/secret": "->../../secret"}, err: "a/secret: the symbolic link leads out of the folder"},
		"an absolute symbolic link":         {files: map[string]string{"passwd": "->/etc/passwd"}, err: "passwd: the symbolic link leads out"},
		"an ignored link out of the folder": {files: map[string]string{"passwd": "->/etc/passwd", ".rayignore": "passwd", "a": ""}, want: []string{".rayignore", "a"}},
		"a symbolic link to a folder above": {files: map[string]string{"a/b/up": "->../../a"}, err: "a/b/up: the symbolic link leads to a folder that contains it"},
		"an ignore file that leads out":     {files: map[string]string{".rayignore": "->/etc/passwd"}, err: "escapes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, tc.files)
			got, err := pathsOf(t, dir)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func pack(t *testing.T, dir string) *Package {
	t.Helper()
	p, err := Pack(t.Context(), dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestName: the name depends on paths, contents and the right to execute, and not on times or the place.
func TestName(t *testing.T) {
	name := func(files map[string]string, edit func(dir string)) string {
		dir := t.TempDir()
		fill(t, dir, files)
		if edit != nil {
			edit(dir)
		}
		return pack(t, dir).Name
	}
	first := name(map[string]string{"a": "1", "b/c": "2"}, nil)
	same := name(map[string]string{"a": "1", "b/c": "2"}, func(dir string) {
		if err := errors.Join(os.Chtimes(filepath.Join(dir, "a"), epoch, epoch), os.Chmod(filepath.Join(dir, "a"), 0o600)); err != nil {
			t.Fatal(err)
		}
	})
	if first != same {
		t.Errorf("the same files have the names %s and %s", first, same)
	}
	for what, other := range map[string]string{
		"content":    name(map[string]string{"a": "2", "b/c": "2"}, nil),
		"path":       name(map[string]string{"a": "1", "b/d": "2"}, nil),
		"executable": name(map[string]string{"a": "1", "b/c": "2"}, func(dir string) { _ = os.Chmod(filepath.Join(dir, "a"), 0o755) }),
	} {
		if other == first {
			t.Errorf("a change of the %s does not change the name", what)
		}
	}
}

func TestArchive(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"only/main.py": "print(1)", "only/empty/": ""})
	p := pack(t, dir)
	z, err := zip.OpenReader(p.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	got := map[string]string{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(in)
		got[f.Name] = string(text)
	}
	// The mark keeps Ray from dropping the folder.
	if diff := cmp.Diff(map[string]string{soleFolderMark: "", "only/main.py": "print(1)", "only/empty/": ""}, got); diff != "" {
		t.Error(diff)
	}
	if sent, _ := io.Copy(io.Discard, p.Reader()); sent != p.Size || p.Files != 2 {
		t.Errorf("%d bytes to read, size %d, %d files", sent, p.Size, p.Files)
	}
}

func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	fill(t, dir, map[string]string{"small": "x", "model.bin": string(noise), "data/part": string(noise[:2000])})
	before, _ := filepath.Glob(filepath.Join(os.TempDir(), "raygate-*.zip"))
	_, err := Pack(t.Context(), dir, 4000)
	large, ok := errors.AsType[*TooLargeError](err)
	if !ok || !strings.HasPrefix(strings.Join(large.Largest, " "), "model.bin (2.9 KiB) data/part (2.0 KiB)") {
		t.Errorf("got %v", err)
	}
	if after, _ := filepath.Glob(filepath.Join(os.TempDir(), "raygate-*.zip")); len(after) != len(before) {
		t.Errorf("the archive was left behind: %v", after)
	}
}

// FuzzExclude: no ignore file and no path is a panic, and a line with the path itself excludes it.
func FuzzExclude(f *testing.F) {
	f.Add("*.log\n!keep.log\n", "a/keep.log")
	f.Add("data/**\n[", "data/x")
	f.Fuzz(func(t *testing.T, text, path string) {
		r := parseRules("", text)
		r.exclude(path, true)
		if path == "" || path != filepath.Clean(path) || strings.ContainsAny(path, "\r\n") || path[0] == '/' || !filepath.IsLocal(path) {
			return
		}
		literal := "/"
		for _, c := range []byte(path) {
			if strings.IndexByte(`\*?[]{}! `, c) >= 0 {
				literal += `\`
			}
			literal += string([]byte{c})
		}
		r = parseRules("", text+"\n"+literal)
		if !r.exclude(path, false) {
			t.Errorf("%q does not exclude %q", text+"\n"+literal, path)
		}
	})
}
