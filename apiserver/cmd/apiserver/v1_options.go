package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// V1Options are the options of KubeRay's V1 API.
type V1Options struct {
	Enabled bool
	// Authentication is passthrough, static-token or none.
	Authentication string
	// ServiceAccount is the namespace/name of the ServiceAccount of callers without credentials of their own.
	ServiceAccount string
	TokenFile      string
	// KubernetesPaths serves some paths of the Kubernetes API.
	KubernetesPaths bool
	// CacheTemplates keeps the compute templates in a cache, which needs a right on ConfigMaps.
	CacheTemplates bool
	// CacheEvents keeps the events about Ray's objects in a cache, which needs a right on events.
	CacheEvents bool

	token string
}

// The values of --v1-authentication.
const (
	v1Passthrough = "passthrough"
	v1StaticToken = "static-token"
	v1None        = "none"
)

func (v *V1Options) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Enabled, "enable-v1", v.Enabled, "Serve KubeRay's V1 API (gRPC package proto, REST /apis/v1) beside v2.")
	fs.StringVar(&v.Authentication, "v1-authentication", v.Authentication, "Authentication of callers of V1. passthrough: as --authentication. static-token: callers with the token of --v1-token-file in the Authorization header, with or without Bearer, act as --v1-service-account. none: all callers act as --v1-service-account. The last two listen on loopback only, unless --insecure-allow-remote-none is set.")
	fs.StringVar(&v.ServiceAccount, "v1-service-account", v.ServiceAccount, "namespace/name of the ServiceAccount that callers of V1 act as with --v1-authentication=static-token or none. The gateway needs the right to create its tokens (serviceaccounts/token), or with --authentication=impersonate to impersonate it.")
	fs.StringVar(&v.TokenFile, "v1-token-file", v.TokenFile, "File with the token of --v1-authentication=static-token. Use a random token, not the 12345 of KubeRay's documentation.")
	fs.BoolVar(&v.KubernetesPaths, "enable-kubernetes-paths", v.KubernetesPaths, "With --enable-v1, serve what KubeRay's API server serves of the Kubernetes API: /apis/ray.io/v1, events of Ray objects, and the proxy of the Services of Ray clusters. Authentication is that of V1.")
	fs.BoolVar(&v.CacheTemplates, "v1-cache-templates", v.CacheTemplates, "Watch the compute templates of V1, which saves a request for each template that a create names. It needs the right to list and watch ConfigMaps; without it templates are read with the caller's rights.")
	fs.BoolVar(&v.CacheEvents, "v1-cache-events", v.CacheEvents, "Watch the events about Ray's objects, which saves a request, for two when a service is read, when V1 answers with an object and its events. It needs the right to list and watch events.")
}

// readToken reads the file with the token, if there is one.
func (v *V1Options) readToken() error {
	if v.TokenFile == "" {
		return nil
	}
	token, err := os.ReadFile(v.TokenFile)
	if err != nil {
		return fmt.Errorf("reading --v1-token-file: %w", err)
	}
	if v.token = strings.TrimSpace(string(token)); v.token == "" {
		return fmt.Errorf("--v1-token-file %s is empty", v.TokenFile)
	}
	return nil
}

func (o *Options) validateV1(check func(wrong bool, format string, args ...any)) {
	switch v := &o.V1; {
	case !v.Enabled || v.Authentication == v1Passthrough:
	case v.Authentication != v1StaticToken && v.Authentication != v1None:
		check(true, "--v1-authentication=%s is not known: use passthrough, static-token or none", v.Authentication)
	default:
		check(!isNamespacedName(v.ServiceAccount), "--v1-authentication=%s needs --v1-service-account=namespace/name, got %q", v.Authentication, v.ServiceAccount)
		check(v.Authentication == v1StaticToken && v.token == "", "--v1-authentication=static-token needs --v1-token-file")
		o.checkLocal(check, fmt.Sprintf("--v1-authentication=%s callers of V1 share the rights of %s", v.Authentication, v.ServiceAccount))
	}
}
