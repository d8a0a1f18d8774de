package raycluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/netpol"
)

// TestPoliciesOfOneReconcile shows what one look at a cluster of one group writes and says about policies.
func TestPoliciesOfOneReconcile(t *testing.T) {
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
	head.UID, workers.UID = "uid-of-head", "uid-of-workers"
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
	}{
		"new": {
			cluster: rc, writes: []string{"create demo-head", "create demo-workers-a"},
			events: []string{"Normal CreatedNetworkPolicy"},
		},
		"nothing to do": {cluster: rc, existing: []client.Object{head, workers}},
		"one has changed": {
			cluster: rc, existing: []client.Object{open, workers}, writes: []string{"patch demo-head"},
			events: []string{"Normal UpdatedNetworkPolicy"},
		},
		"no longer wanted": {
			cluster: unfenced, existing: []client.Object{head}, writes: []string{"delete demo-head"},
			events: []string{"Normal DeletedNetworkPolicy"},
		},
		"somebody else has the name": {
			cluster: rc, existing: []client.Object{foreign, workers}, // seen in the cache, because it has our label
			events: []string{"Warning NetworkPolicyNameCollision"},
		},
		"creating is refused": {
			cluster: rc, existing: []client.Object{workers}, refuse: true, writes: []string{"create demo-head"},
			events: []string{"Warning FailedToCreateNetworkPolicy"},
		},
		"changing is refused": {
			cluster: rc, existing: []client.Object{open, workers}, refuse: true, writes: []string{"patch demo-head"},
			events: []string{"Warning FailedToUpdateNetworkPolicy"},
		},
		"deleting is refused": {
			cluster: unfenced, existing: []client.Object{head}, refuse: true, writes: []string{"delete demo-head"},
			events: []string{"Warning FailedToDeleteNetworkPolicy"},
		},
		"a spec that is tolerated is fenced": {
			cluster: odd, existing: []client.Object{workers}, writes: []string{"create demo-head"},
			events: []string{"Normal CreatedNetworkPolicy"},
		},
		"a spec that is refused is left alone":     {cluster: wrong, existing: []client.Object{open}},
		"a cluster of somebody else is left alone": {cluster: with(raytest.ManagedBy(rayv1.ManagedByMultiKueue)), existing: []client.Object{open}},
		"a cluster that is deleted is left alone":  {cluster: with(onItsWayOut), existing: []client.Object{open}},
		"a policy of somebody else stays":          {cluster: unfenced, existing: []client.Object{foreign}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var writes []string
			note := func(verb string, o client.Object) error {
				if _, ok := o.(*networkingv1.NetworkPolicy); !ok {
					return nil
				}
				writes = append(writes, verb+" "+o.GetName())
				if tc.refuse {
					return refused(verb)
				}
				return nil
			}
			b := newBench(t, tc.cluster.DeepCopy(), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					return unless(note("create", o), func() error { return c.Create(ctx, o, opts...) })
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					return unless(note("patch", o), func() error { return c.Patch(ctx, o, p, opts...) })
				},
				Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					return unless(note("delete", o), func() error { return c.Delete(ctx, o, opts...) })
				},
			}, append(slices.Clone(tc.existing), raytest.HeadPod(tc.cluster, "demo-head-0"))...)
			b.restart(withNetworkPolicies)
			result := b.mustReconcile()
			if len(tc.events) > 0 && strings.HasPrefix(tc.events[0], "Warning") && result.RequeueAfter == 0 {
				t.Error("is not looked at again")
			}
			if diff := cmp.Diff(tc.writes, writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.events, b.aboutPolicies()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			b.mustReconcile()
			if again := b.aboutPolicies(); len(again) > 0 || len(writes) != len(tc.writes) && !slices.Contains(tc.events, "Warning NetworkPolicyNameCollision") {
				t.Errorf("the second look writes %v and says %v", writes, again)
			}
		})
	}
}

// aboutPolicies are type and reason of the events about policies.
func (b *bench) aboutPolicies() []string {
	var list []string
	for _, e := range b.events() {
		if fields := strings.Fields(e); strings.Contains(fields[1], "NetworkPolicy") {
			list = append(list, fields[0]+" "+fields[1])
		}
	}
	return list
}

func onItsWayOut(rc *rayv1.RayCluster) {
	rc.DeletionTimestamp, rc.Finalizers = new(metav1.NewTime(raytest.Epoch.Time)), []string{"example.com/wait"}
}

func unless(err error, otherwise func() error) error {
	if err != nil {
		return err
	}
	return otherwise()
}
