package serveplan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func suspendWanted(s *step) bool { return s.spec.Suspend }

// suspend begins a suspension. One that has begun always completes, because half a service is useless.
func (s *step) suspend() {
	const reason, message = rayv1.ReasonSuspendInProgress, "the service is being suspended"
	s.set(rayv1.RayServiceSuspending, metav1.ConditionTrue, rayv1.ReasonSuspendRequested, message)
	s.setAll(reason, message)
	s.remove(rayv1.RayServiceStalled, rayv1.RayServiceGatewayReady, rayv1.RayServiceCanaryAnalysis, rayv1.RayServiceUpgradePaused, rayv1.RayServiceUpgradeAborted)
	s.forgetClusters()
	s.st.NumServeEndpoints = 0
	s.plan.After = soon
}

// forgetClusters clears the clusters in the status. It keeps the mark that a Gateway has to be deleted, even if the strategy
// changes.
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

func objectsLeft(s *step) bool { return len(s.in.Clusters)+s.in.Children > 0 }

func (s *step) deleteObjects() {
	s.forgetClusters()
	s.set(rayv1.RayServiceSuspending, metav1.ConditionTrue, rayv1.ReasonSuspendInProgress, "clusters and Services are being deleted")
	for _, name := range sortedKeys(s.in.Clusters) {
		if !s.in.Clusters[name].Deleting {
			s.plan.Delete = append(s.plan.Delete, name)
		}
	}
	s.plan.DeleteChildren = true
	s.plan.After = suspendCheck
}

func (s *step) endSuspension() {
	const reason, message = rayv1.ReasonSuspendComplete, "the service is suspended"
	s.st.ActiveServiceStatus, s.st.PendingServiceStatus = rayv1.RayServiceStatus{}, rayv1.RayServiceStatus{}
	s.set(rayv1.RayServiceSuspending, metav1.ConditionFalse, reason, message)
	s.set(rayv1.RayServiceSuspended, metav1.ConditionTrue, reason, message)
	s.setAll(reason, message)
	s.plan.After = soon
}

// suspendCheck is the interval of checks whether all objects are gone, in addition to watches.
const suspendCheck = 2 * time.Second

func (s *step) setAll(reason, message string) {
	for _, kind := range []string{rayv1.RayServiceReady, rayv1.RayServiceUpgradeInProgress, rayv1.RayServiceRollbackInProgress} {
		s.set(kind, metav1.ConditionFalse, reason, message)
	}
}

// resume sets the conditions of a new service, and so restarts the initializing timeout.
func (s *step) resume() {
	s.set(rayv1.RayServiceSuspended, metav1.ConditionFalse, rayv1.ReasonRayServiceResumed, "the service is resumed")
	s.remove(rayv1.RayServiceReady, rayv1.RayServiceUpgradeInProgress)
	s.set(rayv1.RayServiceReady, metav1.ConditionFalse, rayv1.ReasonRayServiceInitializing, messageInitializing)
	s.set(rayv1.RayServiceUpgradeInProgress, metav1.ConditionFalse, rayv1.ReasonRayServiceInitializing, messageInitializing)
}
