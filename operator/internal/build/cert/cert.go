// Package cert builds the cert-manager objects of a RayCluster with mutual TLS: a self-signed issuer, a CA certificate that it
// signs, an issuer with that CA, and one certificate each for the head and the workers.
//
// It does not use cert-manager's Go types: five small objects do not justify the dependency.
package cert

import (
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Kinds of cert-manager.
var (
	// IssuerKind is an issuer that signs Certificates of its namespace.
	IssuerKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}
	// CertificateKind requests a key pair in a Secret.
	CertificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
)

// Keys of the Secrets that cert-manager fills.
const (
	// KeyCertificate is the certificate.
	KeyCertificate = "tls.crt"
	// KeyPrivate is the private key.
	KeyPrivate = "tls.key"
	// KeyAuthority is the certificate of the authority.
	KeyAuthority = "ca.crt"
)

const (
	// LeafDuration is the validity of a head or worker certificate.
	LeafDuration = 2160 * time.Hour
	// LeafRenewBefore is how long before the expiry cert-manager renews the certificate.
	LeafRenewBefore = 360 * time.Hour

	caDuration    = 3650 * 24 * time.Hour
	caRenewBefore = 30 * 24 * time.Hour
)

// labelComponent distinguishes the five objects of a cluster.
const labelComponent = "app.kubernetes.io/component"

// Needed reports whether the spec enables mutual TLS. It does not check the feature gate.
func Needed(rc *rayv1.RayCluster) bool {
	return rc.Spec.TLSOptions != nil && rc.Spec.TLSOptions.Enabled != nil && *rc.Spec.TLSOptions.Enabled
}

// SelfSignedIssuer builds the issuer of the certificate of the authority.
func SelfSignedIssuer(rc *rayv1.RayCluster) *unstructured.Unstructured {
	return object(rc, IssuerKind, names.SelfSignedIssuer(rc.Name), "selfsigned-issuer", map[string]any{"selfSigned": map[string]any{}})
}

// AuthorityCertificate builds the certificate of the CA. It must not change after its creation: Ray processes that started with
// the old CA reject certificates of a new one.
func AuthorityCertificate(rc *rayv1.RayCluster) *unstructured.Unstructured {
	return object(rc, CertificateKind, names.AuthorityCertificate(rc.Name), "ca-certificate", map[string]any{
		"secretName":  names.AuthoritySecret(rc),
		"isCA":        true,
		"commonName":  "ray-ca-" + rc.Name,
		"privateKey":  map[string]any{"algorithm": "RSA", "size": int64(4096)},
		"duration":    caDuration.String(), // in cert-manager's own format, so that the comparison finds no difference
		"renewBefore": caRenewBefore.String(),
		"usages":      []any{"cert sign", "crl sign"},
		"issuerRef":   issuer(names.SelfSignedIssuer(rc.Name)),
	})
}

// AuthorityIssuer builds the issuer that signs with the authority.
func AuthorityIssuer(rc *rayv1.RayCluster) *unstructured.Unstructured {
	return object(rc, IssuerKind, names.AuthorityIssuer(rc.Name), "ca-issuer", map[string]any{
		"ca": map[string]any{"secretName": names.AuthoritySecret(rc)},
	})
}

// Head builds the certificate of the head for the names of its Service and the given Pod IPs. KubeRay 1.7 includes only the long
// name of the Service, so it rejects clients that use a shorter one. domain is as in names.HeadHost.
func Head(rc *rayv1.RayCluster, domain string, ips []string) *unstructured.Unstructured {
	svc := names.HeadService(rc)
	hosts := []string{"localhost", svc, svc + "." + rc.Namespace, svc + "." + rc.Namespace + ".svc", names.HeadHost(rc, domain)}
	return object(rc, CertificateKind, names.HeadCertificate(rc.Name), "head-certificate", leaf(rc, names.HeadTLSSecret(rc.Name), hosts, ips))
}

// Worker builds the certificate that all workers share, for the given Pod IPs.
func Worker(rc *rayv1.RayCluster, ips []string) *unstructured.Unstructured {
	spec := leaf(rc, names.WorkerTLSSecret(rc.Name), []string{"localhost"}, ips)
	return object(rc, CertificateKind, names.WorkerCertificate(rc.Name), "worker-certificate", spec)
}

// leaf returns the spec of a certificate that the authority signs.
func leaf(rc *rayv1.RayCluster, secret string, hosts, ips []string) map[string]any {
	return map[string]any{
		"secretName":  secret,
		"duration":    LeafDuration.String(),
		"renewBefore": LeafRenewBefore.String(),
		"dnsNames":    set(hosts),
		"ipAddresses": set(append(valid(ips), "127.0.0.1")),
		"usages":      []any{"digital signature", "key encipherment", "server auth", "client auth"},
		"issuerRef":   issuer(names.AuthorityIssuer(rc.Name)),
	}
}

// valid drops invalid IPs: cert-manager would reject the whole certificate because of one.
func valid(ips []string) []string {
	return slices.DeleteFunc(slices.Clone(ips), func(ip string) bool { return net.ParseIP(ip) == nil })
}

// set returns the list sorted and without duplicates.
func set(list []string) []any {
	var out []any
	for _, s := range sets.List(sets.New(list...)) {
		out = append(out, s)
	}
	return out
}

func issuer(name string) map[string]any {
	return map[string]any{"name": name, "kind": IssuerKind.Kind, "group": IssuerKind.Group}
}

func object(rc *rayv1.RayCluster, kind schema.GroupVersionKind, name, component string, spec map[string]any) *unstructured.Unstructured {
	labels := child.Labels(rc)
	labels[labelComponent] = component
	return child.Unstructured(rc, kind, name, labels, spec)
}
