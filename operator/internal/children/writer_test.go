package children

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/backoff"
	"github.com/raygate/raygate/operator/internal/build/child"
)

// TestHowErrorsAreSorted distinguishes errors for the user, temporary conflicts, and other errors of the API server.
func TestHowErrorsAreSorted(t *testing.T) {
	roles := schema.GroupResource{Resource: "roles"}
	controlled := &errNotOwned{controller: &metav1.OwnerReference{Kind: "ConfigMap", Name: "x"}}
	cases := map[string]struct {
		err       error
		exists    bool
		users     bool
		want      Operation // that failed, for the user to see; empty for none
		wantErr   bool      // handed to the work queue
		wantAfter time.Duration
	}{
		"forbidden":                        {err: apierrors.NewForbidden(roles, "r", nil), want: Create, wantAfter: RetryAfter},
		"forbidden to change":              {err: apierrors.NewForbidden(roles, "r", nil), exists: true, want: Update, wantAfter: RetryAfter},
		"somebody else's":                  {err: controlled, exists: true, want: Create, wantAfter: RetryAfter},
		"somebody else's, may be a user's": {err: controlled, users: true, want: Create, wantAfter: RetryAfter},
		"of a deleted owner of the name":   {err: errPredecessor, exists: true, wantAfter: soonGone},
		"nobody's":                         {err: &errNotOwned{}, want: Create, wantAfter: RetryAfter},
		"a user's own":                     {err: &errNotOwned{}, users: true},
		"being deleted":                    {err: errBeingDeleted, exists: true, want: Update, wantAfter: RetryAfter},
		"changed in between":               {err: apierrors.NewConflict(roles, "r", nil), exists: true, wantAfter: soonGone},
		"gone in between":                  {err: apierrors.NewNotFound(roles, "r"), exists: true, wantAfter: soonGone},
		"no namespace":                     {err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns"), want: Create, wantAfter: RetryAfter},
		"the API server has a moment":      {err: apierrors.NewInternalError(errors.New("etcd")), wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := New(Config{Clock: clocktesting.NewFakeClock(raytest.Epoch.Time)})
			a := attempt{key: backoff.Key{Owner: "uid", Attempt: "Role r"}, generation: 1}
			r := Result{}
			if tc.exists {
				r.Object = &rbacv1.Role{}
			}
			w.failed(a, Child{MayBeUsers: tc.users}, tc.exists, fmt.Errorf("writing: %w", tc.err), &r)
			var operation Operation
			if r.Failure != nil {
				operation = r.Failure.Operation
			}
			if diff := cmp.Diff([]any{tc.want, tc.wantErr, tc.wantAfter}, []any{operation, r.Err != nil, r.After}); diff != "" {
				t.Errorf("operation, error and time to look again (-want +got):\n%s", diff)
			}
			if found := w.found(a.key, 1); found != (name == "a user's own") {
				t.Errorf("taken for the user's: %t", found)
			}
		})
	}
}

// roles is a writer over a fake API server that counts patches.
func roles(t *testing.T, objects ...client.Object) (w *Writer, c client.Client, patches *int) {
	t.Helper()
	patches = new(int)
	c = fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			*patches++
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	return New(Config{Client: c, Live: c, Clock: clocktesting.NewFakeClock(raytest.Epoch.Time)}), c, patches
}

// TestOwnerMadeAnewUnderItsName has the child as soon as the garbage collector has removed that of the deleted owner, without a refusal.
func TestOwnerMadeAnewUnderItsName(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	rc.UID = "new"
	before := rc.DeepCopy()
	before.UID = "old"
	role := func(owner *rayv1.RayCluster) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: child.Meta(owner, "r", nil)}
	}
	w, c, _ := roles(t, role(before))
	for range 3 {
		if r := w.Ensure(t.Context(), rc, Child{Desired: role(rc)}); r.Failure != nil || r.Err != nil || r.Wanted() || r.After != soonGone {
			t.Errorf("want another look in a second, got %+v", r)
		}
	}
	if err := c.Delete(t.Context(), role(before)); err != nil {
		t.Fatal(err)
	}
	if r := w.Ensure(t.Context(), rc, Child{Desired: role(rc)}); !r.Wanted() || r.Done != Create {
		t.Errorf("want the child to be made, got %+v", r)
	}
}

// TestBackOffFromRepairsEndsWithAChangedOwner: a user who edits the owner makes us patch the child each time, and must not wait for it.
func TestBackOffFromRepairsEndsWithAChangedOwner(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	desired := func() *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: child.Meta(rc, "r", nil), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, Resources: []string{"pods"}}}}
	}
	w, c, patches := roles(t)
	ensure := func() Result { return w.Ensure(t.Context(), rc, Child{Desired: desired()}) }
	ensure()
	for range 3 * freeRepairs {
		spoil(t, c, desired())
		ensure()
	}
	if r := ensure(); *patches != freeRepairs || r.Failure == nil || r.Failure.Operation != Update || r.After != 2*time.Second {
		t.Fatalf("%d patches of a child that something else changes, result %+v", *patches, r)
	}
	for range 2 * freeRepairs {
		rc.Generation++
		spoil(t, c, desired())
		if r := ensure(); r.Done != Update || r.Failure != nil {
			t.Errorf("a changed owner gets %+v", r)
		}
	}
}

func spoil(t *testing.T, c client.Client, r *rbacv1.Role) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatal(err)
	}
	r.Rules = nil
	if err := c.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// TestOtherRepairsDoNotWait: an upgrade in steps changes the weights of an HTTPRoute many times for one generation of its owner.
func TestOtherRepairsDoNotWait(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	w, c, patches := roles(t)
	desired := func(verb string) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: child.Meta(rc, "r", nil), Rules: []rbacv1.PolicyRule{{Verbs: []string{verb}, Resources: []string{"pods"}}}}
	}
	ensure := func(verb string) Result { return w.Ensure(t.Context(), rc, Child{Desired: desired(verb)}) }
	ensure("v0")
	const wishes = 4 * freeRepairs
	for i := range wishes {
		if r := ensure(fmt.Sprint("v", 1+i%3)); r.Done != Update || r.Failure != nil {
			t.Fatalf("wish %d gets %+v", i, r)
		}
	}
	for range 3 * freeRepairs { // something else, and not the owner, wants another
		spoil(t, c, desired("last"))
		ensure("last")
	}
	if r := ensure("last"); *patches != wishes+freeRepairs || r.Failure == nil {
		t.Errorf("%d patches for one wish, failure %+v", *patches-wishes, r.Failure)
	}
}

// TestConflictIsNoFailure: the cache does not show yet what somebody else wrote.
func TestConflictIsNoFailure(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	theirs := &rbacv1.Role{ObjectMeta: child.Meta(rc, "r", nil)}
	theirs.UID = "uid"
	lags := true
	c := fake.NewClientBuilder().WithObjects(theirs).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if lags {
				return apierrors.NewConflict(schema.GroupResource{Resource: "roles"}, o.GetName(), errors.New("changed"))
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	w := New(Config{Client: c, Live: c, Clock: clocktesting.NewFakeClock(raytest.Epoch.Time)})
	desired := func() Child {
		return Child{Desired: &rbacv1.Role{ObjectMeta: child.Meta(rc, "r", nil), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}}}}}
	}
	for range 5 {
		if r := w.Ensure(t.Context(), rc, desired()); r.Err != nil || r.Failure != nil || r.After != soonGone || !r.Stale {
			t.Errorf("result %+v", r)
		}
	}
	lags = false
	if r := w.Ensure(t.Context(), rc, desired()); r.Done != Update {
		t.Errorf("after the cache has caught up: %+v", r)
	}
}
