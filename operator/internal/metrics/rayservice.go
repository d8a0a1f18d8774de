package metrics

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// RayService are the metrics about RayServices, with the names and labels of KubeRay 1.7. It lists them from the cache when it is scraped.
type RayService struct {
	reader               client.Reader
	info, ready, upgrade *prometheus.Desc
}

// NewRayService returns metrics about what the reader lists.
func NewRayService(reader client.Reader) *RayService {
	object := []string{"name", "namespace", "uid"}
	return &RayService{
		reader: reader,
		info:   prometheus.NewDesc("kuberay_service_info", "One per RayService.", object, nil),
		ready: prometheus.NewDesc("kuberay_service_condition_ready",
			"One per RayService, with the value of the condition Ready.", append(object, "condition"), nil),
		upgrade: prometheus.NewDesc("kuberay_service_condition_upgrade_in_progress",
			"One per RayService, with the value of the condition UpgradeInProgress.", append(object, "condition"), nil),
	}
}

// Describe implements prometheus.Collector.
func (m *RayService) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.info
	ch <- m.ready
	ch <- m.upgrade
}

// Collect implements prometheus.Collector.
func (m *RayService) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var list rayv1.RayServiceList
	if err := m.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ch <- prometheus.NewInvalidMetric(m.info, err)
		return
	}
	for i := range list.Items {
		rs := &list.Items[i]
		object := []string{rs.Name, rs.Namespace, string(rs.UID)}
		is := func(kind string) string {
			return strconv.FormatBool(meta.IsStatusConditionTrue(rs.Status.Conditions, kind))
		}
		ch <- one(m.info, object...)
		ch <- one(m.ready, append(object, is(rayv1.RayServiceReady))...)
		ch <- one(m.upgrade, append(object, is(rayv1.RayServiceUpgradeInProgress))...)
	}
}
