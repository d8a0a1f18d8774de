package metrics

import (
	"cmp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/byowner"
)

// RayCluster collects metrics about RayClusters.
type RayCluster struct {
	collector
	info, provisioned, suspended, stalledReason, waitsReason, provisionedDuration *prometheus.Desc
	invalid                                                                       *prometheus.Desc
	violations, warnings                                                          *prometheus.CounterVec
	provisioning                                                                  prometheus.Histogram
	durations                                                                     byowner.Map[struct{}, float64]
}

var _ prometheus.Collector = (*RayCluster)(nil)

// NewRayCluster returns a collector that reads clusters from reader, which must be a cache.
func NewRayCluster(reader client.Reader) *RayCluster {
	m := &RayCluster{
		collector: collector{reader: reader},
		invalid: prometheus.NewDesc("raygate_invalid_objects",
			"Objects whose spec is refused at present.", []string{"kind"}, nil),
		violations: counter("raygate_validation_failures_total", "Broken rules of objects, once per version of an object."),
		warnings:   counter("raygate_validation_warnings_total", "Rules that only warn, once per version of an object."),
		provisioning: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "raygate_cluster_provisioning_seconds", Buckets: longBuckets,
			Help: "Seconds from the creation of a RayCluster until RayClusterProvisioned became True for the first time.",
		}),
	}
	m.info = m.desc("kuberay_cluster_info", "One per RayCluster, with the kind of object that it was made for.", "owner_kind")
	m.provisioned = m.desc("kuberay_cluster_condition_provisioned",
		"One per RayCluster, with the value of the condition RayClusterProvisioned.", "condition")
	m.suspended = m.desc("raygate_cluster_suspended", "One per RayCluster whose spec asks for suspension, as one that waits in a queue of Kueue.")
	m.stalledReason = m.desc("raygate_cluster_condition_stalled",
		"One per RayCluster that makes no progress, with the reason of the condition Stalled.", "reason")
	m.waitsReason = m.desc("raygate_cluster_waits",
		"One per RayCluster that waits for a node, scheduling gates or a quota, with the reason of the condition Reconciling.", "reason")
	m.provisionedDuration = m.desc("kuberay_cluster_provisioned_duration_seconds",
		"Seconds from the creation of the RayCluster until RayClusterProvisioned became True for the first time.")
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

// Describe implements prometheus.Collector.
func (m *RayCluster) Describe(ch chan<- *prometheus.Desc) {
	m.collector.Describe(ch)
	ch <- m.invalid
	m.violations.Describe(ch)
	m.warnings.Describe(ch)
	m.provisioning.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *RayCluster) Collect(ch chan<- prometheus.Metric) {
	m.violations.Collect(ch)
	m.warnings.Collect(ch)
	m.provisioning.Collect(ch)
	var list rayv1.RayClusterList
	if !m.list(ch, &list) {
		return
	}
	invalid := 0
	alive := map[types.UID]bool{}
	for i := range list.Items {
		rc := &list.Items[i]
		alive[rc.UID] = true
		m.gauge(ch, m.info, 1, rc, ownerKind(rc))
		m.gauge(ch, m.provisioned, 1, rc, is(rc.Status.Conditions, rayv1.RayClusterProvisioned))
		if d, ok := m.durations.Get(rc.UID, struct{}{}); ok {
			m.gauge(ch, m.provisionedDuration, d, rc)
		}
		if meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterInvalidSpec) {
			invalid++
		}
		if ptr.Deref(rc.Spec.Suspend, false) {
			m.gauge(ch, m.suspended, 1, rc)
		}
		m.stalled(ch, m.stalledReason, rc, rc.Status.Conditions)
		m.waits(ch, m.waitsReason, rc, rc.Status.Conditions)
	}
	m.durations.Retain(alive)
	ch <- prometheus.MustNewConstMetric(m.invalid, prometheus.GaugeValue, float64(invalid), "RayCluster")
}

// is returns the value of a condition as a label.
func is(conditions []metav1.Condition, kind string) string {
	return strconv.FormatBool(meta.IsStatusConditionTrue(conditions, kind))
}

func ownerKind(rc *rayv1.RayCluster) string {
	switch kind := rc.Labels[rayv1.LabelOriginatedFromCRD]; kind {
	case "RayJob", "RayService":
		return kind
	default:
		return "None"
	}
}
