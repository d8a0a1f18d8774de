package raygate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
)

// TokenSource returns the bearer token for a call. It is called for each call, so it must cache expensive tokens. An empty token sends
// none.
type TokenSource func(ctx context.Context) (string, error)

// serviceAccountToken is where Kubernetes mounts the token of a Pod's ServiceAccount.
const serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// StaticToken is a token that stays the same.
func StaticToken(token string) TokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// TokenFile reads a token from a file at each call, so that it uses a replaced token.
func TokenFile(path string) TokenSource {
	return func(context.Context) (string, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading token: %w", err)
		}
		return string(bytes.TrimSpace(data)), nil
	}
}

// ServiceAccountToken is the token of the Pod's ServiceAccount.
func ServiceAccountToken() TokenSource { return TokenFile(serviceAccountToken) }

// Names of the variables that ConfigFromEnvironment reads.
const (
	EnvServer               = "RAYGATE_SERVER"
	EnvLocalServer          = "RAYGATE_GRPC" // set by the settings of a local cluster
	EnvToken                = "RAYGATE_TOKEN"
	EnvTokenFile            = "RAYGATE_TOKEN_FILE"
	EnvCertificateAuthority = "RAYGATE_CERTIFICATE_AUTHORITY"
)

// ConfigFromEnvironment makes a Config from the variables named above; getenv is os.Getenv. Inside a Pod the ServiceAccount's token is the
// default.
func ConfigFromEnvironment(getenv func(string) string) (Config, error) {
	c := Config{Address: getenv(EnvServer)}
	if c.Address == "" {
		c.Address = getenv(EnvLocalServer)
	}
	token, file := getenv(EnvToken), getenv(EnvTokenFile)
	switch {
	case token != "" && file != "":
		return c, errors.New(EnvToken + " and " + EnvTokenFile + " are both set: leave one of them out")
	case token != "":
		c.Token = StaticToken(token)
	case file != "":
		c.Token = TokenFile(file)
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		if _, err := os.Stat(serviceAccountToken); err == nil {
			c.Token = ServiceAccountToken()
		}
	}
	if ca := getenv(EnvCertificateAuthority); ca != "" {
		tlsConfig, err := TrustFile(ca)
		if err != nil {
			return c, err
		}
		c.TLS = tlsConfig
	}
	return c, nil
}
