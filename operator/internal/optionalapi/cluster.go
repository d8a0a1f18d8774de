package optionalapi

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// RequestLimit limits one request about an optional kind, so that a server that hangs blocks nothing else.
const RequestLimit = 5 * time.Second

// New returns the optional kinds of the manager's cluster. It adds caches to the manager that are empty until a kind is watched.
// They do not share discovery with the manager's cache, where one hanging server would delay the reads of every kind. namespaces
// restricts the caches; empty means all.
func New(mgr ctrl.Manager, namespaces map[string]cache.Config, c clock.PassiveClock) (*Kinds, error) {
	finder, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making the client for discovery: %w", err)
	}
	known := &found{DefaultRESTMapper: meta.NewDefaultRESTMapper(nil)}
	live, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: known})
	if err != nil {
		return nil, fmt.Errorf("making the client of optional kinds: %w", err)
	}
	k := NewFixed(direct{finder}, live, c)
	k.found = known
	marked, err := labels.Parse(rayv1.LabelCluster) // exists
	if err != nil {
		return nil, fmt.Errorf("making the selector: %w", err)
	}
	refused := &refusals{}
	for _, one := range []struct {
		selector labels.Selector
		into     *cache.Cache
	}{{marked, &k.marked}, {labels.Everything(), &k.all}} {
		ca, err := cache.New(mgr.GetConfig(), cache.Options{
			HTTPClient:               mgr.GetHTTPClient(),
			Scheme:                   mgr.GetScheme(),
			Mapper:                   known,
			DefaultNamespaces:        maps.Clone(namespaces),
			DefaultLabelSelector:     one.selector,
			DefaultTransform:         cache.TransformStripManagedFields(),
			DefaultWatchErrorHandler: refused.handle,
		})
		if err != nil {
			return nil, fmt.Errorf("making a cache of optional kinds: %w", err)
		}
		if err := mgr.Add(ca); err != nil {
			return nil, fmt.Errorf("adding a cache of optional kinds: %w", err)
		}
		*one.into = ca
	}
	return k, nil
}

// direct asks the API server about one version of a group, each time. A RESTMapper of the client libraries holds a lock during
// requests, and treats a group whose server is down as one without kinds.
type direct struct {
	discovery *discovery.DiscoveryClient
}

// RESTMapping implements mapper for one version.
func (d direct) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	ctx, cancel := context.WithTimeout(context.Background(), RequestLimit)
	defer cancel()
	for _, version := range versions {
		gv := schema.GroupVersion{Group: kind.Group, Version: version}
		list, err := d.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if r.Kind != kind.Kind || strings.Contains(r.Name, "/") {
				continue
			}
			scope := meta.RESTScopeRoot
			if r.Namespaced {
				scope = meta.RESTScopeNamespace
			}
			return &meta.RESTMapping{Resource: gv.WithResource(r.Name), GroupVersionKind: gv.WithKind(kind.Kind), Scope: scope}, nil
		}
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
}

// found maps the kinds that were found to be served. It makes no requests.
type found struct {
	*meta.DefaultRESTMapper
	mappings sync.Map // *meta.RESTMapping by schema.GroupVersionKind
}

// RESTMapping implements meta.RESTMapper; it is the only method that caches and clients of unstructured objects call.
func (f *found) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	for _, version := range versions {
		if m, ok := f.mappings.Load(kind.WithVersion(version)); ok {
			return m.(*meta.RESTMapping), nil
		}
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
}

// refusals logs a forbidden watch once per resource. The watch retries, because the permission may be granted later.
type refusals struct{ logged sync.Map }

func (r *refusals) handle(ctx context.Context, reflector *toolscache.Reflector, err error) {
	if !apierrors.IsForbidden(err) {
		toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
		return
	}
	// The text names the resource and is stable.
	if _, again := r.logged.LoadOrStore(err.Error(), true); !again {
		ctrllog.FromContext(ctx).Error(err, "Watching an optional kind is forbidden, so its objects are read again and again; the rights are in a component of operator/config")
	}
}
