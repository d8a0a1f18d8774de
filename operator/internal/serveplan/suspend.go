package serveplan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// suspension goes one step on with a suspension, and reports whether nothing else is to be done. One that has begun is carried out to its
// end, whatever the spec says meanwhile: half of a service is of no use to anybody.
func (s *step) suspension() bool {
	switch {
	case s.is(rayv1.RayServiceSuspending):
		s.suspending()
		return true
	case s.is(rayv1.RayServiceSuspended) && s.spec.Suspend:
		s.st.ObservedGeneration = s.in.Service.Generation // an edit is acted upon by the resumption
		return true
	case s.is(rayv1.RayServiceSuspended):
		s.resume()
		return false
	case s.spec.Suspend:
		s.suspend()
		return true
	}
	return false
}

func (s *step) suspend() {
	const reason, message = rayv1.ReasonSuspendInProgress, "the service is being suspended"
	s.st.ObservedGeneration = s.in.Service.Generation
	s.set(rayv1.RayServiceSuspending, metav1.ConditionTrue, rayv1.ReasonSuspendRequested, message)
	s.setAll(reason, message)
	s.remove(rayv1.RayServiceStalled, rayv1.RayServiceGatewayReady)
	s.forgetClusters()
	s.st.NumServeEndpoints = 0
	s.plan.After = soon
}

// forgetClusters leaves of the status about clusters that there is a Gateway to delete, whatever becomes of the strategy meanwhile.
func (s *step) forgetClusters() {
	routed := s.in.Strategy.Steps
	for _, st := range []*rayv1.RayServiceStatus{&s.st.ActiveServiceStatus, &s.st.PendingServiceStatus} {
		routed = routed || st.TargetCapacity != nil || st.TrafficRoutedPercent != nil
		*st = rayv1.RayServiceStatus{}
	}
	if routed {
		s.st.ActiveServiceStatus.TrafficRoutedPercent = new(int32(0))
	}
}

func (s *step) suspending() {
	s.forgetClusters()
	if len(s.in.Clusters)+s.in.Children > 0 {
		s.set(rayv1.RayServiceSuspending, metav1.ConditionTrue, rayv1.ReasonSuspendInProgress, "clusters and Services are being deleted")
		for _, name := range sortedKeys(s.in.Clusters) {
			if !s.in.Clusters[name].Deleting {
				s.plan.Delete = append(s.plan.Delete, name)
			}
		}
		s.plan.DeleteChildren = true
		s.plan.After = suspendCheck
		return
	}
	const reason, message = rayv1.ReasonSuspendComplete, "the service is suspended"
	s.st.ActiveServiceStatus = rayv1.RayServiceStatus{}
	s.set(rayv1.RayServiceSuspending, metav1.ConditionFalse, reason, message)
	s.set(rayv1.RayServiceSuspended, metav1.ConditionTrue, reason, message)
	s.setAll(reason, message)
	s.plan.After = soon
}

// suspendCheck is how often to see whether everything is gone, besides watching it.
const suspendCheck = 2 * time.Second

func (s *step) setAll(reason, message string) {
	for _, kind := range []string{rayv1.RayServiceReady, rayv1.RayServiceUpgradeInProgress, rayv1.RayServiceRollbackInProgress} {
		s.set(kind, metav1.ConditionFalse, reason, message)
	}
}

// resume begins as if the service were new, and so does the time that it has to come up.
func (s *step) resume() {
	s.set(rayv1.RayServiceSuspended, metav1.ConditionFalse, rayv1.ReasonRayServiceResumed, "the service is resumed")
	s.remove(rayv1.RayServiceReady, rayv1.RayServiceUpgradeInProgress)
	s.set(rayv1.RayServiceReady, metav1.ConditionFalse, rayv1.ReasonRayServiceInitializing, messageInitializing)
	s.set(rayv1.RayServiceUpgradeInProgress, metav1.ConditionFalse, rayv1.ReasonRayServiceInitializing, messageInitializing)
}
