package rayservice

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// stalled reports whether the condition Stalled has the reason.
func stalled(reason string) func(*rayv1.RayService) bool {
	return func(rs *rayv1.RayService) bool {
		c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceStalled)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == reason
	}
}

// TestServiceFollowsTheTemplate also where no cluster changes, and leaves none of an earlier name.
func TestServiceFollowsTheTemplate(t *testing.T) {
	s := newStage(t, 0, storyService())
	s.comesUp()
	find := func(name string) *corev1.Service {
		svc := &corev1.Service{}
		err := s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, svc)
		if apierrors.IsNotFound(err) {
			return nil
		}
		s.must(err)
		return svc
	}
	s.edit(func(spec *rayv1.RayServiceSpec) {
		spec.ServeService = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
	})
	s.until("of another type", func(*rayv1.RayService) bool { return find("demo-serve-svc").Spec.Type == corev1.ServiceTypeNodePort })
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.ServeService.Name = "shop" })
	s.until("renamed", func(*rayv1.RayService) bool { return find("shop") != nil && find("demo-serve-svc") == nil })
	s.until("ready", s.settled)
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.ServeService = nil })
	s.until("renamed back", func(*rayv1.RayService) bool { return find("shop") == nil && find("demo-serve-svc") != nil })
	if s.made != 1 {
		t.Errorf("%d clusters were made", s.made)
	}
}

// TestWhatCannotBeSentIsToldOf, and can be repaired.
func TestWhatCannotBeSentIsToldOf(t *testing.T) {
	s := newStage(t, 0, storyService(func(spec *rayv1.RayServiceSpec) { spec.ServeConfigV2 = "{}" })) // Ray wants applications
	s.until("refused", stalled(rayv1.ReasonServeConfigRefused))
	s.until("told of", func(*rayv1.RayService) bool {
		return strings.Contains(s.told(), "Warning FailedToUpdateServeApplications")
	})
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.ServeConfigV2 = config1 })
	s.comesUp()
	s.until("no longer stalled", func(rs *rayv1.RayService) bool { return !is(rs, rayv1.RayServiceStalled) })
	if n := strings.Count(s.told(), "Warning FailedToUpdateServeApplications"); n != 1 {
		t.Errorf("told of %d times:\n%s", n, s.told())
	}
}

// TestLostAnswerIsNoFailure: Ray has accepted what it did not answer in time.
func TestLostAnswerIsNoFailure(t *testing.T) {
	s := newStage(t, 0, storyService())
	s.dash("demo-c1").LoseAnswers(1)
	s.comesUp()
	if strings.Contains(s.told(), "Warning") {
		t.Errorf("a warning:\n%s", s.told())
	}
}

// TestDeadClusterCanBeReplaced while it is being prepared, and the one in use goes on.
func TestDeadClusterCanBeReplaced(t *testing.T) {
	s := newStage(t, 0, storyService(strategy(rayv1.RayServiceNewCluster)))
	s.comesUp()
	s.mu.Lock()
	s.downs["demo-c2"] = true
	s.mu.Unlock()
	s.edit(image("b"))
	s.until("begun", func(rs *rayv1.RayService) bool { return len(s.clusters()) == 2 })
	for range 100 {
		s.until("looked at", once())
	}
	if rs := s.get(); !is(rs, rayv1.RayServiceReady) || rs.Status.ActiveServiceStatus.RayClusterName != s.first || !strings.Contains(
		meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceUpgradeInProgress).Message, "the head of cluster demo-c2 is not ready") {
		t.Errorf("status %+v", rs.Status)
	}
	s.edit(image("c"))
	s.until("upgraded", func(rs *rayv1.RayService) bool {
		return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName == "demo-c3"
	})
}

// TestHeadLossWithoutFaultTolerance sends the configuration again.
func TestHeadLossWithoutFaultTolerance(t *testing.T) {
	s := newStage(t, 0, storyService())
	s.comesUp()
	s.dash(s.first).ForgetApplications()
	s.until("deployed again", func(*rayv1.RayService) bool { return len(s.dash(s.first).Configs()) == 2 })
	s.until("ready", s.settled)
	if s.made != 1 {
		t.Errorf("%d clusters were made", s.made)
	}
}
