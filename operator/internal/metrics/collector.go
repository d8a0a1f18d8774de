package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scrapeTimeout limits the read from the cache. It is reached only while the cache is not synced.
const scrapeTimeout = 5 * time.Second

// collector is shared by the collectors of all kinds. They list the objects at each scrape.
type collector struct {
	reader client.Reader // must be a cache
	descs  []*prometheus.Desc
}

// desc describes a metric about an object; its labels start with those of the object.
func (c *collector) desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, append([]string{"name", "namespace", "uid"}, labels...), nil)
	c.descs = append(c.descs, d)
	return d
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
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

// gauge returns a metric about an object.
func gauge(d *prometheus.Desc, value float64, o client.Object, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{o.GetName(), o.GetNamespace(), string(o.GetUID())}, labels...)...)
}
