package interceptor

import (
	"testing"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// TestObjectName has a message whose metadata is no object's.
func TestObjectName(t *testing.T) {
	for want, req := range map[string]any{
		"mine": &raygatev2.StopSubmissionRequest{SubmissionId: "mine"}, "demo": &raygatev2.CreateJobRequest{Job: &raygatev2.RayJob{Metadata: &raygatev2.ObjectMeta{Name: "demo"}}},
		"": &raygatev2.CreateSubmissionRequest{Submission: &raygatev2.Submission{Metadata: map[string]string{"name": "x"}}},
	} {
		if got := objectName(req); got != want {
			t.Errorf("%T: %q, want %q", req, got, want)
		}
	}
}
