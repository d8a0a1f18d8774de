package interceptor

import (
	"testing"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
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

// TestNameInTheLog finds the name of what a request is about, wherever it stands.
func TestNameInTheLog(t *testing.T) {
	for want, req := range map[string]any{
		"a": &kuberay.CreateClusterRequest{Cluster: &kuberay.Cluster{Name: "a"}},
		"b": &kuberay.DeleteClusterRequest{Name: "b"},
		"c": &kuberay.StopRayJobSubmissionRequest{Clustername: "x", Submissionid: "c"},
		"d": &raygatev2.CreateClusterRequest{Cluster: &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Name: "d"}}},
		"e": &kuberay.UpdateRayServiceRequest{Name: "of the path", Service: &kuberay.RayService{Name: "e"}}, // the one that is changed
		"f": &raygatev2.UpdateClusterRequest{Name: "f", Cluster: &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Name: ""}}},
		"":  &kuberay.ListAllClustersRequest{},
	} {
		if got := objectName(req); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
