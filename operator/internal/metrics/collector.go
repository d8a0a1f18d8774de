// Package metrics holds the Prometheus collectors of the operator, under the names that dashboards for KubeRay use.
//
// Series about objects are computed from the cache at each scrape, so series of deleted objects need no cleanup.
package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// scrapeTimeout limits the read from the cache. It is reached only while the cache is not synced.
const scrapeTimeout = 5 * time.Second

// Collector collects the metrics about the objects of a kind. It lists the objects at each scrape.
type Collector[T client.Object] struct {
	reader client.Reader     // must be a cache
	list   client.ObjectList // an empty one
	gauges []gauge[T]
	// listed is called with all objects before others are collected; nil for none.
	listed func(all []T)
	others []prometheus.Collector
	// totalsOnly leaves out the series of single objects.
	totalsOnly bool
}

// gauge is a metric about an object. of sends its series.
type gauge[T client.Object] struct {
	desc *prometheus.Desc
	of   func(o T, send sender)
}

// sender sends one series with the values of the labels that the gauge adds to those of the object.
type sender func(value float64, labels ...string)

// add adds a metric about an object, which its labels begin with.
func (c *Collector[T]) add(name, help string, of func(o T, send sender), labels ...string) {
	d := prometheus.NewDesc(name, help, append([]string{"name", "namespace", "uid"}, labels...), nil)
	c.gauges = append(c.gauges, gauge[T]{d, of})
}

// TotalsOnly leaves out the series of single objects, of which there is one set per object and uid. Counters, histograms and totals stay.
// It must be called before the collector is registered.
func (c *Collector[T]) TotalsOnly() { c.totalsOnly = true }

// Describe implements prometheus.Collector.
func (c *Collector[T]) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range c.gauges {
		if !c.totalsOnly {
			ch <- g.desc
		}
	}
	for _, o := range c.others {
		o.Describe(ch)
	}
}

// Collect implements prometheus.Collector. It reports an error of the list as an invalid metric, which fails the scrape.
func (c *Collector[T]) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	list := c.list.DeepCopyObject().(client.ObjectList)
	var all []T
	err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = meta.EachListItem(list, func(o runtime.Object) error {
			all = append(all, o.(T))
			return nil
		})
	}
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.gauges[0].desc, err)
		return
	}
	for _, o := range all {
		c.collect(ch, o)
	}
	if c.listed != nil {
		c.listed(all)
	}
	for _, other := range c.others {
		other.Collect(ch)
	}
}

func (c *Collector[T]) collect(ch chan<- prometheus.Metric, o T) {
	if c.totalsOnly {
		return
	}
	for _, g := range c.gauges {
		g.of(o, func(value float64, labels ...string) {
			labels = append([]string{o.GetName(), o.GetNamespace(), string(o.GetUID())}, labels...)
			ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
		})
	}
}

// uids returns the UIDs of the objects.
func uids[T client.Object](all []T) map[types.UID]bool {
	out := make(map[types.UID]bool, len(all))
	for _, o := range all {
		out[o.GetUID()] = true
	}
	return out
}

// is returns the value of a condition as a label.
func is(conditions []metav1.Condition, kind string) string {
	return strconv.FormatBool(meta.IsStatusConditionTrue(conditions, kind))
}

// stalled sends the reason of the condition Stalled if that is True.
func stalled(conditions []metav1.Condition, send sender) {
	if s := meta.FindStatusCondition(conditions, rayv1.RayClusterStalled); s != nil && s.Status == metav1.ConditionTrue {
		send(1, s.Reason)
	}
}

// waits sends the reason of the condition Reconciling of an object that waits for a node, scheduling gates or a quota.
func waits(conditions []metav1.Condition, send sender) {
	if w := meta.FindStatusCondition(conditions, rayv1.ConditionReconciling); w != nil && w.Status == metav1.ConditionTrue && rayv1.Awaited(w.Reason) {
		send(1, w.Reason)
	}
}
