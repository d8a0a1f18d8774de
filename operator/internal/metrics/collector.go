package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// scrapeTimeout limits the read from the cache. It is reached only while the cache is not synced.
const scrapeTimeout = 5 * time.Second

// collector is shared by the collectors of all kinds. They list the objects at each scrape.
type collector struct {
	reader client.Reader // must be a cache
	descs  []*prometheus.Desc
	// totalsOnly leaves out the series of single objects.
	totalsOnly bool
}

// TotalsOnly leaves out the series of single objects, of which there is one set per object and uid. Counters, histograms and totals stay.
// It must be called before the collector is registered.
func (c *collector) TotalsOnly() { c.totalsOnly = true }

// desc describes a metric about an object, which its labels begin with.
func (c *collector) desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, append([]string{"name", "namespace", "uid"}, labels...), nil)
	c.descs = append(c.descs, d)
	return d
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	if c.totalsOnly {
		return
	}
	for _, d := range c.descs {
		ch <- d
	}
}

// list reads all objects. After an error it returns false and reports the error as an invalid metric.
func (c *collector) list(ch chan<- prometheus.Metric, list client.ObjectList) bool {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.descs[0], err)
	}
	return err == nil
}

// gauge sends a metric about an object.
func (c *collector) gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, value float64, o client.Object, labels ...string) {
	if !c.totalsOnly {
		labels = append([]string{o.GetName(), o.GetNamespace(), string(o.GetUID())}, labels...)
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
}

// stalled sends a metric about an object whose condition Stalled is True, with the reason.
func (c *collector) stalled(ch chan<- prometheus.Metric, d *prometheus.Desc, o client.Object, conditions []metav1.Condition) {
	if s := meta.FindStatusCondition(conditions, rayv1.RayClusterStalled); s != nil && s.Status == metav1.ConditionTrue {
		c.gauge(ch, d, 1, o, s.Reason)
	}
}

// waits sends a metric about an object that waits for a node, scheduling gates or a quota, with the reason.
func (c *collector) waits(ch chan<- prometheus.Metric, d *prometheus.Desc, o client.Object, conditions []metav1.Condition) {
	if w := meta.FindStatusCondition(conditions, rayv1.ConditionReconciling); w != nil && w.Status == metav1.ConditionTrue && rayv1.Awaited(w.Reason) {
		c.gauge(ch, d, 1, o, w.Reason)
	}
}
