package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestServeLabel(t *testing.T) {
	own := raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.HeadGroupSpec.Template.Labels = map[string]string{rayv1.LabelServe: "user"}
		s.WorkerGroupSpecs[0].Labels = map[string]string{rayv1.LabelServe: "user"}
	})
	for creator, want := range map[string][]string{"RayService": {"false", "true"}, "RayJob": {"user", "user"}, "": {"user", "user"}} {
		head, worker := buildBoth(Options{}, own, raytest.Labels(map[string]string{rayv1.LabelOriginatedFromCRD: creator}))
		if diff := cmp.Diff(want, []string{head.Labels[rayv1.LabelServe], worker.Labels[rayv1.LabelServe]}); diff != "" {
			t.Errorf("labels of head and worker made by %q (-want +got):\n%s", creator, diff)
		}
	}
}

func TestUserLabels(t *testing.T) {
	_, worker := buildBoth(Options{}, raytest.Spec(func(s *rayv1.RayClusterSpec) {
		g := &s.WorkerGroupSpecs[0]
		g.Template.Labels = map[string]string{"a": "template", "b": "template", rayv1.LabelIsRayNode: "no", rayv1.LabelCluster: "x"}
		g.Labels = map[string]string{"b": "group", rayv1.LabelCreatedBy: "me", rayv1.LabelGroup: "x", rayv1.LabelNodeType: "x"}
	}))
	want := map[string]string{
		"a": "template", "b": "group", rayv1.LabelIsRayNode: "no", rayv1.LabelCreatedBy: "me", rayv1.LabelAppName: "kuberay",
		rayv1.LabelCluster: "demo", rayv1.LabelGroup: "cpu", rayv1.LabelNodeType: "worker", rayv1.LabelIdentifier: "demo-worker",
	}
	if diff := cmp.Diff(want, worker.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestMetadataOfTheTemplate(t *testing.T) {
	user := metav1.ObjectMeta{
		Name: "mine", GenerateName: "x-", Namespace: "x", UID: "x", ResourceVersion: "7", Finalizers: []string{"a/b"},
		OwnerReferences: []metav1.OwnerReference{{Name: "x"}},
	}
	both := raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.HeadGroupSpec.Template.ObjectMeta, s.WorkerGroupSpecs[0].Template.ObjectMeta = user, user
	})
	head, worker := buildBoth(Options{}, both)
	deterministic, _ := buildBoth(Options{DeterministicHeadName: true}, both)
	owners := []metav1.OwnerReference{{
		APIVersion: "ray.io/v1", Kind: "RayCluster", Name: "demo", UID: "uid-of-ns-demo", Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	want := map[string]metav1.ObjectMeta{
		"head":               {Name: "mine", GenerateName: "demo-head-"},
		"deterministic head": {Name: "demo-head"},
		"worker":             {GenerateName: "demo-cpu-worker-"},
	}
	for name, m := range want {
		m.Namespace, m.Finalizers, m.OwnerReferences = "ns", user.Finalizers, owners
		want[name] = m
	}
	got := map[string]metav1.ObjectMeta{"head": head.ObjectMeta, "deterministic head": deterministic.ObjectMeta, "worker": worker.ObjectMeta}
	for name, m := range got {
		m.Labels, m.Annotations = nil, nil
		got[name] = m
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata but labels and annotations (-want +got):\n%s", diff)
	}
}
