package pod

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuoted(t *testing.T) {
	cases := map[string]struct{ value, want string }{
		"plain":                         {"0.0.0.0", "0.0.0.0"},
		"empty":                         {"", ""},
		"a blank":                       {"/my data", "'/my data'"},
		"blanks around":                 {" 6379 ", " 6379 "},
		"a command":                     {"1;reboot", "'1;reboot'"},
		"quotes of the user":            {`'{"a b":1}'`, `'{"a b":1}'`},
		"double quotes of the user":     {`"/my data"`, `"/my data"`},
		"escapes of the user":           {`/my\ data`, `/my\ data`},
		"variables of the user":         {"$A $B", "$A $B"},
		"more flags in one":             {"1 --verbose", "1 --verbose"},
		"a bare object":                 {`{"a": 1}`, `'{"a": 1}'`},
		"what looks like one":           {"{", "{"},
		"a bare object with variables":  {`{"a":"$B"}`, `{"a":"$B"}`},
		"labels":                        {"a=b,zone=z1", "a=b,zone=z1"},
		"an object with a single quote": {`{"a'":1}`, `{"a'":1}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, quoted(tc.value)); diff != "" {
				t.Errorf("quoted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStartCommandInAShell lets a shell show the words that Ray gets to see.
func TestStartCommandInAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	dir := fakeRay(t, `printf '%s\n' "$@"`)
	line := startCommand("worker", map[string]string{
		"temp-dir": "/my data", "resources": quoteResources(map[string]float64{"it's": 1}), "system-config": `{"a": "b"}`,
		"redis-password": "$REDIS_PASSWORD", "block": "true", "no-monitor": "False", "log-color": "false",
	})
	cmd := exec.CommandContext(t.Context(), bash, "-c", "--", line)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "REDIS_PASSWORD=secret")
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	want := []string{
		"start", "--block", "--log-color=false", "--redis-password=secret", `--resources={"it\u0027s":1}`, `--system-config={"a": "b"}`, "--temp-dir=/my data",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(got)), "\n")); diff != "" {
		t.Errorf("words of the command (-want +got):\n%s", diff)
	}
}

// TestHeadWaitScript runs the script of the init container with a ray that answers at the second question.
func TestHeadWaitScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	dir := fakeRay(t, `echo "$@" >> "$0.calls"; [ $(wc -l < "$0.calls") -ge 2 ]`)
	cmd := exec.CommandContext(t.Context(), bash, "-c", "--", strings.ReplaceAll(waitScript("head:6379"), "sleep 5", "true"))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "ray.calls"))
	if err != nil {
		t.Fatal(err)
	}
	const call = "health-check --address head:6379\n"
	if diff := cmp.Diff(call+call, string(calls)); diff != "" {
		t.Errorf("calls of ray (-want +got):\n%s", diff)
	}
	if !strings.Contains(string(out), "Waiting for the head at head:6379, ") || !strings.Contains(string(out), "The head is ready.") {
		t.Errorf("want a line about waiting and one about the end, got %s", out)
	}
}

// fakeRay makes a folder with a program named ray.
func fakeRay(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ray"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
