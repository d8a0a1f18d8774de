package profile

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

const (
	resource = "configmaps"
	selector = rayv1.LabelConfigType + "=" + rayv1.ConfigTypeProfile
	// A list has at most pageSize times maxPages profiles of a namespace. Its memory is that of one page of ConfigMaps of any size, and of
	// the profiles.
	pageSize, maxPages, listRoom = 10, 20, 16 << 20
	// field of an object that names its profile.
	nameField = "metadata.labels[" + rayv1.LabelProfile + "]"
)

// Reader reads profiles with the rights of the caller.
type Reader struct {
	// Core reads ConfigMaps with the caller's credentials.
	Core       rest.Interface
	Authorizer authz.Authorizer
	// Namespace has the profiles for all namespaces. They come before those of a namespace itself, which its users may write. Empty means
	// that there are none.
	Namespace string
}

// Get returns the profile that an object of a namespace names. The caller needs the right to get its ConfigMap.
func (r *Reader) Get(ctx context.Context, namespace, name string) (*Profile, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, r.unknown(namespace, name)
	}
	var forbidden error
	for _, from := range r.namespaces(namespace) {
		cm := &corev1.ConfigMap{}
		err := r.Core.Get().Namespace(from).Resource(resource).Name(name).Do(ctx).Into(cm)
		switch {
		case apierrors.IsNotFound(err), err == nil && cm.Labels[rayv1.LabelConfigType] != rayv1.ConfigTypeProfile:
			continue
		case apierrors.IsForbidden(err):
			forbidden = cmp.Or(forbidden, err)
			continue
		case err != nil:
			return nil, err
		}
		p, errs := Parse(cm)
		if len(errs) > 0 {
			return nil, rpcstatus.Precondition("PROFILE_INVALID", "profile %s in namespace %s cannot be used: %s; correct its ConfigMap", name, from, explain(errs))
		}
		return p, nil
	}
	if forbidden != nil {
		return nil, forbidden
	}
	return nil, r.unknown(namespace, name)
}

func (r *Reader) unknown(namespace, name string) error {
	return rpcstatus.BadField(nameField, "%q is not a profile in the namespaces %s: use the name of one in `raygate profiles`, or leave out the label",
		rpcstatus.Quoted(name), strings.Join(r.namespaces(namespace), " and "))
}

// namespaces are those with the profiles of a namespace, the first one with a name counts.
func (r *Reader) namespaces(namespace string) []string {
	return slices.Compact(slices.DeleteFunc([]string{r.Namespace, namespace}, func(name string) bool { return name == "" }))
}

// List returns the profiles that the caller may use in a namespace, by name; with a mistake instead of the content where one cannot be used.
// It leaves out a namespace whose ConfigMaps the caller may not list, unless that is so for all.
func (r *Reader) List(ctx context.Context, namespace string) (all []Listed, err error) {
	if err := flowcontrol.Hold(ctx, listRoom); err != nil {
		return nil, err
	}
	seen, listed := map[string]bool{}, false
	for _, from := range r.namespaces(namespace) {
		found, e := r.listIn(ctx, from)
		if apierrors.IsForbidden(e) {
			err = cmp.Or(err, e)
			continue
		}
		if e != nil {
			return nil, e
		}
		listed = true
		for _, p := range found {
			if !seen[p.Name] {
				seen[p.Name] = true
				all = append(all, p)
			}
		}
	}
	if !listed {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// listIn returns the first profiles of one namespace.
func (r *Reader) listIn(ctx context.Context, namespace string) (all []Listed, err error) {
	o := &metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for range maxPages {
		var page corev1.ConfigMapList
		if err := r.Core.Get().Namespace(namespace).Resource(resource).VersionedParams(o, metav1.ParameterCodec).Do(ctx).Into(&page); err != nil {
			return nil, err
		}
		for i := range page.Items {
			cm := &page.Items[i]
			err := r.Authorizer.Authorize(ctx, authz.Access{Verb: "get", Resource: resource, Namespace: namespace, Name: cm.Name})
			switch {
			case err == nil:
				all = append(all, listedOf(cm))
			case !apierrors.IsForbidden(err):
				return nil, err
			}
		}
		if o.Continue = page.Continue; o.Continue == "" {
			break
		}
	}
	return all, nil
}

// Listed is a profile of a list. Mistake says why it cannot be used; empty if it can.
type Listed struct {
	Profile
	Mistake string
}

func listedOf(cm *corev1.ConfigMap) Listed {
	p, errs := Parse(cm)
	if len(errs) > 0 {
		return Listed{Profile{Name: cm.Name, Namespace: cm.Namespace}, explain(errs)}
	}
	return Listed{Profile: *p}
}

// explain returns the first mistakes of a document.
func explain(errs field.ErrorList) string {
	const most = 5
	var texts []string
	for _, e := range errs[:min(len(errs), most)] {
		texts = append(texts, Key+": "+e.Field+": "+e.Detail)
	}
	return strings.Join(texts, "; ")
}
