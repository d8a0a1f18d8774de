package webhook

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts the answers of the webhooks. controller-runtime measures latencies by path. The zero value is not usable.
type Metrics struct {
	requests *prometheus.CounterVec
	refusals *prometheus.CounterVec
	converts *prometheus.CounterVec
}

// NewMetrics returns counters at zero.
func NewMetrics() *Metrics {
	return &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "raygate_webhook_requests_total",
			Help: "Admission requests by webhook (validate, mutate), kind, operation and outcome. Outcomes: allowed, denied, tolerated (because of --webhook-stage), skipped (not checked), failed (a fault of the operator, which admitted the object).",
		}, []string{"webhook", "kind", "operation", "outcome"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "raygate_webhook_refusals_total",
			Help: "Broken rules in objects that were refused or tolerated, each rule once per request.",
		}, []string{"kind", "rule"}),
		converts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "raygate_webhook_converted_objects_total",
			Help: "Objects converted, by the wanted version and outcome: success, failure.",
		}, []string{"version", "outcome"}),
	}
}

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.refusals, m.converts}
}

func (m *Metrics) admitted(webhook, kind, operation string, a answer) {
	m.requests.WithLabelValues(webhook, kind, operation, string(a.outcome)).Inc()
	for _, rule := range a.rules {
		m.refusals.WithLabelValues(kind, rule).Inc()
	}
}

func (m *Metrics) converted(version string, objects int, ok bool) {
	// The version comes from the caller and must not become a label value.
	if version != hubVersion && version != oldVersion {
		version = "unknown"
	}
	outcome := "success"
	if !ok {
		outcome = "failure"
	}
	m.converts.WithLabelValues(version, outcome).Add(float64(objects))
}
