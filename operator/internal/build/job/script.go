package job

import (
	"regexp"
	"strconv"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// k8sJobScript survives restarts of its Pod: it submits only what Ray does not have yet, and follows the log from the
// beginning. `ray job logs` ends well however the job ended.
func k8sJobScript(job *rayv1.RayJob) (string, error) {
	address := job.Status.DashboardURL
	if !strings.HasPrefix(address, "http://") {
		address = "http://" + address
	}
	return attachingScript(job, address, address+gcsHealth)
}

// sidecarScript talks to the dashboard of its own Pod. It starts with Ray, and the dashboard refuses a job while the agent of the head, which
// runs it, has not come up. KubeRay 1.7 does not wait for that, and the job of a slow head fails.
func sidecarScript(job *rayv1.RayJob, port, agentPort string, restart bool) (string, error) {
	address := "http://127.0.0.1:" + port
	probed := []string{"http://localhost:" + port + gcsHealth, "http://localhost:" + agentPort + agentHealth}
	if restart {
		return attachingScript(job, address, probed...)
	}
	submit, err := submitLine(job, address, false)
	if err != nil {
		return "", err
	}
	return words(waitLine(probed), submit), nil
}

func attachingScript(job *rayv1.RayJob, address string, probed ...string) (string, error) {
	submit, err := submitLine(job, address, true)
	if err != nil {
		return "", err
	}
	id := word(job.Status.JobId)
	return words(
		waitLine(probed),
		"if ! ray job status --address", word(address), id, ">/dev/null 2>&1 ; then", submit, "fi ;",
		"ray job logs --address", word(address), "--follow", id,
	), nil
}

// probe succeeds when what it asks is healthy. It is in Python, which every image with Ray has, unlike wget or curl.
const probe = `python -c "import sys, urllib.request as r; sys.exit(b'success' not in r.urlopen(sys.argv[1], timeout=10).read())"`

// What is healthy: the GCS as the dashboard sees it, and the agent of a node.
const (
	gcsHealth   = "/api/gcs_healthz"
	agentHealth = "/api/local_raylet_healthz"
)

func waitLine(probed []string) string {
	checks := make([]string, len(probed))
	for i, url := range probed {
		checks[i] = words(probe, word(url), ">/dev/null 2>&1")
	}
	return words("until", strings.Join(checks, " && "), `; do echo "Waiting for the dashboard of the Ray cluster" ; sleep 2 ; done ;`)
}

// submitLine does not quote the entrypoint: as with KubeRay, the shell of the submitter splits it into words, and `ray job
// submit` quotes each of them for the shell of the driver. What is more than one command has to be wrapped by the user;
// rule RJ-504 warns about it.
func submitLine(job *rayv1.RayJob, address string, noWait bool) (string, error) {
	line := []string{"ray job submit --address", word(address)}
	if noWait {
		line = append(line, "--no-wait")
	}
	env, err := RuntimeEnv(job.Spec.RuntimeEnvYAML)
	if err != nil {
		return "", err
	}
	if len(env) > 0 {
		line = append(line, "--runtime-env-json", quotedJSON(string(env)))
	}
	if len(job.Spec.Metadata) > 0 {
		line = append(line, "--metadata-json", quotedJSON(metadataJSON(job.Spec.Metadata)))
	}
	if job.Status.JobId != "" {
		line = append(line, "--submission-id", word(job.Status.JobId))
	}
	if n := job.Spec.EntrypointNumCpus; n > 0 {
		line = append(line, "--entrypoint-num-cpus", decimal(n))
	}
	if n := job.Spec.EntrypointNumGpus; n > 0 {
		line = append(line, "--entrypoint-num-gpus", decimal(n))
	}
	if text := job.Spec.EntrypointResources; text != "" {
		line = append(line, "--entrypoint-resources", quotedJSON(text))
	}
	return words(append(line, "--", strings.TrimSpace(job.Spec.Entrypoint), ";")...), nil
}

func words(w ...string) string { return strings.Join(w, " ") }

func decimal(n float32) string { return strconv.FormatFloat(float64(n), 'f', 6, 64) }

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// word quotes text for the shell where it has to be. Kubernetes, which replaces $(NAME) in arguments, reads $$ as $.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.NewReplacer("'", `'"'"'`, "$", "$$").Replace(text) + "'"
}

// quotedJSON quotes JSON for the shell. KubeRay puts it in double quotes, where the shell replaces $NAME, $(command) and
// back-ticks; and Kubernetes replaces $(NAME) and $$ even between single quotes. So neither a single quote nor a dollar
// sign is left in it: both are written as escapes, which JSON has for strings and which nothing on the way reads.
func quotedJSON(text string) string {
	return "'" + strings.NewReplacer("'", `\u0027`, "$", `\u0024`).Replace(text) + "'"
}
