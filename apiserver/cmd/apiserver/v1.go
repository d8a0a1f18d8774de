package main

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	client "k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rest/kube"
	restv1 "github.com/raygate/raygate/apiserver/internal/rest/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	servicev1 "github.com/raygate/raygate/apiserver/internal/service/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/proto/gen/openapi"
)

// v1 is what KubeRay's V1 API has besides the parts of v2.
type v1 struct {
	// templates are the ConfigMaps of compute templates.
	templates stores
	events    *servicev1.Events
	rest      []rest.API
}

// run fills the caches that are asked for, until ctx ends.
func (v *v1) run(ctx context.Context, o *V1Options) {
	if o.Enabled && o.CacheTemplates {
		v.templates.run(ctx)
	}
	if o.Enabled && o.CacheEvents {
		v.events.Run(ctx)
	}
}

// apiParts are what the APIs have in common.
type apiParts struct {
	resources  []*resource.Resource // in the order of kinds
	dashboards *dashboardproxy.Proxy
	views      *document.Cache
	tokens     *store.Tokens
	core       *client.RESTClient
	stop       <-chan struct{}
	edge       *edge.Edge
	table      *rpcstatus.Table
	servers    []grpc.ServiceRegistrar
	conn       *interceptor.Channel
	metrics    prometheus.Gatherer
	// record makes a write of other paths visible to reads.
	record func(resource string, key types.NamespacedName, answer []byte) error
}

func (v *v1) templatesIn(namespace string) (servicev1.TemplateStore, error) {
	one, err := v.templates.one(namespace)
	if err != nil {
		return nil, err
	}
	return one, nil
}

// newV1 registers V1 where it is served.
func newV1(o *Options, access *access, p apiParts) (*v1, error) {
	if !o.V1.Enabled {
		return &v1{}, nil
	}
	scheme := store.NewScheme(servicev1.TemplateKind.GroupVersionKind)
	reader, err := store.NewClient(access.own, scheme, corev1.SchemeGroupVersion, store.ClientOptions{})
	if err != nil {
		return nil, err
	}
	writer, err := store.NewClient(access.caller, scheme, corev1.SchemeGroupVersion, store.ClientOptions{})
	if err != nil {
		return nil, err
	}
	v := &v1{templates: newStores(servicev1.TemplateKind, o.Namespaces, store.Options{
		Reader: reader, Writer: writer, Tokens: p.tokens, Views: p.views, Selector: servicev1.TemplateSelector, LogBytes: o.logBytes(),
	})}
	templates := &servicev1.Templates{Authorizer: access.authorizer, In: v.templatesIn, Core: p.core}
	own, err := store.NewClient(access.own, clientscheme.Scheme, corev1.SchemeGroupVersion, store.ClientOptions{})
	if err != nil {
		return nil, err
	}
	v.events = &servicev1.Events{Authorizer: access.authorizer, Core: p.core, Watches: servicev1.WatchEvents(own, o.Namespaces), Warn: interceptor.AddWarning}
	for _, server := range p.servers {
		servicev1.Register(server, servicev1.Options{
			Clusters: p.resources[0], Jobs: p.resources[1], Services: p.resources[2], Dashboards: p.dashboards, Views: p.views,
			Templates: templates, Events: v.events,
		})
	}
	api := restv1.New(restv1.Options{Conn: p.conn, Edge: p.edge, Table: p.table})
	ambient := o.V1.Authentication == v1None
	local := ambient && !o.InsecureAllowRemoteNone
	v.rest = []rest.API{{Prefix: restv1.Prefix, Handler: api, WriteError: api.WriteError, Local: local, Ambient: ambient}}
	documents, err := fs.Sub(openapi.KubeRay, "kuberay")
	if err != nil {
		return nil, fmt.Errorf("finding the Swagger documents: %w", err)
	}
	pages := api.Pages(promhttp.HandlerFor(p.metrics, promhttp.HandlerOpts{}), documents)
	for _, prefix := range restv1.PagePrefixes {
		v.rest = append(v.rest, rest.API{Prefix: prefix, Handler: pages, WriteError: api.WriteError, Local: local, Public: prefix != "/metrics"})
	}
	if !o.V1.KubernetesPaths {
		return v, nil
	}
	paths, err := newKube(access, p, templates)
	if err != nil {
		return nil, err
	}
	for _, prefix := range kube.Prefixes {
		v.rest = append(v.rest, rest.API{Prefix: prefix, Handler: paths, WriteError: paths.WriteError, Local: local, Ambient: ambient})
	}
	return v, nil
}

// newKube returns the handler of some paths of the Kubernetes API.
func newKube(access *access, p apiParts, templates *servicev1.Templates) (*kube.Handler, error) {
	config := client.CopyConfig(access.caller)
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrade to WebSocket
	host, _, err := client.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	transport, err := client.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("making the transport to the API server: %w", err)
	}
	return kube.New(kube.Options{
		Transport: transport, Host: host, Edge: p.edge, Table: p.table, Expand: templates.Expand, Stop: p.stop, Record: p.record,
		IsRayService: func(ctx context.Context, namespace, name string) (bool, error) {
			service := &corev1.Service{}
			err := p.core.Get().Namespace(namespace).Resource("services").Name(name).Do(ctx).Into(service)
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return service.Labels[rayv1.LabelAppName] == rayv1.AppName, err
		},
	}), nil
}
