package metrics

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// NewRayService returns a collector that lists RayServices from reader. Names and labels are those of KubeRay 1.7.
func NewRayService(reader client.Reader) *Collector[*rayv1.RayService] {
	m := &Collector[*rayv1.RayService]{reader: reader, list: &rayv1.RayServiceList{}}
	m.add("kuberay_service_info", "One per RayService.", func(_ *rayv1.RayService, send sender) { send(1) })
	m.add("kuberay_service_condition_ready", "One per RayService, with the value of the condition Ready.",
		func(rs *rayv1.RayService, send sender) { send(1, is(rs.Status.Conditions, rayv1.RayServiceReady)) }, "condition")
	m.add("kuberay_service_condition_upgrade_in_progress", "One per RayService, with the value of the condition UpgradeInProgress.",
		func(rs *rayv1.RayService, send sender) {
			send(1, is(rs.Status.Conditions, rayv1.RayServiceUpgradeInProgress))
		}, "condition")
	m.add("raygate_service_condition_stalled", "One per RayService that makes no progress, with the reason of the condition Stalled.",
		func(rs *rayv1.RayService, send sender) { stalled(rs.Status.Conditions, send) }, "reason")
	return m
}
