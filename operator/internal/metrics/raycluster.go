package metrics

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// scrapeTimeout bounds the read of the cache. It is only reached while the cache is not synced.
const scrapeTimeout = 5 * time.Second

// RayCluster collects what is known about RayClusters.
type RayCluster struct {
	reader client.Reader

	provisionedDuration *prometheus.Desc
	info                *prometheus.Desc
	provisioned         *prometheus.Desc
	invalid             *prometheus.Desc
	stalled             *prometheus.Desc
	violations          *prometheus.CounterVec
	warnings            *prometheus.CounterVec

	mu        sync.Mutex
	durations map[types.UID]float64
}

var _ prometheus.Collector = (*RayCluster)(nil)

// NewRayCluster returns a collector that reads clusters from reader, which must be a cache.
func NewRayCluster(reader client.Reader) *RayCluster {
	object := []string{"name", "namespace", "uid"}
	return &RayCluster{
		reader:    reader,
		durations: map[types.UID]float64{},
		provisionedDuration: prometheus.NewDesc("kuberay_cluster_provisioned_duration_seconds",
			"Seconds from the creation of the RayCluster until RayClusterProvisioned became True for the first time.", object, nil),
		info: prometheus.NewDesc("kuberay_cluster_info",
			"One per RayCluster, with the kind of object that it was made for.", append(object, "owner_kind"), nil),
		provisioned: prometheus.NewDesc("kuberay_cluster_condition_provisioned",
			"One per RayCluster, with the value of the condition RayClusterProvisioned.", append(object, "condition"), nil),
		invalid: prometheus.NewDesc("raygate_invalid_objects",
			"Objects whose spec is refused at present.", []string{"kind"}, nil),
		stalled: prometheus.NewDesc("raygate_cluster_condition_stalled",
			"One per RayCluster that makes no progress, with the reason of the condition Stalled.", append(object, "reason"), nil),
		violations: counter("raygate_validation_failures_total", "Broken rules of objects, once per version of an object."),
		warnings:   counter("raygate_validation_warnings_total", "Rules that only warn, once per version of an object."),
	}
}

// counter counts verdicts by the layer that gave them; this process is the layer "controller".
func counter(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: name, Help: help, ConstLabels: prometheus.Labels{"layer": "controller"},
	}, []string{"kind", "rule"})
}

// ObserveProvisioned notes that the cluster became provisioned for the first time, this long after its creation.
func (m *RayCluster) ObserveProvisioned(rc *rayv1.RayCluster, after time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.durations[rc.UID] = after.Seconds()
}

// ObserveViolation counts one broken rule of a RayCluster. An empty id is counted as unknown.
func (m *RayCluster) ObserveViolation(rule string) { observe(m.violations, rule) }

// ObserveWarning counts a rule that warns of something in a RayCluster. An empty id is counted as unknown.
func (m *RayCluster) ObserveWarning(rule string) { observe(m.warnings, rule) }

func observe(c *prometheus.CounterVec, rule string) {
	c.WithLabelValues("RayCluster", cmp.Or(rule, "unknown")).Inc()
}

// Describe implements prometheus.Collector.
func (m *RayCluster) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.provisionedDuration
	ch <- m.info
	ch <- m.provisioned
	ch <- m.invalid
	ch <- m.stalled
	m.violations.Describe(ch)
	m.warnings.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *RayCluster) Collect(ch chan<- prometheus.Metric) {
	m.violations.Collect(ch)
	m.warnings.Collect(ch)
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var list rayv1.RayClusterList
	if err := m.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ch <- prometheus.NewInvalidMetric(m.info, err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	invalid := 0
	alive := make(map[types.UID]struct{}, len(list.Items))
	for i := range list.Items {
		rc := &list.Items[i]
		alive[rc.UID] = struct{}{}
		object := []string{rc.Name, rc.Namespace, string(rc.UID)}
		ch <- one(m.info, append(object, ownerKind(rc))...)
		provisioned := meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned)
		ch <- one(m.provisioned, append(object, strconv.FormatBool(provisioned))...)
		if d, ok := m.durations[rc.UID]; ok {
			ch <- prometheus.MustNewConstMetric(m.provisionedDuration, prometheus.GaugeValue, d, object...)
		}
		if meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterInvalidSpec) {
			invalid++
		}
		if c := meta.FindStatusCondition(rc.Status.Conditions, rayv1.RayClusterStalled); c != nil && c.Status == metav1.ConditionTrue {
			ch <- one(m.stalled, append(object, c.Reason)...)
		}
	}
	for uid := range m.durations {
		if _, ok := alive[uid]; !ok {
			delete(m.durations, uid)
		}
	}
	ch <- prometheus.MustNewConstMetric(m.invalid, prometheus.GaugeValue, float64(invalid), "RayCluster")
}

func one(d *prometheus.Desc, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, 1, labels...)
}

func ownerKind(rc *rayv1.RayCluster) string {
	switch kind := rc.Labels[rayv1.LabelOriginatedFromCRD]; kind {
	case "RayJob", "RayService":
		return kind
	default:
		return "None"
	}
}
