package podexec

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// TestEvictions: only Pods of an upgrade are evicted, and a budget that holds them is no failure.
func TestEvictions(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	refusal := apierrors.NewTooManyRequests("it would violate the budget", 0)
	refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	for name, tc := range map[string]struct {
		answer  error
		reason  podplan.Reason
		deleted int
		held    bool
		failed  int
		may     bool
		unknown bool
	}{
		"allowed":                 {reason: podplan.ReasonRollingUpdate, deleted: 1, may: true},
		"held by a budget":        {reason: podplan.ReasonRollingUpdate, answer: refusal, held: true},
		"a budget that is new":    {reason: podplan.ReasonRollingUpdate, answer: context.DeadlineExceeded, held: true},
		"gone":                    {reason: podplan.ReasonRollingUpdate, answer: apierrors.NewNotFound(pods, "w"), deleted: 1, may: true},
		"two budgets":             {reason: podplan.ReasonRollingUpdate, answer: apierrors.NewInternalError(errors.New("more than one budget")), failed: 1, unknown: true},
		"no part of an upgrade":   {reason: podplan.ReasonScaleDown, answer: refusal, deleted: 1},
		"drained after the check": {reason: podplan.ReasonDraining, answer: refusal, deleted: 1},
	} {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo")
			worker := raytest.WorkerPod(rc, "cpu", "w")
			dry := false
			c := fake.NewClientBuilder().WithObjects(worker).WithInterceptorFuncs(interceptor.Funcs{
				SubResourceCreate: func(ctx context.Context, _ client.Client, subresource string, o, body client.Object, _ ...client.SubResourceCreateOption) error {
					e := body.(*policyv1.Eviction)
					if subresource != "eviction" || o.GetName() != "w" || e.Name != "w" || *e.DeleteOptions.Preconditions.UID != worker.UID {
						t.Errorf("%s of %s by %+v", subresource, o.GetName(), e)
					}
					dry = len(e.DeleteOptions.DryRun) > 0
					if errors.Is(tc.answer, context.DeadlineExceeded) {
						<-ctx.Done()
						return ctx.Err()
					}
					return tc.answer
				},
			}).Build()
			x := New(c, c, clocktesting.NewFakePassiveClock(raytest.Epoch.Time))
			may, err := x.Evictable(t.Context(), worker)
			if may != tc.may || (err != nil) != tc.unknown || !dry {
				if tc.reason == podplan.ReasonRollingUpdate {
					t.Errorf("evictable: %t, %v, dry run %t", may, err, dry)
				}
			}
			r := x.Run(t.Context(), Work{Cluster: rc, Evict: true, Delete: []podplan.Deletion{{Pod: worker, Group: "cpu", Reason: tc.reason}}})
			if len(r.Deleted) != tc.deleted || r.Held != tc.held || len(r.Failures) != tc.failed || r.Err != nil || tc.held && r.After != HeldRetry {
				t.Errorf("result %+v", r)
			}
			if left := c.Get(t.Context(), client.ObjectKeyFromObject(worker), &corev1.Pod{}); tc.reason != podplan.ReasonRollingUpdate && !apierrors.IsNotFound(left) {
				t.Errorf("the Pod is not deleted: %v", left)
			}
		})
	}
}
