package certs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
)

// CRDs are those whose conversion calls the webhook.
var CRDs = []string{"rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io"}

// Options say where certificates are kept and who has to know the CA. All names are required.
type Options struct {
	// Namespace is that of the Secret and of the Service.
	Namespace string
	// Secret is mounted at Dir. It is created when there is none, and again when it is deleted.
	Secret string
	Dir    string
	// Service is the name that the API server calls.
	Service string
	// ValidatingConfiguration and MutatingConfiguration are names of webhook configurations.
	ValidatingConfiguration, MutatingConfiguration string

	// CALifetime, Lifetime and RenewBefore are for tests; 0 means 10 years, 1 year and 90 days.
	CALifetime, Lifetime, RenewBefore time.Duration
	// CheckEvery is how often the certificate is looked at; 0 means every 12 hours.
	CheckEvery time.Duration
}

// fieldOwner is the manager of the fields that are written here.
const fieldOwner = "raygate-operator-certificates"

// The rights below are in operator/config/components/self-managed, not in the ClusterRole of every installation.

// Add makes the manager look after the certificate until ctx ends. The channel is closed when there is one in Dir and the API server
// has been told its CA, which is looked for after a second, then at intervals that double. Every replica does the work; the Secret is
// the truth, and whoever comes second finds nothing to do.
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
	secrets := &creator{client: mgr.GetClient(), live: mgr.GetAPIReader(), key: key}
	if err := errors.Join(secrets.ensure(ctx), secrets.watch(mgr)); err != nil {
		return nil, err
	}
	writer := &keeper{Client: mgr.GetClient(), live: mgr.GetAPIReader(), key: key, ended: ctx.Done()}
	err = rotator.AddRotator(managerOf{Manager: mgr, client: writer}, &rotator.CertRotator{
		SecretKey:              key,
		CertDir:                o.Dir,
		CAName:                 "raygate-webhook-ca",
		CAOrganization:         "raygate",
		DNSName:                host,
		ExtraDNSNames:          []string{host + ".cluster.local"},
		IsReady:                done,
		Webhooks:               webhooks,
		FieldOwner:             fieldOwner,
		CaCertDuration:         o.CALifetime,
		ServerCertDuration:     o.Lifetime,
		LookaheadInterval:      o.RenewBefore,
		RotationCheckFrequency: o.CheckEvery,
	})
	if err != nil {
		return nil, fmt.Errorf("adding the certificate rotator: %w", err)
	}
	return done, nil
}

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
