package networkpolicy

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/netpol"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/test/raytest"
)

// told collects events as "type reason action".
type told struct{ list []string }

// Eventf implements events.EventRecorder.
func (t *told) Eventf(_, _ runtime.Object, kind, reason, action, _ string, _ ...any) {
	t.list = append(t.list, kind+" "+reason+" "+action)
}

// TestOnePass shows what one look at a cluster of one group writes and tells.
func TestOnePass(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 1), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.NetworkPolicy = &rayv1.NetworkPolicyConfig{}
	}))
	with := func(opts ...raytest.ClusterOption) *rayv1.RayCluster {
		c := rc.DeepCopy()
		for _, o := range opts {
			o(c)
		}
		return c
	}
	unfenced := with(raytest.Spec(func(s *rayv1.RayClusterSpec) { s.NetworkPolicy = nil }))
	// Rules that KubeRay does not have are tolerated in a running cluster; its own are not.
	odd := with(raytest.Spec(func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.Template.Labels = map[string]string{"a b": "c"} }),
		func(rc *rayv1.RayCluster) { rc.Status.State = rayv1.ClusterStateReady })
	wrong := with(raytest.HeadContainer(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "RAY_REDIS_ADDRESS", Value: "r"}} }))
	head, workers := netpol.Head(rc), netpol.Group(rc, "a")
	open := head.DeepCopy()
	open.Spec.Ingress = nil
	foreign := head.DeepCopy()
	foreign.OwnerReferences = nil
	refused := func(verb string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "networkpolicies"}, "x", errors.New(verb))
	}
	cases := map[string]struct {
		cluster  *rayv1.RayCluster
		existing []client.Object
		refuse   bool // every write
		writes   []string
		events   []string
		wantErr  bool
	}{
		"new": {
			cluster: rc, writes: []string{"create demo-head", "create demo-workers-a"},
			events: []string{"Normal CreatedNetworkPolicy Create", "Normal CreatedNetworkPolicy Create"},
		},
		"nothing to do": {cluster: rc, existing: []client.Object{head, workers}},
		"one has changed": {
			cluster: rc, existing: []client.Object{open, workers}, writes: []string{"patch demo-head"},
			events: []string{"Normal UpdatedNetworkPolicy Update"},
		},
		"no longer wanted": {
			cluster: unfenced, existing: []client.Object{head}, writes: []string{"delete demo-head"},
			events: []string{"Normal DeletedNetworkPolicy Delete"},
		},
		"somebody else has the name": {
			cluster: rc, existing: []client.Object{foreign, workers}, writes: []string{"create demo-head"},
			events: []string{"Warning NetworkPolicyNameCollision Validate"},
		},
		"creating is refused": {
			cluster: rc, existing: []client.Object{workers}, refuse: true, writes: []string{"create demo-head"},
			events: []string{"Warning FailedToCreateNetworkPolicy Create"}, wantErr: true,
		},
		"changing is refused": {
			cluster: rc, existing: []client.Object{open, workers}, refuse: true, writes: []string{"patch demo-head"},
			events: []string{"Warning FailedToUpdateNetworkPolicy Update"}, wantErr: true,
		},
		"deleting is refused": {
			cluster: unfenced, existing: []client.Object{head}, refuse: true, writes: []string{"delete demo-head"},
			events: []string{"Warning FailedToDeleteNetworkPolicy Delete"}, wantErr: true,
		},
		"a spec that is tolerated is fenced": {
			cluster: odd, existing: []client.Object{workers}, writes: []string{"create demo-head"},
			events: []string{"Normal CreatedNetworkPolicy Create"},
		},
		"a spec that is refused is left alone":     {cluster: wrong, existing: []client.Object{open}},
		"a cluster of somebody else is left alone": {cluster: with(raytest.ManagedBy(rayv1.ManagedByMultiKueue)), existing: []client.Object{open}},
		"a cluster that is deleted is left alone":  {cluster: with(deleted), existing: []client.Object{open}},
		"a policy of somebody else stays":          {cluster: unfenced, existing: []client.Object{foreign}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var writes []string
			note := func(verb string, o client.Object) error {
				writes = append(writes, verb+" "+o.GetName())
				if tc.refuse {
					return refused(verb)
				}
				return nil
			}
			scheme := runtime.NewScheme()
			if err := errors.Join(clientgoscheme.AddToScheme(scheme), rayv1.AddToScheme(scheme)); err != nil {
				t.Fatal(err)
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.cluster.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					return unless(note("create", o), func() error { return c.Create(ctx, o, opts...) })
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					return unless(note("patch", o), func() error { return c.Patch(ctx, o, p, opts...) })
				},
				Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					return unless(note("delete", o), func() error { return c.Delete(ctx, o, opts...) })
				},
			})
			for _, o := range tc.existing {
				c = c.WithObjects(o.DeepCopyObject().(client.Object))
			}
			server := c.Build()
			recorder := &told{}
			r := New(Config{
				Client: server, Live: server, Recorder: recorder, Enabled: true,
				Validation: validation.Options{Gates: map[validation.Gate]bool{validation.GateNetworkPolicy: true}},
			})
			request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(tc.cluster)}
			result, err := r.Reconcile(t.Context(), request)
			if (err != nil) != tc.wantErr {
				t.Errorf("error %v, want one: %t", err, tc.wantErr)
			}
			if collision := len(tc.events) > 0 && tc.events[0] == "Warning NetworkPolicyNameCollision Validate"; (result.RequeueAfter > 0) != collision || slices.Equal(r.Foreign(tc.cluster), []string{"demo-head"}) != collision {
				t.Errorf("looks again after %s, foreign are %v", result.RequeueAfter, r.Foreign(tc.cluster))
			}
			if diff := cmp.Diff(tc.writes, writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.events, recorder.list); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if _, err := r.Reconcile(t.Context(), request); (err != nil) != tc.wantErr || len(recorder.list) != len(tc.events) {
				t.Errorf("the second look ends with %v and tells %v", err, recorder.list[len(tc.events):])
			}
		})
	}
}

func deleted(rc *rayv1.RayCluster) {
	rc.DeletionTimestamp, rc.Finalizers = new(metav1.NewTime(raytest.Epoch.Time)), []string{"example.com/wait"}
}

func unless(err error, otherwise func() error) error {
	if err != nil {
		return err
	}
	return otherwise()
}

// TestWhatWasToldIsForgottenWithTheCluster: a cluster that takes the name later is told of its own troubles.
func TestWhatWasToldIsForgottenWithTheCluster(t *testing.T) {
	recorder := &told{}
	r := New(Config{Recorder: recorder})
	rc := raytest.RayCluster("ns/demo")
	for i, f := range []func(){
		func() { r.tell(rc, nil, []failure{{"R", "A", "why"}}) },
		func() { r.tell(rc, nil, []failure{{"R", "A", "why"}}) },
		func() { r.forget(client.ObjectKeyFromObject(rc)) },
		func() { r.tell(rc, nil, []failure{{"R", "A", "why"}}) },
		func() { r.tell(rc, nil, nil) },
		func() { r.tell(rc, nil, []failure{{"R", "A", "why"}}) },
	} {
		f()
		if got, want := len(recorder.list), []int{1, 1, 1, 2, 2, 3}[i]; got != want {
			t.Fatalf("told %d times after step %d, want %d", got, i, want)
		}
	}
}
