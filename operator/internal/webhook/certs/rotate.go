// Package certs manages the serving certificate of the webhooks in clusters without cert-manager. It creates a CA and a
// certificate, stores them in one Secret, configures the CA in the API server, and renews all of it in time.
// open-policy-agent/cert-controller does most of the work. This package adds that a new CA does not replace the old one at once,
// and that a deleted Secret is recreated.
package certs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
)

// CRDs are the CRDs whose conversion calls the webhook.
var CRDs = []string{"rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io"}

// Options configure where certificates are stored and which objects need the CA. All names are required.
type Options struct {
	// Namespace is the namespace of the Secret and the Service.
	Namespace string
	// Secret is mounted at Dir. It is created if it is missing.
	Secret string
	Dir    string
	// Service is the name of the webhook Service.
	Service string
	// ValidatingConfiguration and MutatingConfiguration are names of webhook configurations.
	ValidatingConfiguration, MutatingConfiguration string
}

// fieldOwner is the field manager of this package's writes.
const fieldOwner = "raygate-operator-certificates"

// The permissions for this package are in operator/config/components/self-managed, not in the ClusterRole of every installation.

// Add makes the manager maintain a CA of 10 years and a certificate of 1 year, which it renews 90 days before the end, until ctx ends.
// The channel is closed when a certificate is in Dir and its CA is configured in the API server. That is checked after a second, then
// at intervals that double. Every replica does this; they share the Secret, so only the first one has to change anything.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) (ready <-chan struct{}, err error) {
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Secret}
	host := fmt.Sprintf("%s.%s.svc", o.Service, o.Namespace) // which the API server calls
	webhooks := []rotator.WebhookInfo{
		{Name: o.ValidatingConfiguration, Type: rotator.Validating},
		{Name: o.MutatingConfiguration, Type: rotator.Mutating},
	}
	for _, name := range CRDs {
		webhooks = append(webhooks, rotator.WebhookInfo{Name: name, Type: rotator.CRDConversion})
	}
	done := make(chan struct{})
	secrets := &keeper{Client: mgr.GetClient(), live: mgr.GetAPIReader(), key: key, ended: ctx.Done()}
	if err := errors.Join(secrets.ensure(ctx), secrets.watch(mgr)); err != nil {
		return nil, err
	}
	err = rotator.AddRotator(managerOf{Manager: mgr, client: secrets}, &rotator.CertRotator{
		SecretKey:      key,
		CertDir:        o.Dir,
		CAName:         "raygate-webhook-ca",
		CAOrganization: "raygate",
		DNSName:        host,
		ExtraDNSNames:  []string{host + ".cluster.local"},
		IsReady:        done,
		Webhooks:       webhooks,
		FieldOwner:     fieldOwner,
	})
	if err != nil {
		return nil, fmt.Errorf("adding the certificate rotator: %w", err)
	}
	return done, nil
}

// NewExpiryCollector returns a collector for the expiry of the certificate in dir, for alerts. It reads the certificate at every
// scrape; without one it collects nothing.
func NewExpiryCollector(dir string) prometheus.Collector {
	desc := prometheus.NewDesc("raygate_webhook_certificate_expiry_timestamp_seconds",
		"End of the serving certificate of the webhooks, in seconds since the epoch.", nil, nil)
	return prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		if chain, err := cert.CertsFromFile(filepath.Join(dir, "tls.crt")); err == nil {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(chain[0].NotAfter.Unix()))
		}
	})
}
