package raycli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raygate/raygate/internal/testing/await"
)

// Find returns the folder of Ray's own command line, and installs it from PyPI unless it shall be present. Where that cannot be had the test is skipped.
func Find(t *testing.T, present bool) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../../hack/ray-cli.sh")
	if present {
		cmd.Args = append(cmd.Args, "--present")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if code := (*exec.ExitError)(nil); errors.As(err, &code) && code.ExitCode() == 3 {
		t.Skipf("Ray's own command line is NOT tested: %s", strings.TrimSpace(stderr.String()))
	}
	if err != nil {
		t.Fatalf("finding Ray's command line: %v: %s", err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// command is Ray's own command line with an address and a token.
type command struct {
	t              *testing.T
	bin            string
	address, token string
	authority      string // empty for a gateway without TLS
}

// job runs a command of `ray job`.
func (c command) job(code int, name string, args ...string) string {
	c.t.Helper()
	before := []string{"job", name}
	if c.authority != "" {
		before = append(before, "--verify="+c.authority)
	}
	return c.run(code, "ray", append(before, args...)...)
}

// run runs `ray job`, or a program for Python, and demands an exit code.
func (c command) run(code int, name string, args ...string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	for _, each := range os.Environ() {
		if !strings.HasPrefix(each, "RAY_") {
			cmd.Env = append(cmd.Env, each)
		}
	}
	cmd.Env = append(cmd.Env, "RAY_API_SERVER_ADDRESS="+c.address, "RAY_USAGE_STATS_ENABLED=0", "PYTHONWARNINGS=ignore")
	if c.token != "" {
		headers, _ := json.Marshal(map[string]string{"Authorization": "Bearer " + c.token}) //nolint:errchkjson // text
		cmd.Env = append(cmd.Env, "RAY_JOB_HEADERS="+string(headers))
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		c.t.Fatalf("%s %s: %v, want exit code %d:\n%s", name, strings.Join(args, " "), err, code, out)
	}
	if c.token != "" && bytes.Contains(out, []byte(c.token)) {
		c.t.Errorf("%s %s prints the token", name, strings.Join(args, " "))
	}
	return string(out)
}

// want demands a part of an output.
func (c command) want(output, part string) {
	c.t.Helper()
	if !strings.Contains(output, part) {
		c.t.Errorf("%q is not in:\n%s", part, output)
	}
}

// program uses the SDK.
const program = `
import asyncio, json, os, sys
from ray.job_submission import JobSubmissionClient

async def follow(client, job):
    async for part in client.tail_job_logs(job):
        print(part, end="")

client = JobSubmissionClient(sys.argv[1], headers=json.loads(os.environ["RAY_JOB_HEADERS"]), verify=sys.argv[2] or True)
job = client.submit_job(entrypoint="echo by the SDK", metadata={"who": "me"})
asyncio.run(follow(client, job))
print(client.get_job_status(job), client.get_job_info(job).metadata["who"])
`

// Use runs Ray's own command line and SDK: submit with a working directory, status, logs, list, stop, delete.
func Use(t *testing.T, bin, address, token, authority string) {
	t.Helper()
	c := command{t, bin, address, token, authority}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.txt"), []byte("from the working directory\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := c.job(0, "submit", "--submission-id=cli", "--working-dir="+dir, "--", "cat", "data.txt")
	c.want(out, "from the working directory\n")
	c.want(out, "'cli' succeeded")
	c.want(c.job(0, "status", "cli"), "succeeded")
	c.want(c.job(0, "logs", "cli"), "from the working directory\n")
	c.want(c.job(0, "logs", "--follow", "cli"), "from the working directory\n")
	c.want(c.job(0, "list"), "submission_id='cli'")
	c.want(c.job(1, "submit", "--", "exit", "3"), "failed")
	c.job(0, "submit", "--no-wait", "--submission-id=cli-long", "--", "sleep", "300")
	c.want(c.job(0, "stop", "cli-long"), "was stopped")
	c.job(0, "delete", "cli")
	out = c.run(0, "python", "-c", program, address, authority)
	c.want(out, "by the SDK\n")
	c.want(out, "SUCCEEDED me")
	c.token = ""
	c.want(c.job(1, "list"), "Authentication required")
}
