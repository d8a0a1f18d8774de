package devicequota

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	hardDesc = prometheus.NewDesc("device_quota_hard", "Limit of a quota for a resource: devices, cores, or MiB of memory.", []string{"namespace", "quota", "resource"}, nil)
	usedDesc = prometheus.NewDesc("device_quota_used", "Amount of a resource that Pods under a quota use, by state: running, pending (also ending ones), reserved.",
		[]string{"namespace", "quota", "resource", "state"}, nil)
	podsDesc = prometheus.NewDesc("device_quota_pods", "Pods under a quota that use a resource, by state as in device_quota_used.",
		[]string{"namespace", "quota", "resource", "state"}, nil)
	overDesc = prometheus.NewDesc("device_quota_exceeded", "1 if Pods use more than a quota allows: it was lowered, is newer than the Pods, or replicas admitted them at the same moment.",
		[]string{"namespace", "quota", "resource"}, nil)
	syncedDesc = prometheus.NewDesc("device_webhook_cache_synced", "1 once all Pods and quotas are known. Until then, Pods with devices get no answer.", nil, nil)
)

// Describe implements prometheus.Collector.
func (e *Engine) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{hardDesc, usedDesc, podsDesc, overDesc, syncedDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (e *Engine) Collect(ch chan<- prometheus.Metric) {
	program := e.o.Registry.Program()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(syncedDesc, number(e.Ready()))
	for name, n := range e.all() {
		n.mu.Lock()
		n.expire(e.o.Clock.Now())
		n.use(program)
		for _, quota := range slices.Sorted(maps.Keys(n.quotas)) {
			q := n.quotas[quota]
			for _, l := range limits(program, q) {
				u := n.used(q, l.resource, "")
				gauge(hardDesc, float64(l.hard), name, quota, l.resource)
				for s := range states {
					gauge(usedDesc, float64(u.amounts[s]), name, quota, l.resource, s.String())
					gauge(podsDesc, float64(u.pods[s]), name, quota, l.resource, s.String())
				}
				gauge(overDesc, number(u.total() > l.hard), name, quota, l.resource)
			}
		}
		n.mu.Unlock()
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
