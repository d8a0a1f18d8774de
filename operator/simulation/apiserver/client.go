package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request is one request of a client.
type Request struct {
	// Verb is get, list, create, update, patch or delete. Status says that it is about the status.
	Verb   string
	Status bool
	Kind   schema.GroupKind
	Key    types.NamespacedName
	// Object is the written object; nil for reads.
	Object client.Object
}

// Writes reports whether the request may change an object.
func (r Request) Writes() bool { return r.Verb != "get" && r.Verb != "list" }

// Client is a client of one actor. Reads go to the store, or to a cache if it has one.
type Client struct {
	Store *Store
	// Actor is named in changes.
	Actor string
	// Cache answers reads; nil means the store.
	Cache client.Reader
	// Around wraps each request to the store: it may wait, fail before it calls do, or lose its answer. Nil calls do.
	Around func(ctx context.Context, r Request, do func() error) error
	// client.Client has the methods that nobody calls.
	client.Client
}

func (c *Client) do(ctx context.Context, verb string, status bool, o client.Object, f func() error) error {
	if c.Around == nil {
		return f()
	}
	key := client.ObjectKeyFromObject(o)
	if key.Name == "" {
		key.Name = o.GetGenerateName()
	}
	return c.Around(ctx, Request{Verb: verb, Status: status, Kind: c.Store.kind(o), Key: key, Object: o}, f)
}

// Get implements client.Reader.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if c.Cache != nil {
		return c.Cache.Get(ctx, key, o, opts...)
	}
	gk := c.Store.kind(o)
	get := func() error {
		c.Store.mu.Lock()
		defer c.Store.mu.Unlock()
		found, err := c.Store.find(gk, key)
		if err == nil {
			assign(o, found)
		}
		return err
	}
	if c.Around == nil {
		return get()
	}
	return c.Around(ctx, Request{Verb: "get", Kind: gk, Key: key}, get)
}

// List implements client.Reader.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if c.Cache != nil {
		return c.Cache.List(ctx, list, opts...)
	}
	gk := c.Store.kind(list)
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	read := func() error {
		var items []client.Object
		for _, found := range c.Store.All(gk) {
			if matches(found, &o) {
				items = append(items, found)
			}
		}
		return fill(list, items, true)
	}
	if c.Around == nil {
		return read()
	}
	return c.Around(ctx, Request{Verb: "list", Kind: gk, Key: types.NamespacedName{Namespace: o.Namespace}}, read)
}

// Create implements client.Writer.
func (c *Client) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	return c.do(ctx, "create", false, o, func() error { return c.Store.Create(c.Actor, o) })
}

// Update implements client.Writer.
func (c *Client) Update(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
	return c.do(ctx, "update", false, o, func() error {
		c.Store.mu.Lock()
		defer c.Store.mu.Unlock()
		return c.Store.update(c.Actor, c.Store.kind(o), o, false)
	})
}

// Delete implements client.Writer.
func (c *Client) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	d := client.DeleteOptions{}
	d.ApplyOptions(opts)
	return c.do(ctx, "delete", false, o, func() error { return c.Store.Delete(c.Actor, o, d) })
}

// Patch implements client.Writer.
func (c *Client) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.patch(ctx, o, p, false)
}

func (c *Client) patch(ctx context.Context, o client.Object, p client.Patch, status bool) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	return c.do(ctx, "patch", status, o, func() error {
		c.Store.mu.Lock()
		defer c.Store.mu.Unlock()
		gk := c.Store.kind(o)
		old, err := c.Store.find(gk, client.ObjectKeyFromObject(o))
		if err != nil {
			return err
		}
		next, err := patched(old, p.Type(), data)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if err := c.Store.update(c.Actor, gk, next, status); err != nil {
			return err
		}
		assign(o, next)
		return nil
	})
}

// patched applies a patch to a copy of an object. A resource version in the patch is a precondition.
func patched(old client.Object, kind types.PatchType, data []byte) (client.Object, error) {
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	var after []byte
	switch kind {
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, data)
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(data); err == nil {
			after, err = p.Apply(before)
		}
	default:
		return nil, fmt.Errorf("the model of the API server does not support patches of type %s", kind)
	}
	if err != nil {
		return nil, err
	}
	next := reflect.New(reflect.TypeOf(old).Elem()).Interface().(client.Object)
	return next, json.Unmarshal(after, next)
}

// Status implements client.StatusClient.
func (c *Client) Status() client.SubResourceWriter { return &statusClient{client: c} }

// SubResource implements client.SubResourceClientConstructor. There are the status, and evictions.
func (c *Client) SubResource(string) client.SubResourceClient { return &statusClient{client: c} }

type statusClient struct {
	client *Client
	client.SubResourceClient
}

// Update implements client.SubResourceWriter.
func (s *statusClient) Update(ctx context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	c := s.client
	return c.do(ctx, "update", true, o, func() error {
		c.Store.mu.Lock()
		defer c.Store.mu.Unlock()
		return c.Store.update(c.Actor, c.Store.kind(o), o, true)
	})
}

// Patch implements client.SubResourceWriter.
func (s *statusClient) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.client.patch(ctx, o, p, true)
}

// Create implements client.SubResourceWriter: it evicts a Pod. A dry run changes nothing, as a read.
func (s *statusClient) Create(ctx context.Context, o, eviction client.Object, _ ...client.SubResourceCreateOption) error {
	c, verb, d := s.client, "delete", eviction.(*policyv1.Eviction).DeleteOptions
	if len(d.DryRun) > 0 {
		verb = "get"
	}
	return c.do(ctx, verb, false, o, func() error {
		return c.Store.Evict(c.Actor, o, client.DeleteOptions{Preconditions: d.Preconditions, DryRun: d.DryRun})
	})
}

// Scheme implements client.Client.
func (c *Client) Scheme() *runtime.Scheme { return c.Store.scheme }

// RESTMapper implements client.Client. Nobody needs one.
func (c *Client) RESTMapper() meta.RESTMapper { return meta.NewDefaultRESTMapper(nil) }

// GroupVersionKindFor implements client.Client.
func (c *Client) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := c.Store.scheme.ObjectKinds(o)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return kinds[0], nil
}

// IsObjectNamespaced implements client.Client. All kinds here are.
func (c *Client) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }

// matches reports whether an object is one that a list asks for. Field selectors are a matter of caches.
func matches(o client.Object, opts *client.ListOptions) bool {
	return (opts.Namespace == "" || o.GetNamespace() == opts.Namespace) && (opts.LabelSelector == nil || opts.LabelSelector.Matches(labels.Set(o.GetLabels())))
}
