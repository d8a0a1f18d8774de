package certs

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookEvery is how often a replica that starts looks whether it can serve.
const lookEvery = 500 * time.Millisecond

// readiness waits until the certificate is mounted and the API server trusts it. The rotator would tell too, but it looks at
// ever longer intervals, up to minutes, and a replica that comes back to certificates in good order has no reason to wait.
type readiness struct {
	options Options
	live    client.Reader
	done    chan struct{}
}

// Start implements manager.Runnable.
func (r *readiness) Start(ctx context.Context) error {
	last := ""
	err := wait.PollUntilContextCancel(ctx, lookEvery, true, func(ctx context.Context) (bool, error) {
		err := r.trusted(ctx)
		if err != nil && err.Error() != last {
			last = err.Error()
			klog.FromContext(ctx).V(2).Info("Webhooks wait for their certificate", "why", last)
		}
		return err == nil, nil
	})
	if err == nil {
		close(r.done)
	}
	return nil // the end of the context is no error
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*readiness) NeedLeaderElection() bool { return false }

// trusted returns what is missing. Configurations and CRDs that are not there, or convert in another way, need no trust.
func (r *readiness) trusted(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.options.Dir, "tls.key")); err != nil {
		return fmt.Errorf("looking for the key: %w", err)
	}
	leaf, err := mounted(r.options.Dir)
	if err != nil {
		return err
	}
	bundles := map[string][]byte{}
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := r.live.Get(ctx, client.ObjectKey{Name: r.options.ValidatingConfiguration}, &validating); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the validating webhooks: %w", err)
	}
	for _, w := range validating.Webhooks {
		bundles[w.Name] = w.ClientConfig.CABundle
	}
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	if err := r.live.Get(ctx, client.ObjectKey{Name: r.options.MutatingConfiguration}, &mutating); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the mutating webhooks: %w", err)
	}
	for _, w := range mutating.Webhooks {
		bundles[w.Name] = w.ClientConfig.CABundle
	}
	if err := r.verify(leaf, bundles); err != nil {
		return err // before reading the CRDs, which are large
	}
	clear(bundles)
	for _, name := range CRDs {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		if err := r.live.Get(ctx, client.ObjectKey{Name: name}, crd); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the CRD %s: %w", name, err)
		}
		config, converts, _ := unstructured.NestedMap(crd.Object, "spec", "conversion", "webhook", "clientConfig")
		if !converts {
			continue
		}
		text, _ := config["caBundle"].(string)
		if bundles[name], err = base64.StdEncoding.DecodeString(text); err != nil {
			return fmt.Errorf("reading the CA in the CRD %s: %w", name, err)
		}
	}
	return r.verify(leaf, bundles)
}

func (r *readiness) verify(leaf *x509.Certificate, bundles map[string][]byte) error {
	for name, bundle := range bundles {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(bundle)
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: r.options.host()}); err != nil {
			return fmt.Errorf("verifying the certificate with the CA of %s: %w", name, err)
		}
	}
	return nil
}
