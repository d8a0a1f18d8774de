// Package deviceclaims reads what the Pods of a RayCluster claim by dynamic resource allocation: ResourceClaimTemplates, ResourceClaims
// and DeviceClasses. It watches these kinds from the first cluster on that needs them. Package claims derives the devices.
package deviceclaims

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/pkg/devices/claims"
)

// Kinds that are read. Earlier versions than v1 are not supported: their API was not stable.
var (
	TemplateKind = resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate")
	ClaimKind    = resourcev1.SchemeGroupVersion.WithKind("ResourceClaim")
	ClassKind    = resourcev1.SchemeGroupVersion.WithKind("DeviceClass")
)

// Reader reads claims. It is safe for concurrent use.
type Reader struct {
	watches *optionalapi.Watches
	classes claims.Classes
}

// New returns a reader that maps the classes to Ray resources. Without kinds, no claims are read.
func New(kinds *optionalapi.Kinds, classes claims.Classes) *Reader {
	return &Reader{watches: &optionalapi.Watches{Kinds: kinds, Everything: true}, classes: classes}
}

// Result contains the devices that the Pods of a cluster claim.
type Result struct {
	// Groups are the devices by the name of the group; groups without claims are missing.
	Groups map[string]*claims.Devices
	// Unserved means that the cluster has claims, but the API server lacks the API.
	Unserved bool
	// Recheck is the time until the next read without an event; 0 for never.
	Recheck time.Duration
}

// Read returns what the Pods of a cluster claim. It sends no requests for clusters without claims, nor once the kinds are watched. An error
// means that the API server did not answer.
func (r *Reader) Read(ctx context.Context, rc *rayv1.RayCluster) (Result, error) {
	l := &lookup{Reader: r, ctx: ctx, namespace: rc.Namespace}
	out := Result{}
	for group, spec := range templates(rc) {
		if len(spec.ResourceClaims) == 0 {
			continue
		}
		if version, err := r.watches.Kinds.Version(TemplateKind.GroupKind(), TemplateKind.Version); err != nil || version == "" {
			return Result{Unserved: err == nil, Recheck: optionalapi.AbsentFor}, err
		}
		if out.Groups == nil {
			out.Groups = map[string]*claims.Devices{}
		}
		out.Groups[group] = claims.Of(spec, claims.Lookup{Template: l.template, Claim: l.claim, Class: l.class, Classes: r.classes})
	}
	out.Recheck = l.recheck
	return out, errors.Join(l.errs...)
}

// templates yields the Pods of the head and of each group with its name.
func templates(rc *rayv1.RayCluster) iter.Seq2[string, *corev1.PodSpec] {
	return func(yield func(string, *corev1.PodSpec) bool) {
		if !yield(rayv1.HeadGroupName, &rc.Spec.HeadGroupSpec.Template.Spec) {
			return
		}
		for i := range rc.Spec.WorkerGroupSpecs {
			if g := &rc.Spec.WorkerGroupSpecs[i]; !yield(g.GroupName, &g.Template.Spec) {
				return
			}
		}
	}
}

// lookup reads the objects of one cluster.
type lookup struct {
	*Reader
	ctx       context.Context
	namespace string
	recheck   time.Duration
	errs      []error
}

func (l *lookup) template(name string) (*resourcev1.ResourceClaimSpec, claims.State) {
	o := &resourcev1.ResourceClaimTemplate{}
	state := l.read(TemplateKind, client.ObjectKey{Namespace: l.namespace, Name: name}, o)
	return &o.Spec.Spec, state
}

func (l *lookup) claim(name string) (*resourcev1.ResourceClaimSpec, claims.State) {
	o := &resourcev1.ResourceClaim{}
	state := l.read(ClaimKind, client.ObjectKey{Namespace: l.namespace, Name: name}, o)
	return &o.Spec, state
}

func (l *lookup) class(name string) (*resourcev1.DeviceClass, claims.State) {
	o := &resourcev1.DeviceClass{}
	state := l.read(ClassKind, client.ObjectKey{Name: name}, o)
	if state != claims.Found {
		return nil, state
	}
	return o, state
}

// read reads an object from the cache once that is synced, else from the API server.
func (l *lookup) read(kind schema.GroupVersionKind, key client.ObjectKey, into any) claims.State {
	ready, err := l.watches.Ready(kind)
	if err == nil && !ready {
		return claims.Unreadable
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	if err == nil {
		err = l.watches.Get(l.ctx, key, u)
		l.recheck = reconcile.Sooner(l.recheck, l.watches.Recheck(kind))
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
	}
	switch {
	case err == nil:
		return claims.Found
	case apierrors.IsNotFound(err):
		return claims.Missing
	case apierrors.IsForbidden(err):
		return claims.Unreadable
	}
	l.errs = append(l.errs, fmt.Errorf("reading %s %s: %w", kind.Kind, key.Name, err))
	return claims.Unreadable
}
