package metrics

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/objectmap"
)

// RayCluster collects metrics about RayClusters.
type RayCluster struct {
	Collector[*rayv1.RayCluster]
	invalid              prometheus.Gauge
	violations, warnings *prometheus.CounterVec
	provisioning         prometheus.Histogram
	durations            objectmap.Map[struct{}, float64]
}

// NewRayCluster returns a collector that reads clusters from reader, which must be a cache.
func NewRayCluster(reader client.Reader) *RayCluster {
	m := &RayCluster{
		Collector: Collector[*rayv1.RayCluster]{reader: reader, list: &rayv1.RayClusterList{}},
		invalid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "raygate_invalid_objects", Help: "Objects whose spec is refused at present.", ConstLabels: prometheus.Labels{"kind": "RayCluster"},
		}),
		violations: counter("raygate_validation_failures_total", "Broken rules of objects, once per version of an object."),
		warnings:   counter("raygate_validation_warnings_total", "Rules that only warn, once per version of an object."),
		provisioning: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "raygate_cluster_provisioning_seconds", Buckets: longBuckets,
			Help: "Seconds from the creation of a RayCluster until RayClusterProvisioned became True for the first time.",
		}),
	}
	m.others, m.listed = []prometheus.Collector{m.invalid, m.violations, m.warnings, m.provisioning}, m.count
	m.add("kuberay_cluster_info", "One per RayCluster, with the kind of object that it was made for.",
		func(rc *rayv1.RayCluster, send sender) { send(1, ownerKind(rc)) }, "owner_kind")
	m.add("kuberay_cluster_condition_provisioned", "One per RayCluster, with the value of the condition RayClusterProvisioned.",
		func(rc *rayv1.RayCluster, send sender) {
			send(1, is(rc.Status.Conditions, rayv1.RayClusterProvisioned))
		}, "condition")
	m.add("raygate_cluster_suspended", "One per RayCluster whose spec requests suspension, for example while it waits in a queue of Kueue.", sendSuspended)
	m.add("raygate_cluster_condition_stalled", "One per RayCluster that makes no progress, with the reason of the condition Stalled.",
		func(rc *rayv1.RayCluster, send sender) { stalled(rc.Status.Conditions, send) }, "reason")
	m.add("raygate_cluster_waits", "One per RayCluster that waits for a node, scheduling gates or a quota, with the reason of the condition Reconciling.",
		func(rc *rayv1.RayCluster, send sender) { waits(rc.Status.Conditions, send) }, "reason")
	m.add("kuberay_cluster_provisioned_duration_seconds",
		"Seconds from the creation of the RayCluster until RayClusterProvisioned became True for the first time.", m.sendDuration)
	return m
}

// longBuckets are the buckets of durations that take from seconds to a day, in seconds.
var longBuckets = []float64{5, 15, 30, 60, 120, 300, 600, 1800, 3600, 3 * 3600, 8 * 3600, 24 * 3600}

// counter counts verdicts by the layer that gave them; this process is the layer "controller".
func counter(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: name, Help: help, ConstLabels: prometheus.Labels{"layer": "controller"},
	}, []string{"kind", "rule"})
}

// ObserveProvisioned records that the cluster became provisioned for the first time, after this duration since its creation.
func (m *RayCluster) ObserveProvisioned(rc *rayv1.RayCluster, after time.Duration) {
	m.durations.Set(rc.UID, struct{}{}, after.Seconds())
	m.provisioning.Observe(after.Seconds())
}

// ObserveViolation counts one broken rule of a RayCluster. An empty id counts as unknown.
func (m *RayCluster) ObserveViolation(rule string) { observe(m.violations, rule) }

// ObserveWarning counts one warning about a RayCluster. An empty id counts as unknown.
func (m *RayCluster) ObserveWarning(rule string) { observe(m.warnings, rule) }

func observe(c *prometheus.CounterVec, rule string) {
	c.WithLabelValues("RayCluster", cmp.Or(rule, "unknown")).Inc()
}

func (m *RayCluster) sendDuration(rc *rayv1.RayCluster, send sender) {
	if d, ok := m.durations.Get(rc.UID, struct{}{}); ok {
		send(d)
	}
}

func sendSuspended(rc *rayv1.RayCluster, send sender) {
	if ptr.Deref(rc.Spec.Suspend, false) {
		send(1)
	}
}

func (m *RayCluster) count(all []*rayv1.RayCluster) {
	m.durations.Retain(uids(all))
	invalid := 0
	for _, rc := range all {
		if meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterInvalidSpec) {
			invalid++
		}
	}
	m.invalid.Set(float64(invalid))
}

func ownerKind(rc *rayv1.RayCluster) string {
	switch kind := rc.Labels[rayv1.LabelOriginatedFromCRD]; kind {
	case "RayJob", "RayService":
		return kind
	default:
		return "None"
	}
}
