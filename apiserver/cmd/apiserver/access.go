package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authn/issuers"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/rest/kube"
	restv1 "github.com/raygate/raygate/apiserver/internal/rest/v1"
)

// access identifies callers and authorizes their reads.
type access struct {
	identifier authn.Identifier
	authorizer authz.Authorizer
	rules      authz.RulesReview // nil with none
}

func newAccess(ctx context.Context, o *Options, c *clients, certificates *certificates) (*access, error) {
	a := &access{}
	switch authn.Mode(o.Authentication) {
	case authn.None:
		a.identifier, a.authorizer = authn.NewAnyone(), authz.AllowAll{}
	case authn.Impersonate:
		a.identifier = proven(o, certificates)
		review, err := impersonated(ctx, o, c)
		if err != nil {
			return nil, err
		}
		if review != nil {
			a.identifier = authn.NewEither(authn.NewTokens(review, nil), a.identifier)
		}
		a.addReviews(c.authorization)
	default:
		a.identifier = authn.NewTokens(func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
			answer := &authenticationv1.SelfSubjectReview{}
			return answer, c.authentication.Post().Resource("selfsubjectreviews").Body(&authenticationv1.SelfSubjectReview{}).Do(ctx).Into(answer)
		}, nil)
		a.addReviews(c.authorization)
	}
	if o.V1.Enabled && o.V1.Authentication != v1Passthrough {
		a.addV1(o, c)
	}
	return a, nil
}

// impersonated identifies callers of the mode impersonate by their tokens; nil if there are only certificates.
func impersonated(ctx context.Context, o *Options, c *clients) (authn.SelfReview, error) {
	var review authn.SelfReview
	if len(o.TokenAudiences) > 0 {
		review = authn.ReviewAccounts(func(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
			answer := &authenticationv1.TokenReview{}
			return answer, c.ownAuthentication.Post().Resource("tokenreviews").Body(review).Do(ctx).Into(answer)
		}, o.TokenAudiences)
	}
	if o.issuers == nil {
		return review, nil
	}
	known, err := issuers.New(ctx, o.issuers)
	if err != nil {
		return nil, err
	}
	return authn.ReviewJWT(known, review), nil
}

// addReviews authorizes callers by the access reviews of the API server.
func (a *access) addReviews(c *rest.RESTClient) {
	a.authorizer = authz.NewReviews(func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) (*authorizationv1.SelfSubjectAccessReview, error) {
		answer := &authorizationv1.SelfSubjectAccessReview{}
		return answer, c.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(answer)
	}, nil)
	a.rules = func(ctx context.Context, namespace string) (*authorizationv1.SubjectRulesReviewStatus, error) {
		review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
		return &review.Status, c.Post().Resource("selfsubjectrulesreviews").Body(review).Do(ctx).Into(review)
	}
}

// v1Paths are the paths of V1, for REST and for gRPC.
var v1Paths = append([]string{restv1.Prefix, "/proto."}, kube.Prefixes...)

// addV1 identifies the callers of V1 as --v1-service-account.
func (a *access) addV1(o *Options, c *clients) {
	namespace, name, _ := strings.Cut(o.V1.ServiceAccount, "/")
	var those authn.Identifier
	switch authn.Mode(o.Authentication) {
	case authn.None: // every caller is the process itself already
		those = a.identifier
	case authn.Impersonate:
		those = authn.NewAccount(namespace, name, nil, nil)
	default:
		those = authn.NewAccount(namespace, name, func(ctx context.Context, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
			answer := &authenticationv1.TokenRequest{}
			return answer, c.ownCore.Post().Namespace(namespace).Resource("serviceaccounts").Name(name).SubResource("token").Body(request).Do(ctx).Into(answer)
		}, nil)
	}
	prefixes := v1Paths
	if o.V1.Authentication == v1StaticToken {
		those = authn.NewSecret(o.V1.token, those)
	} else {
		prefixes = append(slices.Clone(v1Paths), "/metrics") // KubeRay's server serves it without credentials
	}
	a.identifier = authn.ByPath(prefixes, those, a.identifier)
}

// proven identifies callers as the Kubernetes API server does: by the headers of a proxy with a certificate of its CA, or else by a client
// certificate.
func proven(o *Options, certificates *certificates) authn.Identifier {
	var authenticators []authenticator.Request
	if certificates == nil {
		return authn.NewProven()
	}
	if certificates.proxyCA != nil {
		list := func(values []string) headerrequest.StringSliceProvider {
			return headerrequest.StaticStringSlice(values)
		}
		h := o.RequestHeader
		authenticators = append(authenticators, headerrequest.NewDynamicVerifyOptionsSecure(certificates.proxyCA.VerifyOptions,
			list(h.AllowedNames), list(h.UsernameHeaders), list(h.UIDHeaders), list(h.GroupHeaders), list(h.ExtraHeaderPrefixes)))
	}
	if certificates.clientCA != nil {
		authenticators = append(authenticators, x509.NewDynamic(certificates.clientCA.VerifyOptions, x509.CommonNameUserConversion))
	}
	return authn.NewProven(authenticators...)
}

// certificates are the TLS files, which are read again when they change.
type certificates struct {
	serving           *dynamiccertificates.DynamicCertKeyPairContent
	clientCA, proxyCA *dynamiccertificates.DynamicFileCAContent
}

// loadCertificates reads the files; nil for plain text.
func loadCertificates(o *Options) (*certificates, error) {
	if o.TLSCertFile == "" {
		return nil, nil
	}
	c := &certificates{}
	var err error
	if c.serving, err = dynamiccertificates.NewDynamicServingContentFromFiles("serving", o.TLSCertFile, o.TLSKeyFile); err != nil {
		return nil, fmt.Errorf("reading the TLS certificate: %w", err)
	}
	for file, ca := range map[string]**dynamiccertificates.DynamicFileCAContent{o.ClientCAFile: &c.clientCA, o.RequestHeader.ClientCAFile: &c.proxyCA} {
		if file == "" {
			continue
		}
		if *ca, err = dynamiccertificates.NewDynamicCAContentFromFile("client-ca", file); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
	}
	return c, nil
}
