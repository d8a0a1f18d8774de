package raycluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/podexec"
)

func TestNameHead(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.UID("one"))
	name := func(rc *rayv1.RayCluster, meta metav1.ObjectMeta) metav1.ObjectMeta {
		p := &corev1.Pod{ObjectMeta: meta}
		nameHead(p, rc)
		return p.ObjectMeta
	}
	generated := name(rc, metav1.ObjectMeta{GenerateName: "demo-head-"})
	if len(generated.Name) != len("demo-head-")+5 || generated.Name[:10] != "demo-head-" || generated.GenerateName != "" {
		t.Errorf("name %q and prefix %q, want a name of the form that the API server generates", generated.Name, generated.GenerateName)
	}
	if again := name(rc, metav1.ObjectMeta{GenerateName: "demo-head-"}); again.Name != generated.Name {
		t.Errorf("names %q and %q, want the same for one cluster", generated.Name, again.Name)
	}
	if other := name(raytest.RayCluster("ns/demo", raytest.UID("two")), metav1.ObjectMeta{GenerateName: "demo-head-"}); other.Name == generated.Name {
		t.Errorf("name %q for two clusters", other.Name)
	}
	if own := name(rc, metav1.ObjectMeta{Name: "mine", GenerateName: "demo-head-"}); own.Name != "mine" {
		t.Errorf("name %q, want that of the template", own.Name)
	}
}

func TestJoinFailures(t *testing.T) {
	if joinFailures(nil) != nil {
		t.Error("nothing failed")
	}
	workers := podexec.Failure{Reason: rayv1.ReasonFailedCreateWorkerPod, Message: "b"}
	got := joinFailures([]podexec.Failure{
		workers, {Reason: rayv1.ReasonFailedDeleteWorkerPod, Message: "d"}, {Reason: rayv1.ReasonFailedCreateWorkerPod, Message: "a"}, workers,
		{Reason: rayv1.ReasonFailedCreateHeadPod, Message: "z"},
	})
	want := &podexec.Failure{Reason: rayv1.ReasonFailedCreateHeadPod, Message: "z; a; b; d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	got = joinFailures([]podexec.Failure{{Reason: rayv1.ReasonFailedCreateHeadPod, Message: "a"}, {Reason: rayv1.ReasonFailedCreateHeadService, Message: "z"}})
	if got.Reason != rayv1.ReasonFailedCreateHeadService || got.Message != "z; a" {
		t.Errorf("failure %+v, want that of the Service first", got)
	}
}
