package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raygate/raygate/internal/testing/programs"
)

// local starts the whole product with simulated Ray, as `make up` does, and points raygate at it.
func local(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	dir := filepath.Join(t.TempDir(), "local")
	t.Cleanup(func() { _ = exec.Command(programs.Binary("raygate-local"), "reset", "--dir", dir).Run() })
	if out, err := exec.Command(programs.Binary("raygate-local"), "up", "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("starting the local product (run `make build` first): %v\n%s", err, out)
	}
	settings, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(settings)) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "="); ok && (name == "RAYGATE_GRPC" || name == "KUBECONFIG") {
			t.Setenv(name, strings.Trim(value, "'"))
		}
	}
	t.Setenv("RAYGATE_SERVER", "")
	t.Setenv("RAYGATE_TOKEN", "")
}

// TestSubmit runs commands as jobs: their output and their exit codes are those of raygate.
func TestSubmit(t *testing.T) {
	local(t)
	t.Run("a RayJob", func(t *testing.T) {
		r := raygate("submit", "--name", "good", "--env", "GREETING=hello", "--", "echo $GREETING; sleep 1; echo bye").want(t, 0, "rayjob/good submitted")
		if r.out != "hello\nbye\n" {
			t.Errorf("the log is %q", r.out)
		}
		raygate("get", "job", "good").want(t, 0, "SUCCEEDED")
	})
	t.Run("a RayJob that fails, and is tried again", func(t *testing.T) {
		r := raygate("submit", "--name", "bad", "--backoff-limit", "1", "--", "sh", "-c", "echo try; exit 7").want(t, 7, "attempt 1 has ended", "AppFailed")
		// The cluster of an attempt that failed goes at once, and its log may with it.
		if !strings.HasSuffix(r.out, "try\n") && !strings.Contains(r.errOut, "The log broke off") {
			t.Errorf("the log is %q", r.out)
		}
		raygate("wait", "job/bad").want(t, 4, "WILL_NOT_HAPPEN")
		raygate("stop", "bad").want(t, 1, "JOB_ENDED")
	})
	t.Run("a RayJob that cannot run", func(t *testing.T) {
		raygate("submit", "--name", "late", "--deadline", "1", "--head-gpu", "100000", "--", "true").want(t, 125, "rayjob/late did not run", "DeadlineExceeded")
		raygate("submit", "--workers", "-1", "--", "true").want(t, 2, "workers")
	})
	t.Run("logs before there are any", func(t *testing.T) {
		raygate("submit", "--name", "slow", "--detach", "--", "echo first; sleep 1; echo last").want(t, 0, "raygate logs -f -n default slow")
		if r := raygate("logs", "-f", "slow").want(t, 0); r.out != "first\nlast\n" {
			t.Errorf("the log is %q", r.out)
		}
		if r := raygate("logs", "rayjob/slow", "--tail", "1").want(t, 0); r.out != "last\n" {
			t.Errorf("the end of the log is %q", r.out)
		}
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		var out syncBuffer
		p := startRaygate(t, &out, "submit", "--name", "long", "--", "echo started; sleep 60")
		out.eventually(t, "started", 1)
		if code := p.interrupt(t); code != 130 {
			t.Errorf("exit code %d", code)
		}
		out.eventually(t, "raygate stop -n default long", 1)
		raygate("stop", "long").want(t, 0, "rayjob/long asked to stop")
		raygate("wait", "job", "long").want(t, 0)
		raygate("get", "job", "long").want(t, 0, "STOPPED")

		p = startRaygate(t, &out, "submit", "--name", "longer", "--stop-on-interrupt", "--", "echo going; sleep 60")
		out.eventually(t, "going", 1)
		if code := p.interrupt(t); code != 130 {
			t.Errorf("exit code %d", code)
		}
		raygate("wait", "job", "longer").want(t, 0)
		raygate("get", "job", "longer").want(t, 0, "STOPPED")
	})
	t.Run("a running cluster", func(t *testing.T) {
		raygateWith(manifest("demo"), "create", "-f", "-", "--wait").want(t, 0, "raycluster/demo is ready")
		if r := raygate("submit", "--cluster", "demo", "--name", "mine", "--env", "A=b", "--", "echo $A; exit 3").want(t, 3, "job mine on raycluster/demo submitted"); r.out != "b\n" {
			t.Errorf("the log is %q", r.out)
		}
		raygate("logs", "--cluster", "demo", "mine").want(t, 0, "b\n")
		raygate("submit", "--cluster", "demo", "--name", "mine", "--", "true").want(t, 125, "ALREADY_EXISTS")
		raygate("submit", "--cluster", "demo", "--workers", "1", "--", "true").want(t, 2, "--workers is for a new cluster")
		raygate("submit", "--cluster", "nope", "--", "true").want(t, 125, "NOT_FOUND")
		raygate("submit", "--cluster", "demo", "--detach", "--name", "endless", "--", "sleep 60").want(t, 0)
		raygate("stop", "--cluster", "demo", "endless").want(t, 0)
		raygate("stop", "--cluster", "demo", "never").want(t, 1, "NOT_FOUND")
	})
	t.Run("a cron job", func(t *testing.T) {
		cron := "apiVersion: ray.io/v1\nkind: RayCronJob\nmetadata: {name: nightly}\nspec: {schedule: '0 2 1 1 *', suspend: true, jobTemplate: {entrypoint: 'true', clusterSelector: {ray.io/cluster: demo}}}\n"
		raygateWith(cron, "create", "-f", "-").want(t, 0)
		raygate("trigger", "nightly", "--dry-run").want(t, 0, "created (server dry run)")
		raygate("trigger", "raycronjob/nightly").want(t, 0, "rayjob.ray.io/nightly-")
		raygate("trigger", "job/a").want(t, 2, "cannot be triggered")
	})
	t.Run("the sample of the Go client", func(t *testing.T) {
		out, err := exec.Command("go", "run", "../../samples/clients/go", "echo sampled").Output()
		if err != nil || string(out) != "sampled\n" {
			t.Errorf("it printed %q, %v", out, err)
		}
	})
	t.Run("nonsense", func(t *testing.T) {
		for says, args := range map[string][]string{
			"behind --":                  {"submit"},
			"not a quantity":             {"submit", "--worker-memory", "x", "--", "true"},
			"a number":                   {"submit", "--entrypoint-resources", "a=b", "--", "true"},
			"needs --cluster":            {"submit", "--entrypoint-memory", "1", "--", "true"},
			"/no/such":                   {"submit", "--runtime-env", "/no/such", "--", "true"},
			"unknown --dry-run":          {"submit", "--dry-run=moon", "--", "true"},
			"have no logs of their own":  {"logs", "cluster/demo"},
			"must not be negative":       {"logs", "a", "--tail", "-5"},
			"exclude each other":         {"logs", "--cluster", "demo", "a", "--source", "submitter"},
			"accepts 1 arg":              {"logs"},
			"requires at least 1 arg(s)": {"stop"},
		} {
			raygate(args...).want(t, 2, says)
		}
		raygate("logs", "nope").want(t, 1, "NOT_FOUND")
		raygate("logs", "-f", "nope").want(t, 1, "NOT_FOUND")
		raygate("logs", "good", "--source", "moon").want(t, 1, "source")
	})
}
