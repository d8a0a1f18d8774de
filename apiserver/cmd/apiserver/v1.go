package main

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rest/kube"
	restv1 "github.com/raygate/raygate/apiserver/internal/rest/v1"
	"github.com/raygate/raygate/apiserver/internal/reverseproxy"
	servicev1 "github.com/raygate/raygate/apiserver/internal/service/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/proto/gen/openapi"
)

// v1 has the parts of KubeRay's V1 API that v2 does not have.
type v1 struct {
	// templates are the ConfigMaps of compute templates.
	templates stores
	events    *servicev1.Events
	rest      []rest.API
}

// run fills the configured caches until ctx ends.
func (v *v1) run(ctx context.Context, o *V1Options) {
	if o.Enabled && o.CacheTemplates {
		v.templates.run(ctx)
	}
	if o.Enabled && o.CacheEvents {
		v.events.Run(ctx)
	}
}

// addV1 registers the services of V1 if it is enabled.
func (a *app) addV1() error {
	o, v := a.opts, &a.v1
	if !o.V1.Enabled {
		return nil
	}
	v.templates = newStores(servicev1.TemplateKind, o.Namespaces, store.Options{
		Reader: a.ownConfigMaps, Writer: a.configMaps, Tokens: &a.tokens, Views: a.views, Selector: servicev1.TemplateSelector, LogBytes: o.logBytes(),
	})
	v.events = &servicev1.Events{Authorizer: a.authorizer, Core: a.core, Watches: servicev1.WatchEvents(a.ownCore, o.Namespaces), Warn: interceptor.AddWarning}
	templates := &servicev1.Templates{Authorizer: a.authorizer, In: storeIn[servicev1.TemplateStore](v.templates), Core: a.core}
	for _, server := range a.servers {
		servicev1.Register(server, servicev1.Options{
			Clusters: a.resources[0], Jobs: a.resources[1], Services: a.resources[2], Dashboards: a.dashboards,
			Views: a.views, Templates: templates, Events: v.events,
		})
	}
	return a.addV1REST(templates)
}

// addV1REST adds the paths of V1.
func (a *app) addV1REST(templates *servicev1.Templates) error {
	api := restv1.New(restv1.Options{Conn: a.channel, FlowControl: a.flow})
	documents, err := fs.Sub(openapi.KubeRay, "kuberay")
	if err != nil {
		return fmt.Errorf("finding the Swagger documents: %w", err)
	}
	ambient := a.opts.V1.Authentication == v1None
	local := ambient && !a.opts.InsecureAllowRemoteNone
	add := func(served rest.API) {
		served.Local = local
		a.v1.rest = append(a.v1.rest, served)
	}
	add(rest.API{Prefix: restv1.Prefix, Handler: api, WriteError: api.WriteError, Ambient: ambient})
	pages := api.Pages(promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}), documents)
	for _, prefix := range restv1.PagePrefixes {
		add(rest.API{Prefix: prefix, Handler: pages, WriteError: api.WriteError, Public: prefix != "/metrics"})
	}
	if !a.opts.V1.KubernetesPaths {
		return nil
	}
	paths, err := a.newKube(templates)
	if err != nil {
		return err
	}
	for _, prefix := range kube.Prefixes {
		add(rest.API{Prefix: prefix, Handler: paths, WriteError: paths.WriteError, Ambient: ambient})
	}
	return nil
}

// newKube returns the handler of some paths of the Kubernetes API.
func (a *app) newKube(templates *servicev1.Templates) (*kube.Handler, error) {
	host, transport, err := reverseproxy.ToAPIServer(a.config)
	if err != nil {
		return nil, err
	}
	return kube.New(kube.Options{
		Transport: transport, Host: host, FlowControl: a.flow, Expand: templates.Expand, Stop: a.stop, Record: a.record,
		IsRayService: func(ctx context.Context, namespace, name string) (bool, error) {
			service := &corev1.Service{}
			err := a.core.Get().Namespace(namespace).Resource("services").Name(name).Do(ctx).Into(service)
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return service.Labels[rayv1.LabelAppName] == rayv1.AppName, err
		},
	}), nil
}
