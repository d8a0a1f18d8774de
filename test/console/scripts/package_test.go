package scripts

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPackage reads the archive that a browser makes of a folder.
func TestPackage(t *testing.T) {
	local := httptest.NewServer(http.NotFoundHandler())
	defer local.Close()
	s := scriptAt(t, local.URL, "package")
	s.run(`var file = (path, text) => { const f = new File([text], path.split('/').pop()); Object.defineProperty(f, 'webkitRelativePath', {value: path}); return f; };
		var picked = chosen([file('app/train.py', 'import lib.model'), file('app/lib/model.py', 'x = "grüß"'), file('app/.git/config', ''), file('app/lib/__pycache__/a.pyc', ''), file('app/.gitignore', 'x')]);
		var base64 = async (blob) => btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
		var made; (async () => { const p = await packageOf({files: picked}), sole = await packageOf({files: [{path: 'lib/a.py', file: file('app/lib/a.py', '')}]}); made = {name: p.name, data: await base64(p.blob), sole: await base64(sole.blob)}; })()`)
	var made map[string]any
	for made == nil {
		made, _ = s.get("made", nil).(map[string]any)
	}
	files := func(field string) (map[string]string, []byte) {
		data, err := base64.StdEncoding.DecodeString(made[field].(string))
		if err != nil {
			t.Fatal(err)
		}
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, f := range archive.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r) // which checks the sum
			if err != nil || f.Mode() != 0o755 {
				t.Errorf("%s: %v, %v", f.Name, f.Mode(), err)
			}
			found[f.Name] = string(text)
		}
		return found, data
	}
	got, data := files("data")
	if diff := cmp.Diff(map[string]string{".gitignore": "x", "lib/model.py": `x = "grüß"`, "train.py": "import lib.model"}, got); diff != "" {
		t.Error(diff)
	}
	if want := fmt.Sprintf("_ray_pkg_%x.zip", sha256.Sum256(data)); made["name"] != want {
		t.Errorf("the name is %s, want %s", made["name"], want)
	}
	if sole, _ := files("sole"); len(sole) != 2 {
		t.Errorf("a folder alone has nothing beside it: %v", sole)
	}
	if diff := cmp.Diff([]any{".gitignore"}, s.get("ignoring(picked)", nil)); diff != "" {
		t.Error(diff)
	}
}

func TestWorkingDirOfPackage(t *testing.T) {
	s := scriptOf(t, "package")
	for env, want := range map[string]string{
		"": "working_dir: \"gcs://a\"\n", "pip: [x]\n": "pip: [x]\nworking_dir: \"gcs://a\"\n", `{"pip": ["x"]}`: `{"pip":["x"],"working_dir":"gcs://a"}`,
		"working_dir: b": "error", `{"working_dir": "b"}`: "error", "{pip: [x]}": "error",
	} {
		if got := s.get(`(() => { try { return withWorkingDir(env, 'gcs://a') } catch { return 'error' } })()`, object{"env": env}); got != want {
			t.Errorf("%q becomes %q", env, got)
		}
	}
}
