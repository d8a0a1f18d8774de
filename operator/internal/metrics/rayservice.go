package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// RayService collects metrics about RayServices, with the names and labels of KubeRay 1.7. It lists them from the cache at each
// scrape.
type RayService struct {
	collector
	info, ready, upgrade, stalledReason *prometheus.Desc
}

// NewRayService returns a collector that lists RayServices from reader.
func NewRayService(reader client.Reader) *RayService {
	m := &RayService{collector: collector{reader: reader}}
	m.info = m.desc("kuberay_service_info", "One per RayService.")
	m.ready = m.desc("kuberay_service_condition_ready", "One per RayService, with the value of the condition Ready.", "condition")
	m.upgrade = m.desc("kuberay_service_condition_upgrade_in_progress",
		"One per RayService, with the value of the condition UpgradeInProgress.", "condition")
	m.stalledReason = m.desc("raygate_service_condition_stalled",
		"One per RayService that makes no progress, with the reason of the condition Stalled.", "reason")
	return m
}

// Collect implements prometheus.Collector.
func (m *RayService) Collect(ch chan<- prometheus.Metric) {
	var list rayv1.RayServiceList
	if !m.list(ch, &list) {
		return
	}
	for i := range list.Items {
		rs := &list.Items[i]
		m.gauge(ch, m.info, 1, rs)
		m.gauge(ch, m.ready, 1, rs, is(rs.Status.Conditions, rayv1.RayServiceReady))
		m.gauge(ch, m.upgrade, 1, rs, is(rs.Status.Conditions, rayv1.RayServiceUpgradeInProgress))
		m.stalled(ch, m.stalledReason, rs, rs.Status.Conditions)
	}
}
