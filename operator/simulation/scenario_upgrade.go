package simulation

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// controls has the user of the RayService pause, hold and abort upgrades.
func (s *scenario) controls(r *rand.Rand) {
	if r.IntN(2) == 0 {
		s.add(r, "upgrades are paused", annotate(rayv1.AnnotationUpgradePaused, "true"))
		if r.IntN(4) > 0 {
			s.steps = append(s.steps, step{span + time.Duration(r.Int64N(int64(3*time.Minute))), "upgrades are resumed", annotate(rayv1.AnnotationUpgradePaused, "false")})
		}
	}
	if r.IntN(2) == 0 {
		weight := []string{"10", "30", "1"}[r.IntN(3)]
		s.add(r, "upgrades stop at "+weight+" percent", annotate(rayv1.AnnotationCanaryWeight, weight))
		if r.IntN(4) > 0 {
			s.steps = append(s.steps, step{span, "canaries are confirmed", func(w *world) { w.confirm() }})
		}
	}
	if r.IntN(3) == 0 {
		s.add(r, "failed upgrades are aborted", annotate(rayv1.AnnotationUpgradeFailureAction, string(rayv1.UpgradeFailureAbort)))
	}
	if r.IntN(2) == 0 {
		s.add(r, "the upgrade is aborted", func(w *world) { w.namePending(rayv1.AnnotationUpgradeAbort) })
	}
}

func annotate(key, value string) func(*world) {
	return edit(kindRayService, demo, func(rs *rayv1.RayService) { metav1.SetMetaDataAnnotation(&rs.ObjectMeta, key, value) })
}

// namePending writes the name of the pending cluster, if there is one, to an annotation.
func (w *world) namePending(key string) {
	rs, ok := w.store.Find(kindRayService, types.NamespacedName{Namespace: namespace, Name: demo}).(*rayv1.RayService)
	if !ok {
		return
	}
	if p := rs.Status.PendingServiceStatus.RayClusterName; p != "" && rs.Annotations[key] != p {
		annotate(key, p)(w)
	}
}

// confirm confirms each canary within a minute.
func (w *world) confirm() {
	w.confirms = true
	w.namePending(rayv1.AnnotationCanaryConfirmed)
	w.after(time.Minute, "confirm", w.confirm)
}

// serviceIsHeld is about a service that stays as it is until its user continues.
func serviceIsHeld(w *world, rs *rayv1.RayService) (string, bool) {
	c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceUpgradePaused)
	p := rs.Status.PendingServiceStatus.RayClusterName
	says := c != nil && c.Status == metav1.ConditionTrue
	if says && w.confirms && c.Reason == rayv1.ReasonCanaryNotConfirmed {
		return "awaits a confirmation that comes", true
	}
	paused := p != "" && rs.Annotations[rayv1.AnnotationUpgradePaused] == "true" && rs.Annotations[rayv1.AnnotationUpgradeAbort] != p
	return unless(says, "is paused and does not say so"), says || paused
}

// serviceIsAborted is about a service that stays on the cluster before the upgrade that its user has given up.
func serviceIsAborted(w *world, rs *rayv1.RayService) (string, bool) {
	done := rs.Status.PendingServiceStatus.RayClusterName == "" && len(w.clustersOf(rs.Name)) == 1 && w.rays.serve(activeOf(rs))
	return unless(done, "has not gone back to %s: %s", activeOf(rs), messages(rs)), meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceUpgradeAborted)
}
