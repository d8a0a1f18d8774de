package main

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	servicev1 "github.com/raygate/raygate/apiserver/internal/service/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// clients send requests to the API server. Those named own act as the gateway, all others as the caller in the context of a request.
type clients struct {
	config, ownConfig             *rest.Config
	core, ownCore                 *rest.RESTClient
	authentication, authorization *rest.RESTClient
	ownAuthentication             *rest.RESTClient
	ray, ownRay                   *rest.RESTClient
	configMaps, ownConfigMaps     *rest.RESTClient
}

func newClients(config *rest.Config, mode authn.Mode) (*clients, error) {
	c := &clients{config: authn.CallerConfig(config, mode), ownConfig: authn.OwnConfig(config, mode)}
	gvks := make([]schema.GroupVersionKind, len(kinds))
	for i := range kinds {
		gvks[i] = kinds[i].GroupVersionKind
	}
	builtin, ray, templates := clientscheme.Scheme, store.NewScheme(gvks...), store.NewScheme(servicev1.TemplateKind.GroupVersionKind)
	for _, n := range []struct {
		client **rest.RESTClient
		config *rest.Config
		scheme *runtime.Scheme
		group  schema.GroupVersion
	}{
		{&c.core, c.config, builtin, corev1.SchemeGroupVersion},
		{&c.ownCore, c.ownConfig, builtin, corev1.SchemeGroupVersion},
		{&c.authentication, c.config, builtin, authenticationv1.SchemeGroupVersion},
		{&c.ownAuthentication, c.ownConfig, builtin, authenticationv1.SchemeGroupVersion},
		{&c.authorization, c.config, builtin, authorizationv1.SchemeGroupVersion},
		{&c.ray, c.config, ray, rayv1.GroupVersion},
		{&c.ownRay, c.ownConfig, ray, rayv1.GroupVersion},
		{&c.configMaps, c.config, templates, corev1.SchemeGroupVersion},
		{&c.ownConfigMaps, c.ownConfig, templates, corev1.SchemeGroupVersion},
	} {
		onWarning := interceptor.AddWarning
		if n.client != &c.ray {
			onWarning = nil
		}
		var err error
		if *n.client, err = store.NewClient(n.config, n.scheme, n.group, onWarning); err != nil {
			return nil, err
		}
	}
	return c, nil
}
