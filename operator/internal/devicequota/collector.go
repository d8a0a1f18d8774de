package devicequota

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	hardDesc = prometheus.NewDesc("device_quota_hard", "What a quota allows of a resource: devices, cores, or MiB of memory.", []string{"namespace", "quota", "resource"}, nil)
	usedDesc = prometheus.NewDesc("device_quota_used", "What Pods under a quota take of a resource.", []string{"namespace", "quota", "resource"}, nil)
	podsDesc = prometheus.NewDesc("device_quota_pods", "Pods under a quota that take something of a resource, by state: running, pending (also ending ones), reserved.",
		[]string{"namespace", "quota", "resource", "state"}, nil)
	overDesc = prometheus.NewDesc("device_quota_exceeded", "1 where Pods take more than a quota allows: it was lowered, they were there before it, or replicas admitted them at once.",
		[]string{"namespace", "quota", "resource"}, nil)
)

// Describe implements prometheus.Collector.
func (e *Engine) Describe(ch chan<- *prometheus.Desc) {
	ch <- hardDesc
	ch <- usedDesc
	ch <- podsDesc
	ch <- overDesc
}

// Collect implements prometheus.Collector. Sums are made at each scrape: what is used depends on the quota.
func (e *Engine) Collect(ch chan<- prometheus.Metric) {
	program := e.o.Registry.Program()
	e.mu.Lock()
	all := maps.Clone(e.namespaces)
	e.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for name, n := range all {
		n.mu.Lock()
		n.expire(e.o.Clock.Now())
		for _, quota := range slices.Sorted(maps.Keys(n.quotas)) {
			q := n.quotas[quota]
			for key, limit := range q.Spec.Hard {
				resource, ours := strings.CutPrefix(string(key), hardPrefix)
				hard, _, counts := program.Hard(resource, limit)
				if !ours || !counts {
					continue
				}
				u := n.used(program, q, resource, nil)
				gauge(hardDesc, float64(hard), name, quota, resource)
				gauge(usedDesc, float64(u.total), name, quota, resource)
				gauge(podsDesc, float64(u.running), name, quota, resource, "running")
				gauge(podsDesc, float64(u.pending), name, quota, resource, "pending")
				gauge(podsDesc, float64(u.reserved), name, quota, resource, "reserved")
				over := 0.0
				if u.total > hard {
					over = 1
				}
				gauge(overDesc, over, name, quota, resource)
			}
		}
		n.mu.Unlock()
	}
}
