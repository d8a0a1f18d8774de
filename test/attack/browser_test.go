package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// foreign are the headers by which browsers say that a page of another site asks.
var foreign = map[string][]string{
	"a page of another site":          {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
	"a page of another port":          {"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:3000"},
	"a page in a sandbox":             {"Sec-Fetch-Site", "cross-site", "Origin", "null"},
	"a page in an older browser":      {"Origin", "https://evil.example"},
	"a page that claims to be a user": {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example", "Authorization", "Bearer x"},
}

// A page of another site sends what a browser sends without asking first, with the certificate of its visitor, or to a laptop that asks for nothing.
func TestForgedRequests(t *testing.T) {
	certificates, visitor := withCertificates(t)
	laptop := start(t, "laptop", "--authentication=none", "-cors-allow-origin=*")
	for name, site := range map[string]struct {
		*gateway
		browser *http.Client
		// allowed are foreign pages that are let in by an option.
		allowed string
	}{
		"certificates": {certificates, visitor, ""},
		"laptop":       {laptop, plain, "a page of another port"},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(at string) string { return strings.ReplaceAll(clusterJSON("forged", 8265, ""), "forged", at) }
			forge := map[string]struct{ method, path, body string }{
				"v2":         {"POST", "/apis/v2/namespaces/" + teamB + "/clusters", object("forged-v2")},
				"kubernetes": {"POST", "/apis/ray.io/v1/namespaces/" + teamB + "/rayclusters", strings.Replace(object("forged-kube"), "{", `{"apiVersion":"ray.io/v1","kind":"RayCluster",`, 1)},
				"v1":         {"POST", "/apis/v1/namespaces/" + teamB + "/compute_templates", `{"name":"forged","namespace":"` + teamB + `","cpu":1,"memory":1}`},
				"dashboard":  {"GET", "/api/v1/namespaces/" + teamB + "/services/any-head-svc/proxy/api/actors/kill", ""},
				"read":       {"GET", "/apis/v2/namespaces/" + teamB + "/clusters", ""},
			}
			for page, headers := range foreign {
				if page == site.allowed {
					continue
				}
				for what, f := range forge {
					for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
						got := send(t, site.browser, f.method, site.url+f.path, f.body, append(headers, "Content-Type", contentType)...)
						if got.code != http.StatusForbidden && got.code != http.StatusUnsupportedMediaType {
							t.Errorf("%s of %s as %q: %d %.200s", what, page, contentType, got.code, got.body)
						}
					}
				}
			}
			var clusters rayv1.RayClusterList
			if err := stage.kube.List(t.Context(), &clusters, client.InNamespace(teamB)); err != nil {
				t.Fatal(err)
			}
			for _, rc := range clusters.Items {
				if strings.HasPrefix(rc.Name, "forged") {
					t.Errorf("a page of another site has made RayCluster %s", rc.Name)
				}
			}
			// The same by its user.
			if got := send(t, site.browser, "POST", site.url+forge["v2"].path+"?validateOnly=true", forge["v2"].body, "Content-Type", "application/json"); got.code >= 300 {
				t.Errorf("by the user: %d %s", got.code, got.body)
			}
			if got := send(t, site.browser, "GET", site.url+"/docs", "", "Sec-Fetch-Site", "cross-site"); got.code != http.StatusOK {
				t.Errorf("a link to the documentation: %d", got.code)
			}
		})
	}
}

// withCertificates starts a gateway that knows callers by their certificates, without the console, and returns the browser of an administrator.
func withCertificates(t *testing.T) (*gateway, *http.Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "raygate-visitor"}, IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	cert, keyText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	must(t, os.WriteFile(certFile, cert, 0o600))
	must(t, os.WriteFile(keyFile, keyText, 0o600))
	g := start(t, "certificates", "--authentication=impersonate", "--enable-console=false", "--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile, "--client-ca-file="+certFile)
	g.url = strings.Replace(g.url, "http://", "https://", 1)
	allow(t, "raygate-visitor")
	pair, err := tls.X509KeyPair(cert, keyText)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return g, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
