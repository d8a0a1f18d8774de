package submit

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// maxNamePrefix is the length of the beginning of a generated name of a RayJob.
const maxNamePrefix = 41

// ofThisRun are labels and annotations of a RayJob that are not for another run of it.
var ofThisRun = []string{
	corev1.LastAppliedConfigAnnotation, rayv1.LabelCronJobName, rayv1.AnnotationCronJobScheduledTimestamp,
	rayv1.AnnotationRequestID, rayv1.AnnotationRequestHash,
}

// Rerun returns a RayJob that runs an old one again: with its spec, labels and annotations. It is not suspended, and has a submission ID of
// its own. Without a name it gets a generated one. A workingDir replaces that of the runtime environment unless it is empty.
func Rerun(old *rayv1.RayJob, name, workingDir string) (*rayv1.RayJob, error) {
	job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(old.Labels), Annotations: maps.Clone(old.Annotations)}}
	if name == "" {
		job.GenerateName = old.Name[:min(len(old.Name), maxNamePrefix-1)] + "-"
	}
	for _, key := range ofThisRun {
		delete(job.Labels, key)
		delete(job.Annotations, key)
	}
	old.Spec.DeepCopyInto(&job.Spec)
	job.Spec.Suspend, job.Spec.JobId = false, ""
	o := Options{RuntimeEnv: []byte(old.Spec.RuntimeEnvYAML), WorkingDir: workingDir}
	env, err := o.runtimeEnv()
	if err != nil {
		return nil, fmt.Errorf("RayJob %s: %w", old.Name, err)
	}
	if workingDir == "" {
		if dir, _ := env["working_dir"].(string); strings.HasPrefix(dir, "http") && strings.Contains(dir, "/packages/") {
			return nil, fmt.Errorf("the gateway has the files of RayJob %s for this RayJob only; name their folder with --working-dir", old.Name)
		}
		return job, nil
	}
	text, err := yaml.Marshal(env)
	if err != nil {
		return nil, fmt.Errorf("writing the runtime environment: %w", err)
	}
	job.Spec.RuntimeEnvYAML = string(text)
	return job, nil
}
