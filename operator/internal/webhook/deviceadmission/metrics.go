package deviceadmission

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Metrics count what the webhooks answer. Make them with NewMetrics.
type Metrics struct {
	clock    clock.PassiveClock
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	patches  *prometheus.CounterVec
	panics   *prometheus.CounterVec
	reloads  *prometheus.CounterVec
	info     *prometheus.GaugeVec
	quota    *prometheus.CounterVec
}

// NewMetrics returns metrics at zero.
func NewMetrics() *Metrics {
	return &Metrics{
		clock: clock.RealClock{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "device_webhook_requests_total",
			Help: "Pods that the webhooks (mutate, validate) answered, by outcome (nothing, patched, allowed, denied, failed), reason, and device family.",
		}, []string{"webhook", "outcome", "reason", "vendor"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "device_webhook_duration_seconds", Help: "Time that an answer took, without reading and writing it.",
			Buckets: prometheus.ExponentialBuckets(0.00005, 3, 9),
		}, []string{"webhook"}),
		patches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "device_webhook_patch_operations_total", Help: "Operations of patches, by device family and changed part.",
		}, []string{"vendor", "kind"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "device_webhook_panics_total", Help: "Calls that ended in a panic; the failure policy decided about these Pods.",
		}, []string{"webhook"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "device_registry_reloads_total", Help: "Changes of the registry file, by result: success, or failure, where the last good one stays in use.",
		}, []string{"result"}),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "device_registry_info", Help: "The registry in use, by hash.",
		}, []string{"hash"}),
		quota: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "device_quota_denied_total", Help: "Pods that were refused because a quota has too little left of the resource.",
		}, []string{"namespace", "resource"}),
	}
}

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.duration, m.patches, m.panics, m.reloads, m.info, m.quota}
}

// Reloaded counts a change of the registry file. hash is that of the registry in use.
func (m *Metrics) Reloaded(hash string, err error) {
	if err != nil {
		m.reloads.WithLabelValues("failure").Inc()
		return
	}
	m.reloads.WithLabelValues("success").Inc()
	m.InUse(hash)
}

// InUse records the registry in use.
func (m *Metrics) InUse(hash string) {
	m.info.Reset()
	m.info.WithLabelValues(hash).Set(1)
}

func (m *Metrics) answered(webhook string, a *answer, duration time.Duration) {
	vendors := strings.Join(a.vendors, ",") // names in the registry, which are few
	m.requests.WithLabelValues(webhook, a.outcome, a.reason, vendors).Inc()
	m.duration.WithLabelValues(webhook).Observe(duration.Seconds())
	for _, op := range a.Patches {
		m.patches.WithLabelValues(vendors, kindOf(op.Path)).Inc()
	}
}

// kindOf returns the kind of field that a patch path changes.
func kindOf(path string) string {
	for _, kind := range []string{"resources", "env", "annotations", "runtimeClassName", "schedulerName"} {
		if strings.Contains(path+"/", "/"+kind+"/") {
			return kind
		}
	}
	return "other"
}

func (m *Metrics) panicked(webhook string) {
	m.panics.WithLabelValues(webhook).Inc()
	m.requests.WithLabelValues(webhook, outcomeFailed, "panic", "").Inc()
}

func (m *Metrics) overQuota(namespace string, resources []string) {
	for _, r := range resources {
		m.quota.WithLabelValues(namespace, r).Inc()
	}
}
