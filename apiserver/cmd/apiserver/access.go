package main

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// access is who calls, what they may read, and as whom requests go to Kubernetes.
type access struct {
	identifier authn.Identifier
	authorizer authz.Authorizer
	// caller acts as the caller of each request, own as the gateway.
	caller, own *rest.Config
}

func newAccess(o *Options, certificates *certificates) (*access, error) {
	mode := authn.Mode(o.Authentication)
	a := &access{caller: authn.CallerConfig(o.restConfig, mode), own: authn.OwnConfig(o.restConfig, mode)}
	if mode == authn.None {
		a.identifier, a.authorizer = authn.NewAnyone(), authz.AllowAll{}
		return a, nil
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
	if mode == authn.Impersonate {
		a.identifier = proven(o, certificates)
		return a, nil
	}
	selves, err := client(authenticationv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	a.identifier = authn.NewTokens(func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
		answer := &authenticationv1.SelfSubjectReview{}
		return answer, selves.Post().Resource("selfsubjectreviews").Body(&authenticationv1.SelfSubjectReview{}).Do(ctx).Into(answer)
	}, nil)
	return a, nil
}

// proven identifies callers as the Kubernetes API server does: the headers of a proxy with a certificate of the one CA, else a certificate of the other.
func proven(o *Options, certificates *certificates) authn.Identifier {
	var p authn.Proven
	if certificates.proxyCA != nil {
		list := func(values []string) headerrequest.StringSliceProvider {
			return headerrequest.StaticStringSlice(values)
		}
		h := o.RequestHeader
		p.By = append(p.By, headerrequest.NewDynamicVerifyOptionsSecure(certificates.proxyCA.VerifyOptions,
			list(h.AllowedNames), list(h.UsernameHeaders), list(h.UIDHeaders), list(h.GroupHeaders), list(h.ExtraHeaderPrefixes)))
	}
	if certificates.clientCA != nil {
		p.By = append(p.By, x509.NewDynamic(certificates.clientCA.VerifyOptions, x509.CommonNameUserConversion))
	}
	return p
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
