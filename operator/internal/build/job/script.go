package job

import (
	"regexp"
	"strconv"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// k8sJobScript survives restarts of its Pod: it submits the job only if Ray does not have it yet, and follows the log from the
// beginning. `ray job logs` succeeds even if the job failed.
func k8sJobScript(job *rayv1.RayJob) (string, error) {
	address := job.Status.DashboardURL
	if !strings.HasPrefix(address, "http://") {
		address = "http://" + address
	}
	return attachingScript(job, address, address+gcsHealth)
}

// sidecarScript uses the dashboard in its own Pod. The container starts together with Ray, and the dashboard rejects a job until
// the head's agent, which runs it, is up. KubeRay 1.7 does not wait for the agent, so a job on a slow head fails.
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

// probe succeeds if the URL reports success. It uses Python, which every Ray image has, unlike wget or curl.
const probe = `python -c "import sys, urllib.request as r; sys.exit(b'success' not in r.urlopen(sys.argv[1], timeout=10).read())"`

// Health checks: the GCS, through the dashboard, and the node's agent.
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

// submitLine does not quote the entrypoint. As with KubeRay, the submitter's shell splits it into words, and `ray job submit`
// quotes each word for the driver's shell. Users must wrap more than one command; rule RJ-504 warns about it.
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

// word quotes text for the shell if necessary. A dollar sign is doubled because Kubernetes replaces $(NAME) in arguments and reads
// $$ as $.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.NewReplacer("'", `'"'"'`, "$", "$$").Replace(text) + "'"
}

// quotedJSON quotes JSON for the shell. KubeRay uses double quotes, in which the shell replaces $NAME, $(command) and back-ticks.
// Kubernetes replaces $(NAME) and $$ even in single quotes. So single quotes and dollar signs are written as JSON escapes, which
// neither the shell nor Kubernetes interprets.
func quotedJSON(text string) string {
	return "'" + strings.NewReplacer("'", `\u0027`, "$", `\u0024`).Replace(text) + "'"
}
