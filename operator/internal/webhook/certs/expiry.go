package certs

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
)

// expiry tells when the certificate that is served ends, so that an alert can come before the day.
type expiry struct {
	dir  string
	desc *prometheus.Desc
}

// NewExpiryCollector returns a collector for the certificate in dir, which it reads at every scrape. Without one it
// collects nothing.
func NewExpiryCollector(dir string) prometheus.Collector {
	return expiry{dir: dir, desc: prometheus.NewDesc("raygate_webhook_certificate_expiry_timestamp_seconds",
		"When the serving certificate of the webhooks ends, in seconds since the epoch.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (e expiry) Describe(ch chan<- *prometheus.Desc) { ch <- e.desc }

// Collect implements prometheus.Collector.
func (e expiry) Collect(ch chan<- prometheus.Metric) {
	data, err := os.ReadFile(filepath.Join(e.dir, "tls.crt"))
	if err != nil {
		return
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return
	}
	if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
		ch <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(cert.NotAfter.Unix()))
	}
}
