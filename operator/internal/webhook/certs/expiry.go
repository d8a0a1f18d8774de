package certs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
)

// NewExpiryCollector returns a collector that tells when the certificate that is served from dir ends, so that an alert can come
// before the day. It reads it at every scrape; without one it collects nothing.
func NewExpiryCollector(dir string) prometheus.Collector {
	desc := prometheus.NewDesc("raygate_webhook_certificate_expiry_timestamp_seconds",
		"When the serving certificate of the webhooks ends, in seconds since the epoch.", nil, nil)
	return prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		if cert, err := mounted(dir); err == nil {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(cert.NotAfter.Unix()))
		}
	})
}

// mounted is the certificate in the folder.
func mounted(dir string) (*x509.Certificate, error) {
	data, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("reading the certificate: no PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}
