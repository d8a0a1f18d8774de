package raycluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/children"
)

// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates,verbs=get;list;watch,roleName=raygate-operator-mtls
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get,roleName=raygate-operator-mtls

// certificates holds the Pods of a cluster with mutual TLS until the Secrets that they mount exist. Package mtls requests the
// certificates.
//
// KubeRay also holds Pods while a certificate is reissued. Each new worker causes that, so scaling proceeds in steps. It is not
// necessary: an init container waits until the Pod's IP is in the certificate.
func (r *Reconciler) certificates(ctx context.Context, s *scope) {
	if !r.config.MTLS || !cert.Needed(s.cluster) {
		return
	}
	why, err := r.withoutCertificates(ctx, s.cluster)
	if apierrors.IsForbidden(err) { // the same error until the operator gets the permission
		why, err = err.Error(), nil
	}
	if err != nil {
		s.errs = append(s.errs, err)
		s.hold("the state of the certificates is unknown")
		return
	}
	if why == "" {
		return
	}
	s.hold(why)
	// Package mtls sends the event.
	s.children = append(s.children, childFailure{reason: "CertificatesNotReady", message: why + "; Pods are made when it is there"})
	s.after(children.RetryAfter) // the Secrets are not watched
}

// withoutCertificates returns what is missing for the Pods; empty if nothing is.
func (r *Reconciler) withoutCertificates(ctx context.Context, rc *rayv1.RayCluster) (string, error) {
	found, err := r.optional.Ready(cert.CertificateKind)
	if err != nil {
		return "", err
	}
	if !found {
		return "cert-manager is not installed", nil
	}
	for _, leaf := range []struct{ certificate, secret string }{
		{names.HeadCertificate(rc.Name), names.HeadTLSSecret(rc.Name)},
		{names.WorkerCertificate(rc.Name), names.WorkerTLSSecret(rc.Name)},
	} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(cert.CertificateKind)
		switch err := r.optional.Get(ctx, client.ObjectKey{Namespace: rc.Namespace, Name: leaf.certificate}, o); {
		case apierrors.IsNotFound(err):
			return fmt.Sprintf("Certificate %s does not exist yet", leaf.certificate), nil
		case err != nil:
			return "", fmt.Errorf("reading Certificate %s: %w", leaf.certificate, err)
		case !metav1.IsControlledBy(o, rc):
			return fmt.Sprintf("Certificate %s belongs to something else", leaf.certificate), nil
		}
		why, err := r.incompleteSecret(ctx, rc, leaf.secret)
		if err != nil || why != "" {
			return why, err
		}
	}
	return "", nil
}

// incompleteSecret returns what the Secret lacks. It reads from the API server, because contents of Secrets are not cached. It
// does not read a complete Secret again, because cert-manager replaces the content atomically.
func (r *Reconciler) incompleteSecret(ctx context.Context, rc *rayv1.RayCluster, name string) (why string, err error) {
	_, result := r.children.Missing(ctx, rc, children.Look{ID: "TLS Secret " + name, Eager: true, Find: func(ctx context.Context) (bool, error) {
		found := &corev1.Secret{}
		switch err := r.config.Live.Get(ctx, client.ObjectKey{Namespace: rc.Namespace, Name: name}, found); {
		case apierrors.IsNotFound(err):
			why = fmt.Sprintf("Secret %s has not been filled by cert-manager yet", name)
			return false, nil
		case err != nil:
			return false, err
		}
		for _, key := range []string{cert.KeyCertificate, cert.KeyPrivate, cert.KeyAuthority} {
			if len(found.Data[key]) == 0 {
				why = fmt.Sprintf("Secret %s has no %s yet", name, key)
				return false, nil
			}
		}
		return true, nil
	}})
	return why, result.Err
}
