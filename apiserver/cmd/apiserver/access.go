package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/rest/kube"
	restv1 "github.com/raygate/raygate/apiserver/internal/rest/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// access is who calls, what they may read, and as whom requests go to Kubernetes.
type access struct {
	identifier authn.Identifier
	authorizer authz.Authorizer
	rules      authz.RulesReview // nil with none
	// caller acts as the caller of each request, own as the gateway.
	caller, own *rest.Config
}

func newAccess(o *Options, certificates *certificates) (*access, error) {
	mode := authn.Mode(o.Authentication)
	a := &access{caller: authn.CallerConfig(o.restConfig, mode), own: authn.OwnConfig(o.restConfig, mode)}
	if mode == authn.None {
		a.identifier, a.authorizer = authn.NewAnyone(), authz.AllowAll{}
		return a, a.addV1(o)
	}
	client := func(gv schema.GroupVersion) (*rest.RESTClient, error) {
		return store.NewClient(a.caller, clientscheme.Scheme, gv, store.ClientOptions{})
	}
	reviews, err := client(authorizationv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	a.authorizer = authz.NewReviews(func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) (*authorizationv1.SelfSubjectAccessReview, error) {
		answer := &authorizationv1.SelfSubjectAccessReview{}
		return answer, reviews.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(answer)
	}, nil)
	a.rules = func(ctx context.Context, namespace string) (*authorizationv1.SubjectRulesReviewStatus, error) {
		review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
		return &review.Status, reviews.Post().Resource("selfsubjectrulesreviews").Body(review).Do(ctx).Into(review)
	}
	if mode == authn.Impersonate {
		a.identifier = proven(o, certificates)
		return a, a.addV1(o)
	}
	selves, err := client(authenticationv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	a.identifier = authn.NewTokens(func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
		answer := &authenticationv1.SelfSubjectReview{}
		return answer, selves.Post().Resource("selfsubjectreviews").Body(&authenticationv1.SelfSubjectReview{}).Do(ctx).Into(answer)
	}, nil)
	return a, a.addV1(o)
}

// v1Paths are those of V1, by REST and by gRPC.
var v1Paths = append([]string{restv1.Prefix, "/proto."}, kube.Prefixes...)

// addV1 identifies the callers of V1 in the way that they are used to.
func (a *access) addV1(o *Options) error {
	if !o.V1.Enabled || o.V1.Authentication == v1Passthrough {
		return nil
	}
	namespace, name, _ := strings.Cut(o.V1.ServiceAccount, "/")
	those := a.identifier // with none everybody is the process itself already
	switch authn.Mode(o.Authentication) {
	case authn.None:
	case authn.Impersonate:
		those = authn.NewAccount(namespace, name, nil, nil)
	default:
		tokens, err := store.NewClient(a.own, clientscheme.Scheme, corev1.SchemeGroupVersion, store.ClientOptions{})
		if err != nil {
			return err
		}
		those = authn.NewAccount(namespace, name, func(ctx context.Context, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
			answer := &authenticationv1.TokenRequest{}
			return answer, tokens.Post().Namespace(namespace).Resource("serviceaccounts").Name(name).SubResource("token").Body(request).Do(ctx).Into(answer)
		}, nil)
	}
	prefixes := v1Paths
	if o.V1.Authentication == v1StaticToken {
		those = authn.NewSecret(o.V1.token, those)
	} else {
		prefixes = append(slices.Clone(v1Paths), "/metrics") // as with KubeRay's server, of which callers need no credentials
	}
	a.identifier = authn.ByPath(prefixes, those, a.identifier)
	return nil
}

// proven identifies callers as the Kubernetes API server does: the headers of a proxy with a certificate of the one CA, else a certificate of the other.
func proven(o *Options, certificates *certificates) authn.Identifier {
	var authenticators []authenticator.Request
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

// certificates are the files of TLS, followed as they change.
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
