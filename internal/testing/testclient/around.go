package testclient

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Around is a client that calls do around each write. The verb is create, delete, patch or, for a status, "update status"; write carries it out.
func Around(c client.Client, do func(verb string, o client.Object, write func() error) error) client.WithWatch {
	watching, ok := c.(client.WithWatch)
	if !ok {
		watching = withoutWatch{c}
	}
	return interceptor.NewClient(watching, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return do("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return do("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return do("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return do("update "+sub, o, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

// withoutWatch adapts a client for an interceptor, which requires one that watches.
type withoutWatch struct{ client.Client }

// Watch implements client.WithWatch.
func (withoutWatch) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.ErrUnsupported
}
