package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestValidateGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("finding inputs: %v, %d found", err, len(inputs))
	}
	for _, input := range inputs {
		for _, output := range []string{"text", "json"} {
			golden := strings.TrimSuffix(input, ".in.yaml") + ".out." + output
			t.Run(filepath.Base(golden), func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				Run([]string{"validate", "-f", input, "-o", output}, nil, &stdout, &stderr)
				if stderr.Len() > 0 {
					t.Errorf("standard error: %s", stderr.String())
				}
				if *update {
					if err := os.WriteFile(golden, stdout.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), stdout.String()); diff != "" {
					t.Errorf("report (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestExitCodes(t *testing.T) {
	warns := filepath.Join(t.TempDir(), "warns.yaml")
	valid, err := os.ReadFile("testdata/valid.in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	withWarning := strings.Replace(string(valid), "rayStartParams: {}", "rayStartParams: {block: 'true'}", 1)
	if err := os.WriteFile(warns, []byte(withWarning), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args       []string
		stdin      string
		want       int
		wantStderr string
		wantStdout string
	}{
		"valid":                     {args: []string{"validate", "-f", "testdata/valid.in.yaml"}, want: 0, wantStdout: "1 Ray object checked: 0 errors, 0 warnings"},
		"file without flag":         {args: []string{"validate", "testdata/valid.in.yaml"}, want: 0},
		"standard input":            {args: []string{"validate", "-f", "-"}, stdin: string(valid), want: 0, wantStdout: "1 Ray object"},
		"directory":                 {args: []string{"validate", "-f", "testdata"}, want: 1, wantStdout: "testdata/mixed.in.yaml:2 RayCluster team/Demo"},
		"errors":                    {args: []string{"validate", "-f", "testdata/mixed.in.yaml"}, want: 1},
		"warnings pass":             {args: []string{"validate", "-f", warns}, want: 0, wantStdout: "[RC-521]"},
		"warnings as errors":        {args: []string{"validate", "-f", warns, "--warnings-as-errors"}, want: 1},
		"empty input":               {args: []string{"validate", "-f", "-"}, want: 0, wantStdout: "0 Ray objects"},
		"missing file":              {args: []string{"validate", "-f", "testdata/none.yaml"}, want: 2, wantStderr: "none.yaml"},
		"no file":                   {args: []string{"validate"}, want: 2, wantStderr: "-f"},
		"unknown output":            {args: []string{"validate", "-f", "-", "-o", "xml"}, want: 2, wantStderr: "text or json"},
		"unknown gate":              {args: []string{"validate", "-f", "-", "--feature-gates", "Foo=true"}, want: 2, wantStderr: "Foo"},
		"malformed gate":            {args: []string{"validate", "-f", "-", "--feature-gates", "RayClusterMTLS"}, want: 2, wantStderr: "NAME=true"},
		"unknown command":           {args: []string{"frobnicate"}, want: 2, wantStderr: "frobnicate"},
		"words before the command":  {args: []string{"submit", ".", "python", "--", "main.py"}, want: 2, wantStderr: `["python"] before -- has no meaning`},
		"an unknown type of GPU":    {args: []string{"submit", "--head-gpu", "1", "--gpu-type", "rtx", "--dry-run=client", "--", "main.py"}, want: 2, wantStderr: `--gpu-type: "rtx" is not a type of GPU`},
		"a GPU of a cluster's own":  {args: []string{"submit", "--cluster", "demo", "--gpu-type", "a100", "--", "main.py"}, want: 2, wantStderr: "--gpu-type is for a new cluster"},
		"version":                   {args: []string{"version"}, want: 0, wantStdout: "raygate "},
		"help":                      {args: []string{"validate", "--help"}, want: 0, wantStdout: "helm template"},
		"broken YAML":               {args: []string{"validate", "-f", "-"}, stdin: "# one\n\na: [", want: 2, wantStdout: "-:3"},
		"broken YAML next to good":  {args: []string{"validate", "-f", "-"}, stdin: string(valid) + "\n---\na: [", want: 2, wantStdout: "1 Ray object checked: 1 error"},
		"invalid UTF-8":             {args: []string{"validate", "-f", "-"}, stdin: "kind: \"\xff\"", want: 2, wantStdout: "UTF-8"},
		"invalid UTF-8 in JSON":     {args: []string{"validate", "-f", "-"}, stdin: "{\"kind\": \"\xff\"}", want: 2, wantStdout: "UTF-8"},
		"folder without manifests":  {args: []string{"validate", "-f", t.TempDir()}, want: 2, wantStderr: "no file that ends in"},
		"line in standard input":    {args: []string{"validate", "-f", "-"}, stdin: "# one\n---\n" + strings.Replace(string(valid), "{}", "{port: 6379}", 1), want: 1, wantStdout: "  -:9: error: spec.headGroupSpec.rayStartParams[port]: "},
		"repeated key in JSON":      {args: []string{"validate", "-f", "-"}, stdin: `{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"a"},"spec":{"suspend":true,"suspend":false}}`, want: 1, wantStdout: "spec.suspend: the key is there twice"},
		"old version of the group":  {args: []string{"validate", "-f", "-"}, stdin: "apiVersion: ray.io/v2\nkind: RayCluster", want: 1, wantStdout: "use ray.io/v1"},
		"no Kubernetes object":      {args: []string{"validate", "-f", "-"}, stdin: "hello", want: 1, wantStdout: "apiVersion and kind"},
		"a list":                    {args: []string{"validate", "-f", "-"}, stdin: "- x", want: 1, wantStdout: "in an object"},
		"wrong type of apiVersion":  {args: []string{"validate", "-f", "-"}, stdin: "apiVersion: 5\nkind: RayCluster", want: 1, wantStdout: "as text"},
		"quantity that takes hours": {args: []string{"validate", "-f", "-"}, stdin: strings.Replace(string(valid), "headGroupSpec:", "gcsFaultToleranceOptions: {storage: {size: '1e-999999999'}}\n  headGroupSpec:", 1), want: 1, wantStdout: "spec.gcsFaultToleranceOptions.storage.size: \"1e-999999999\" is not a quantity"},
		"number that takes hours":   {args: []string{"validate", "-f", "-"}, stdin: `{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"a"},"spec":{"gcsFaultToleranceOptions":{"storage":{"size":1e-999999999}}}}`, want: 1, wantStdout: "size: Invalid value: \"0\""},
		"wrong type of a parameter": {args: []string{"validate", "-f", "-"}, stdin: strings.Replace(string(valid), "{}", "{port: 6379}", 1), want: 1, wantStdout: "expected string, got number 6379; put it in quotes"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			got := Run(tc.args, strings.NewReader(tc.stdin), &stdout, &stderr)
			if got != tc.want {
				t.Errorf("exit code %d, want %d\n%s%s", got, tc.want, stdout.String(), stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.wantStdout) {
				t.Errorf("standard output %q does not hold %q", stdout.String(), tc.wantStdout)
			}
			if strings.Contains(stdout.String(), "Go value") || strings.Contains(stdout.String(), "Go struct") {
				t.Errorf("standard output %q is about Go", stdout.String())
			}
			if !strings.Contains(stderr.String(), tc.wantStderr) {
				t.Errorf("standard error %q does not hold %q", stderr.String(), tc.wantStderr)
			}
		})
	}
}

// FuzzValidateFile holds that no bytes in a file end the program in another way than by an exit code.
func FuzzValidateFile(f *testing.F) {
	for _, name := range []string{"testdata/mixed.in.yaml", "testdata/valid.in.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("{\"kind\":\"List\",\"items\":[1,null,{}]}\n---\n- a\n--- b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var stdout, stderr bytes.Buffer
		if code := Run([]string{"validate", "-f", "-", "-o", "json"}, bytes.NewReader(data), &stdout, &stderr); code < 0 || code > 2 || strings.Contains(stderr.String(), "panic") {
			t.Errorf("exit code %d: %s", code, stderr.String())
		}
	})
}

func TestPluginOfKubectl(t *testing.T) {
	for program, want := range map[string]string{"/usr/local/bin/kubectl-raygate": "kubectl raygate get", "bin/raygate": "raygate get"} {
		get, _, err := newRoot(program).Find([]string{"get"})
		if err != nil || get.CommandPath() != want {
			t.Errorf("%s is called as %q, %v", program, get.CommandPath(), err)
		}
	}
	for program, want := range map[string][]string{"/bin/kubectl_complete-raygate": {"__complete", "get", ""}, "kubectl-raygate": {"get", ""}} {
		if got := argsOf(program, []string{"get", ""}); !slices.Equal(got, want) {
			t.Errorf("%s has the arguments %q", program, got)
		}
	}
}
