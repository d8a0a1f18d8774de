package raygate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
)

// Identity is the identity of a user in a kubeconfig.
type Identity struct {
	// Token is the token of the user, from a token, a file or a credential plugin. It is empty for a user without a token.
	Token TokenSource
	// Certificate is the user's client certificate, for gateways that require one; nil if the user has none.
	Certificate func(*tls.CertificateRequestInfo) (*tls.Certificate, error)
	// Namespace of the context; default when it names none.
	Namespace string
}

// Kubeconfig reads the user of a kubeconfig. An empty path means kubectl's files, an empty contextName the current context. Tokens are
// requested when needed and refreshed as kubectl does. The server in the kubeconfig is the Kubernetes API server and is not used.
func Kubeconfig(path, contextName string) (*Identity, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	id, err := IdentityOf(cfg)
	if err != nil {
		return nil, err
	}
	id.Namespace = namespace
	return id, nil
}

// IdentityOf returns the user of a client configuration.
func IdentityOf(cfg *rest.Config) (*Identity, error) {
	conf, err := cfg.TransportConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the user of the kubeconfig: %w", err)
	}
	// Wrap the transport as for a connection to the API server; headerOnly records the headers and sends nothing.
	wrapped, err := transport.HTTPWrappersForConfig(conf, headerOnly{})
	if err != nil {
		return nil, fmt.Errorf("reading the user of the kubeconfig: %w", err)
	}
	id := &Identity{Token: func(ctx context.Context) (string, error) { return tokenOf(ctx, wrapped) }}
	// Only the certificate: whom to trust is said of the gateway and not of the API server.
	conf.TLS.CAFile, conf.TLS.CAData, conf.TLS.Insecure, conf.TLS.ServerName = "", nil, false, ""
	tlsConfig, err := transport.TLSConfigFor(conf)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate of the kubeconfig: %w", err)
	}
	if tlsConfig != nil {
		id.Certificate = tlsConfig.GetClientCertificate
	}
	return id, nil
}

func tokenOf(ctx context.Context, wrapped http.RoundTripper) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://raygate.invalid/", nil)
	if err != nil {
		return "", err
	}
	resp, err := wrapped.RoundTrip(req)
	if err != nil {
		return "", fmt.Errorf("getting the token of the kubeconfig's user: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // http.NoBody
	scheme, token, _ := strings.Cut(resp.Request.Header.Get("Authorization"), " ")
	if token != "" && !strings.EqualFold(scheme, "bearer") {
		return "", errors.New("the kubeconfig's user has a password: the gateway takes tokens only")
	}
	return token, nil
}

// headerOnly answers every request without sending it.
type headerOnly struct{}

// RoundTrip implements http.RoundTripper.
func (headerOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}
