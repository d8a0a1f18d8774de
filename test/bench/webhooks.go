package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	// webhookWriters write at once.
	webhookWriters = 50
	// checkedNamespace is the namespace with the webhook; uncheckedNamespace is almost equal and has none.
	checkedNamespace, uncheckedNamespace = "bench-checked", "bench-unchecked"
)

// webhooks compares creates of RayClusters with and without a call to the validating webhook, by 50 concurrent writers that alternate
// between both. The operator serves the webhook and has nothing else to do.
func webhooks(ctx context.Context, s *session) error {
	for _, ns := range []string{checkedNamespace, uncheckedNamespace} {
		if err := s.namespace(ctx, ns); err != nil {
			return err
		}
	}
	if err := s.startWebhook(ctx); err != nil {
		return err
	}
	each := max(4, s.opts.Calls/20)
	s.logf("creating %d RayClusters by %d writers, half of them with the webhook", 2*each*webhookWriters, webhookWriters)
	var mu sync.Mutex
	var checked, unchecked []float64
	g, ctx := errgroup.WithContext(ctx)
	for w := range webhookWriters {
		g.Go(func() error {
			for i := range 2 * (each + 1) {
				namespace := []string{checkedNamespace, uncheckedNamespace}[(i+w)%2]
				rc := cluster(namespace, fmt.Sprintf("bench-%d-%d", w, i), smallWorkers)
				ms, err := timed(ctx, func(ctx context.Context) error { return s.client.Create(ctx, rc) })
				if err != nil {
					return fmt.Errorf("creating a RayCluster in %s: %w", namespace, err)
				}
				if i < 2 {
					continue // warm-up
				}
				mu.Lock()
				if namespace == checkedNamespace {
					checked = append(checked, ms)
				} else {
					unchecked = append(unchecked, ms)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, p := range []int{50, 99} {
		what := fmt.Sprintf("create with the webhook, %d writers, p%d", webhookWriters, p)
		s.add(what, "ms", []float64{percentile(checked, p)}, []float64{percentile(unchecked, p)}, nil)
	}
	return nil
}

// percentile p of values, which are not empty.
func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// startWebhook runs an operator that watches none of the namespaces of the test. It registers the webhook for one of the two namespaces,
// and waits until the webhook refuses an object.
func (s *session) startWebhook(ctx context.Context) error {
	certs := filepath.Join(s.dir, "certs")
	ca, err := writeCertificate(certs)
	if err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(ports[0])
	if err != nil {
		return fmt.Errorf("reading the free port: %w", err)
	}
	flags := s.opts.OperatorFlags
	s.opts.OperatorFlags = append(slices.Clone(flags), "--watch-namespace=kube-system", "--enable-webhooks", "--webhook-port="+port, "--webhook-cert-dir="+certs)
	defer func() { s.opts.OperatorFlags = flags }()
	if _, err := s.startOperator(ctx, s.kubeconfig); err != nil {
		return err
	}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "bench"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "rayclusters.validation.ray.io",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:           new(admissionregistrationv1.Fail), // or a webhook that is down would look fast
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new("https://" + ports[0] + "/validate-ray-io-v1-raycluster"), CABundle: ca},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"ray.io"}, APIVersions: []string{"v1"}, Resources: []string{"rayclusters"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": checkedNamespace}},
		}},
	}
	if err := s.client.Create(ctx, config); err != nil {
		return fmt.Errorf("registering the webhook: %w", err)
	}
	// Only the webhook has this rule: fault tolerance is requested by option and by annotation.
	wrong := cluster(checkedNamespace, "wrong", smallWorkers)
	wrong.Annotations = map[string]string{rayv1.AnnotationFTEnabled: "true"}
	wrong.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
	return s.eventually(ctx, "the webhook to be asked", 30*time.Second, func(ctx context.Context) error {
		err := s.client.Create(ctx, wrong.DeepCopy(), client.DryRunAll)
		if apierrors.IsInvalid(err) && strings.Contains(err.Error(), "denied the request") {
			return nil
		}
		return fmt.Errorf("a wrong object was not refused by it: %w", err)
	})
}

// writeCertificate writes tls.crt and tls.key for 127.0.0.1 to dir and returns the former.
func writeCertificate(dir string) ([]byte, error) {
	pair, ca, err := selfSigned()
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	for name, data := range map[string][]byte{"tls.crt": ca, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, fmt.Errorf("writing a certificate: %w", err)
		}
	}
	return ca, nil
}
