package submit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func TestRerun(t *testing.T) {
	old := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: strings.Repeat("a", 47), Namespace: "ns", UID: "u", ResourceVersion: "7", Finalizers: []string{rayv1.FinalizerRayJob},
			Labels:      map[string]string{rayv1.LabelKueueQueue: "team-a", rayv1.LabelCronJobName: "nightly"},
			Annotations: map[string]string{rayv1.AnnotationUser: "a@b", corev1.LastAppliedConfigAnnotation: "{}"},
		},
		Spec: rayv1.RayJobSpec{
			Entrypoint: "python train.py", JobId: "fixed", Suspend: true, RuntimeEnvYAML: "env_vars: {A: '1'}\nworking_dir: s3://b/w.zip\n",
			ClusterSelector: map[string]string{rayv1.LabelCluster: "demo"}, BackoffLimit: new(int32(2)),
		},
		Status: rayv1.RayJobStatus{JobId: "x", JobStatus: rayv1.JobStatusFailed},
	}
	want := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: strings.Repeat("a", 40) + "-", Labels: map[string]string{rayv1.LabelKueueQueue: "team-a"}, Annotations: map[string]string{rayv1.AnnotationUser: "a@b"},
		},
		Spec: rayv1.RayJobSpec{
			Entrypoint: "python train.py", RuntimeEnvYAML: old.Spec.RuntimeEnvYAML, ClusterSelector: map[string]string{rayv1.LabelCluster: "demo"}, BackoffLimit: new(int32(2)),
		},
	}
	got, err := Rerun(old, "", "")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	got, err = Rerun(old, "again", "http://gateway/packages/y.zip")
	if err != nil || got.Name != "again" || got.GenerateName != "" || got.Spec.RuntimeEnvYAML != "env_vars:\n  A: \"1\"\nworking_dir: http://gateway/packages/y.zip\n" {
		t.Errorf("%v, %+v", err, got)
	}
	if _, err := Rerun(got, "", ""); err == nil || !strings.Contains(err.Error(), "--working-dir") {
		t.Errorf("files of an ended job: %v", err)
	}
}
