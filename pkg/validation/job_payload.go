package validation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// versionWithMetadata matches versions of Ray from 2.6.0 on. The CRD has the same expression.
var versionWithMetadata = regexp.MustCompile(`^v?(2\.([6-9]|[1-9][0-9]+)|([3-9]|[1-9][0-9]+)(\.[0-9]+)?)([^0-9].*)?$`)

// validateJobPayload checks what is given to Ray together with the job.
func validateJobPayload(j *job, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := yamlMap(j.spec.RuntimeEnvYAML); err != nil {
		errs = append(errs, invalid("RJ-056", path.Child("runtimeEnvYAML"), clipped(j.spec.RuntimeEnvYAML), "must be YAML for a map, as in pip: [numpy]: "+err.Error()))
	}
	if len(j.spec.Metadata) > 0 && j.submits() && j.cluster != nil {
		if v := j.cluster.spec.RayVersion; v != "" && !versionWithMetadata.MatchString(v) {
			errs = append(errs, forbidden("RJ-516", path.Child("metadata"), "needs rayClusterSpec.rayVersion 2.6.0 or later, and it is "+clipped(v)))
		}
	}
	if n := j.spec.EntrypointNumCpus; n < 0 {
		errs = append(errs, invalid("RJ-513", path.Child("entrypointNumCpus"), n, "is skipped; must be at least 0"))
	}
	if n := j.spec.EntrypointNumGpus; n < 0 {
		errs = append(errs, invalid("RJ-513", path.Child("entrypointNumGpus"), n, "is skipped; must be at least 0"))
	}
	if _, read := entrypointResources(j); !read && j.spec.SubmissionMode == rayv1.HTTPMode {
		errs = append(errs, invalid("RJ-514", path.Child("entrypointResources"), clipped(j.spec.EntrypointResources), resourcesRemedy))
	}
	return errs
}

const resourcesRemedy = `must be a JSON map of numbers of at least 0, as in {"special": 1}`

// entrypointResources reads the text as the operator does in HTTPMode. Empty text gives no amounts.
func entrypointResources(j *job) (amounts map[string]float64, read bool) {
	if j.spec.EntrypointResources == "" {
		return nil, true
	}
	err := json.Unmarshal([]byte(j.spec.EntrypointResources), &amounts)
	return amounts, err == nil
}

// warnEntrypointResources tells of what Ray refuses, which the operator passes on.
func warnEntrypointResources(j *job, path *field.Path) field.ErrorList {
	amounts, read := entrypointResources(j)
	negative := false
	for _, amount := range amounts {
		negative = negative || amount < 0
	}
	if read && !negative || !read && j.spec.SubmissionMode == rayv1.HTTPMode {
		return nil
	}
	return field.ErrorList{invalid("RJ-514", path, clipped(j.spec.EntrypointResources), resourcesRemedy)}
}

// yamlMap reads YAML for a map. Empty text gives an empty map. Keys that are given twice are no error here.
func yamlMap(text string) (map[string]any, error) {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		return nil, plainYAMLError(err)
	}
	return m, nil
}

// plainYAMLError keeps names of Go types out of what users see.
func plainYAMLError(err error) error {
	if _, text, ok := strings.Cut(err.Error(), "yaml: "); ok {
		return errors.New(clipped(strings.TrimPrefix(text, "unmarshal errors:\n  ")))
	}
	return errors.New("it is something else")
}

// runtimeEnvKeys are what Ray knows at the top of a runtime environment.
var runtimeEnvKeys = paramSet("working_dir", "py_modules", "py_executable", "pip", "uv", "conda", "env_vars", "container", "image_uri", "config",
	"java_jars", "java_jvm_options", "excludes", "nsight", "_nsight", "rocprof_sys", "_rocprof_sys", "mpi", "worker_process_setup_hook",
	"_ray_release", "_ray_commit", "_inject_current_ray")

func warnJobPayload(j *job, path *field.Path) field.ErrorList {
	warnings := warnRuntimeEnv(j.spec.RuntimeEnvYAML, path.Child("runtimeEnvYAML"))
	warnings = append(warnings, warnEntrypointResources(j, path.Child("entrypointResources"))...)
	warnings = append(warnings, warnJobMetadata(j, path.Child("metadata"))...)
	return append(warnings, warnJobID(j, path.Child("jobId"))...)
}

func warnRuntimeEnv(text string, path *field.Path) field.ErrorList {
	env, err := yamlMap(text)
	if err != nil || len(env) == 0 {
		return nil
	}
	var warnings field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(env)) {
		if !runtimeEnvKeys[key] {
			warnings = append(warnings, invalid("RJ-515", path, clipped(key), "is no field of a runtime environment that Ray is known to have; look for a misspelling"))
		}
	}
	_, pip := env["pip"]
	_, conda := env["conda"]
	if pip && conda {
		warnings = append(warnings, forbidden("RJ-515", path, "pip and conda exclude each other; list pip packages inside conda"))
	}
	var strict map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &strict); err != nil {
		warnings = append(warnings, forbidden("RJ-515", path, "a key is given twice and the last one counts: "+strings.Join(strings.Fields(plainYAMLError(err).Error()), " "))) // one line: HTTP headers hold warnings
	}
	return warnings
}

// maxCommandLine is the longest argument that Linux passes to a program.
const maxCommandLine = 128 << 10

func warnJobMetadata(j *job, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	size := len(j.spec.Entrypoint) + len(j.spec.RuntimeEnvYAML) + len(j.spec.EntrypointResources)
	for _, key := range slices.Sorted(maps.Keys(j.spec.Metadata)) {
		value := j.spec.Metadata[key]
		size += len(key) + len(value)
		if !printable(key) || !printable(value) {
			warnings = append(warnings, forbidden("RJ-519", path, "the key or value of "+clipped(fmt.Sprintf("%q", key))+" has characters that cannot be printed; remove them"))
		}
	}
	if size > maxCommandLine && j.submits() {
		warnings = append(warnings, forbidden("RJ-519", path, fmt.Sprintf(
			"metadata, entrypoint, runtimeEnvYAML and entrypointResources take %d bytes; a command line has room for %d", size, maxCommandLine)))
	}
	return warnings
}

func printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// maxJobID is the longest submission id.
const maxJobID = 255

func warnJobID(j *job, path *field.Path) field.ErrorList {
	id := j.spec.JobId
	if id == "" {
		return nil
	}
	var warnings field.ErrorList
	if j.selects {
		warnings = append(warnings, invalid("RJ-517", path, clipped(id), "can run once on the cluster of clusterSelector, since Ray takes each id once; leave it out to get a new one"))
	}
	if len(id) > maxJobID {
		warnings = append(warnings, invalid("RJ-517", path, clipped(id), fmt.Sprintf("has %d characters; use at most %d", len(id), maxJobID)))
	}
	if unquotedMeta(id) || byShell(id) {
		warnings = append(warnings, invalid("RJ-517", path, clipped(id), "is passed through a shell; use letters, digits, dashes and underscores"))
	}
	return warnings
}
