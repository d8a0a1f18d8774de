package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/internal/shell"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// versionWithMetadata matches versions of Ray from 2.6.0 on. The CRD has the same expression.
var versionWithMetadata = regexp.MustCompile(`^v?(2\.([6-9]|[1-9][0-9]+)|([3-9]|[1-9][0-9]+)(\.[0-9]+)?)([^0-9].*)?$`)

var rj056 = rule.New(rule.Rule{ID: "RJ-056", Field: "runtimeEnvYAML", Condition: "not YAML for a map", Peer: rule.BySpec})
var rj513 = rule.New(rule.Rule{ID: "RJ-513", Field: "entrypointNumCpus, entrypointNumGpus", Condition: "below 0, which is skipped", Remedy: "is skipped; must be at least 0"})
var rj514 = rule.New(rule.Rule{ID: "RJ-514", Field: "entrypointResources", Condition: "not a JSON map of numbers in HTTPMode (error), in the other modes, or with numbers below 0 (warning)", Peer: rule.ByStep, Mixed: true, Same: []string{"RJ-065"}, Reads: []string{"submissionMode"},
	Remedy: `must be a JSON map of numbers of at least 0, as in {"special": 1}`})
var rj516 = rule.New(rule.Rule{ID: "RJ-516", Field: "metadata", Condition: "set with a rayVersion below 2.6.0 or unreadable, in K8sJobMode or SidecarMode", Peer: rule.ByStep, Same: []string{"RJ-061"}, Reads: []string{"rayClusterSpec.rayVersion", "submissionMode"},
	CEL: []rule.CEL{{Field: ".metadata", Reason: rule.Forbidden, OwnWords: true, Valid: "!has(self.metadata) || size(self.metadata) == 0 || !has(self.submissionMode) || !(self.submissionMode in ['K8sJobMode', 'SidecarMode']) || !has(self.rayClusterSpec) || !has(self.rayClusterSpec.rayVersion)" +
		" || self.rayClusterSpec.rayVersion == '' || self.rayClusterSpec.rayVersion.matches('" + cel.RayFrom26 + "')",
		Says: "needs rayClusterSpec.rayVersion 2.6.0 or later"}}})

// checkJobPayload checks what is sent to Ray together with the job.
func checkJobPayload(out *rule.Report, j *Spec, path *field.Path) {
	checkRuntimeEnv(out, j, path.Child("runtimeEnvYAML"))
	if len(j.spec.Metadata) > 0 && j.submits() && j.Cluster != nil {
		if v := j.Cluster.Spec.RayVersion; v != "" && !versionWithMetadata.MatchString(v) {
			out.Forbidden(rj516, path.Child("metadata"), "needs rayClusterSpec.rayVersion 2.6.0 or later, and it is "+rule.Clipped(v))
		}
	}
	out.When(j.spec.EntrypointNumCpus < 0).Invalid(rj513, path.Child("entrypointNumCpus"), j.spec.EntrypointNumCpus)
	out.When(j.spec.EntrypointNumGpus < 0).Invalid(rj513, path.Child("entrypointNumGpus"), j.spec.EntrypointNumGpus)
	checkEntrypointResources(out, j, path.Child("entrypointResources"))
	checkJobMetadata(out, j, path.Child("metadata"))
	checkJobID(out, j, path.Child("jobId"))
}

// checkEntrypointResources reads the text as the operator does in HTTPMode. In other modes it passes it on, and Ray refuses it.
func checkEntrypointResources(out *rule.Report, j *Spec, path *field.Path) {
	text := j.spec.EntrypointResources
	if text == "" {
		return
	}
	var amounts map[string]float64
	unread := json.Unmarshal([]byte(text), &amounts) != nil
	if unread && j.spec.SubmissionMode == rayv1.HTTPMode {
		out.Invalid(rj514, path, text)
		return
	}
	for _, amount := range amounts {
		unread = unread || amount < 0
	}
	out.When(unread).Maybe().Invalid(rj514, path, text)
}

// runtimeEnvKeys are the top-level keys of a runtime environment that Ray supports.
var runtimeEnvKeys = sets.New("working_dir", "py_modules", "py_executable", "pip", "uv", "conda", "env_vars", "container", "image_uri", "config",
	"java_jars", "java_jvm_options", "excludes", "nsight", "_nsight", "rocprof_sys", "_rocprof_sys", "mpi", "worker_process_setup_hook",
	"_ray_release", "_ray_commit", "_inject_current_ray")

var rj515 = rule.New(rule.Rule{ID: "RJ-515", Field: "runtimeEnvYAML", Condition: "a top-level key that Ray is not known to have, a key given twice, or both pip and conda"})

var rj537 = rule.New(rule.Rule{ID: "RJ-537", Field: "runtimeEnvYAML", Condition: "in HTTPMode, working_dir or an entry of py_modules is no URI"})

func checkRuntimeEnv(out *rule.Report, j *Spec, path *field.Path) {
	text := j.spec.RuntimeEnvYAML
	env, err := metadata.YAMLMap(text)
	if err != nil {
		out.Invalid(rj056, path, text, "must be YAML for a map, as in pip: [numpy]: "+err.Error())
	}
	if len(env) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(env)) {
		out.When(!runtimeEnvKeys.Has(key)).Invalid(rj515, path, key, "is no field of a runtime environment that Ray is known to have; look for a misspelling")
	}
	if j.spec.SubmissionMode == rayv1.HTTPMode { // the submitter of the other modes uploads its local files
		metadata.LocalPackages(env, func(field, local string) {
			out.Invalid(rj537, path, local, field+" must be a URI in HTTPMode, as in https://example.com/app.zip or s3://bucket/app.zip; nobody uploads folders and files")
		})
	}
	_, pip := env["pip"]
	_, conda := env["conda"]
	out.When(pip && conda).Forbidden(rj515, path, "pip and conda exclude each other; list pip packages inside conda")
	var strict map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &strict); err != nil {
		out.Forbidden(rj515, path, "a key is given twice and the last one counts: "+strings.Join(strings.Fields(metadata.PlainYAMLError(err).Error()), " "))
		// One line, because HTTP headers contain the warnings.
	}
}

// maxCommandLine is the longest argument that Linux passes to a program.
const maxCommandLine = 128 << 10

var rj519 = rule.New(rule.Rule{ID: "RJ-519", Field: "metadata", Condition: "characters that cannot be printed, or more than a command line has room for"})

func checkJobMetadata(out *rule.Report, j *Spec, path *field.Path) {
	size := len(j.spec.Entrypoint) + len(j.spec.RuntimeEnvYAML) + len(j.spec.EntrypointResources)
	for _, key := range slices.Sorted(maps.Keys(j.spec.Metadata)) {
		value := j.spec.Metadata[key]
		size += len(key) + len(value)
		out.When(!printable(key) || !printable(value)).Forbidden(rj519, path, "the key or value of "+rule.Clipped(fmt.Sprintf("%q", key))+" has characters that cannot be printed; remove them")
	}
	if size > maxCommandLine && j.submits() {
		out.Forbidden(rj519, path, fmt.Sprintf(
			"metadata, entrypoint, runtimeEnvYAML and entrypointResources take %d bytes; a command line has room for %d", size, maxCommandLine))
	}
}

func printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// maxJobID is the longest submission id.
const maxJobID = 255

var rj517 = rule.New(rule.Rule{ID: "RJ-517", Field: "jobId", Condition: "set with clusterSelector, longer than 255, or with characters that a shell reads"})

func checkJobID(out *rule.Report, j *Spec, path *field.Path) {
	id := j.spec.JobId
	if id == "" {
		return
	}
	out.When(j.selects).Invalid(rj517, path, id, "can run once on the cluster of clusterSelector, since Ray takes each id once; leave it out to get a new one")
	out.When(len(id) > maxJobID).Invalid(rj517, path, id, fmt.Sprintf("has %d characters; use at most %d", len(id), maxJobID))
	out.When(!shell.Plain(id)).Invalid(rj517, path, id, "is passed through a shell; use letters, digits, dashes and underscores")
}
