package rayjob

import (
	"encoding/json"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// children are all that is made for a RayJob.
func children(j *rayv1.RayJob) []any {
	rc, err := Cluster(j, Options{SubmitterRestart: strings.Contains(j.Name, "restart")})
	if err != nil {
		return []any{err.Error()}
	}
	list := []any{rc, service.JobHead(j, rc, service.Options{})}
	switch j.Spec.SubmissionMode {
	case rayv1.K8sJobMode:
		submitter, err := job.Submitter(j, rc, pod.Options{})
		if err != nil {
			return []any{err.Error()}
		}
		list = append(list, submitter)
	case rayv1.HTTPMode:
		env, _ := job.RuntimeEnv(j.Spec.RuntimeEnvYAML)
		resources, _ := job.EntrypointResources(j.Spec.EntrypointResources)
		list = append(list, map[string]any{"runtime_env": json.RawMessage(env), "entrypoint_resources": resources})
	}
	return list
}

// TestGoldenChildren has all children in each submission mode.
func TestGoldenChildren(t *testing.T) { golden.Run(t, children) }

func FuzzChildren(f *testing.F) { golden.Fuzz(f, children) }
