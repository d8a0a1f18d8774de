// Package issuers verifies tokens of identity providers (OpenID Connect) that an AuthenticationConfiguration of Kubernetes lists.
package issuers

import (
	"context"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

// Load reads an AuthenticationConfiguration, in the form that kube-apiserver's --authentication-config has. It returns all mistakes at once.
func Load(file string) (*apiserver.AuthenticationConfiguration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoded, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	c, ok := decoded.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("reading %s: it is %T and not an AuthenticationConfiguration", file, decoded)
	}
	if len(c.JWT) == 0 || c.Anonymous != nil {
		return nil, fmt.Errorf("reading %s: it must list issuers under jwt, and nothing under anonymous: the gateway has no anonymous callers", file)
	}
	if err := validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), c, nil).ToAggregate(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return c, nil
}

// Issuers verify tokens, each those that name it.
type Issuers []oidc.AuthenticatorTokenWithHealthCheck

// New returns the issuers of c. They fetch and refresh their keys in the background until ctx ends.
func New(ctx context.Context, c *apiserver.AuthenticationConfiguration) (Issuers, error) {
	var all Issuers
	for _, jwt := range c.JWT {
		o := oidc.Options{JWTAuthenticator: jwt, SupportedSigningAlgs: oidc.AllValidSigningAlgorithms()}
		if ca := jwt.Issuer.CertificateAuthority; ca != "" {
			content, err := dynamiccertificates.NewStaticCAContent("issuer-ca", []byte(ca))
			if err != nil {
				return nil, fmt.Errorf("reading the CA of issuer %s: %w", jwt.Issuer.URL, err)
			}
			o.CAContentProvider = content
		}
		one, err := oidc.New(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("preparing issuer %s: %w", jwt.Issuer.URL, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// AuthenticateToken implements authenticator.Token. It is false without an error for a token that names no issuer. The error is ServiceUnavailable if the
// keys of the issuer that the token names were never fetched; no other issuer has a part in it.
func (all Issuers) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	for _, one := range all {
		away := one.HealthCheck()
		answer, ok, err := one.AuthenticateToken(ctx, token)
		switch {
		case err != nil && away != nil:
			return nil, false, apierrors.NewServiceUnavailable("the identity provider does not answer: " + away.Error())
		case err != nil || ok:
			return answer, ok, err
		}
	}
	return nil, false, nil
}
