package certs

import (
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/cert"
)

// NewExpiryCollector returns a collector that tells when the certificate that is served from dir ends, so that an alert can come
// before the day. It reads it at every scrape; without one it collects nothing.
func NewExpiryCollector(dir string) prometheus.Collector {
	desc := prometheus.NewDesc("raygate_webhook_certificate_expiry_timestamp_seconds",
		"When the serving certificate of the webhooks ends, in seconds since the epoch.", nil, nil)
	return prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		if chain, err := cert.CertsFromFile(filepath.Join(dir, "tls.crt")); err == nil {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(chain[0].NotAfter.Unix()))
		}
	})
}
