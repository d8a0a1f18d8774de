package raysim

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func archive(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestUploadedWorkingDir: what a client uploads as its working directory, the entrypoint finds there.
func TestUploadedWorkingDir(t *testing.T) {
	_, url := head(t, Options{})
	const path = "/api/packages/gcs/_ray_pkg_0123.zip"
	if code, _, _ := call(t, "PUT", url+path, archive(t, map[string]string{"sub/main.sh": "echo from the package\n"})); code != 200 {
		t.Fatalf("uploading: %d", code)
	}
	if code, _, _ := call(t, "GET", url+path, ""); code != 200 {
		t.Errorf("the package is not there: %d", code)
	}
	body := `{"submission_id":"j","entrypoint":"sh sub/main.sh","runtime_env":{"working_dir":"gcs://_ray_pkg_0123.zip"}}`
	if code, text, _ := call(t, "POST", url+"/api/jobs/", body); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	await(t, url, "j", Succeeded)
	if got := logOf(t, url, "j"); got != "from the package\n" {
		t.Errorf("log %q", got)
	}
	for _, bad := range []string{"/api/packages/http/x.zip", "/api/packages/gcs/..%2Fx.zip"} {
		if code, _, _ := call(t, "PUT", url+bad, "x"); code != 500 {
			t.Errorf("%s: want 500, got %d", bad, code)
		}
	}
}

// TestUnzipStaysInside: a name in an archive cannot lead out of the working directory.
func TestUnzipStaysInside(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "in")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.zip")
	if err := os.WriteFile(path, []byte(archive(t, map[string]string{"../out": "x"})), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unzip(path, inside, false); err == nil {
		t.Error("want an error")
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("a file was written outside")
	}
}
