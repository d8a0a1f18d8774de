package raycluster

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// stalled returns the condition Stalled if it is True.
func (w *world) stalled(name string) *metav1.Condition {
	w.T.Helper()
	if c := meta.FindStatusCondition(w.get(name).Status.Conditions, rayv1.RayClusterStalled); isTrue(c) {
		return c
	}
	return nil
}

// waits returns the condition Reconciling if it is about a node or a quota.
func (w *world) waits(name string) *metav1.Condition {
	w.T.Helper()
	if c := meta.FindStatusCondition(w.get(name).Status.Conditions, rayv1.ConditionReconciling); isTrue(c) && rayv1.Awaited(c.Reason) {
		return c
	}
	return nil
}

func (w *world) inGroup(name, group string) int {
	w.T.Helper()
	n := 0
	for _, p := range w.pods(name) {
		if p.Labels[rayv1.LabelGroup] == group && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func TestQuotaRefusesTheThirdOfFiveAndIsRaised(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-bulk"}}
	w.Create(class) // by it the quota knows the Pods of one group
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "bulk"},
		Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourcePods: *resourceQuantity("2")},
			ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
				ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{class.Name},
			}}},
		},
	}
	w.Create(quota)
	w.Eventually("the quota to be counted", func() bool {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			t.Fatal(err)
		}
		return len(quota.Status.Hard) > 0
	})
	w.Create(w.cluster("demo",
		raytest.Workers("bulk", 5, raytest.Group(func(g *rayv1.WorkerGroupSpec) { g.Template.Spec.PriorityClassName = class.Name })),
		raytest.Workers("cpu", 2)))
	w.Eventually("what the quota allows, the other group and the explanation", func() bool {
		c := w.waits("demo")
		return w.inGroup("demo", "bulk") == 2 && w.get("demo").Status.ReadyWorkerReplicas == 4 &&
			c != nil && c.Reason == rayv1.ReasonQuotaExceeded && strings.Contains(c.Message, "group bulk") && strings.Contains(c.Message, "quota: bulk")
	})
	if got := w.Events("demo", "FailedToCreateWorkerPod"); len(got) != 1 {
		t.Errorf("reported the refusal %d times, want once: %q", len(got), got)
	}
	raise := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hard":{"pods":"5"}}}`))
	if err := w.Client.Patch(t.Context(), quota, raise); err != nil {
		t.Fatal(err)
	}
	w.eventuallyReady("demo")
	if got := w.inGroup("demo", "bulk"); got != 5 || w.waits("demo") != nil {
		t.Errorf("%d Pods after the quota was raised, condition %v", got, w.waits("demo"))
	}
}

// refuseGroup installs a webhook that denies Pods of one worker group until opened is set.
func (w *world) refuseGroup(group string) (open func()) {
	w.T.Helper()
	var opened atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		var p corev1.Pod
		if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, &p) != nil {
			http.Error(rw, "no review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: opened.Load() || p.Labels[rayv1.LabelGroup] != group}
		if !review.Response.Allowed {
			review.Response.Result = &metav1.Status{Message: "images of this registry are not allowed"}
		}
		_ = json.NewEncoder(rw).Encode(review)
	}))
	w.T.Cleanup(server.Close)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "images.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      new(server.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.Namespace}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	w.Create(hook)
	w.T.Cleanup(func() { _ = w.Client.Delete(context.Background(), hook.DeepCopy()) })
	probe := func() error {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, GenerateName: "probe-", Labels: map[string]string{rayv1.LabelGroup: group}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		if err := w.Client.Create(w.T.Context(), p); err != nil {
			return err
		}
		return w.Client.Delete(w.T.Context(), p)
	}
	w.Eventually("the webhook to be asked", func() bool {
		err := probe()
		return err != nil && strings.Contains(err.Error(), "not allowed")
	})
	return func() { opened.Store(true) }
}

func TestAWebhookThatRefusesPodsIsQuoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := w.refuseGroup("bad")
	w.startOperator()
	w.Create(w.cluster("demo", raytest.Workers("bad", 2), raytest.Workers("good", 2)))
	w.Eventually("the other group and the explanation", func() bool {
		c := w.stalled("demo")
		return w.get("demo").Status.ReadyWorkerReplicas == 2 && c != nil && c.Reason == rayv1.ReasonAdmissionDenied &&
			strings.Contains(c.Message, "group bad") && strings.Contains(c.Message, "images of this registry are not allowed")
	})
	if got := w.inGroup("demo", "bad"); got != 0 {
		t.Errorf("%d Pods were let in", got)
	}
	open()
	w.eventuallyReady("demo")
}

func TestTheAPIServerIsRestartedInTheMiddle(t *testing.T) {
	const workers = 40
	w := newWorld(t)
	w.startOperator()
	w.Create(w.cluster("demo", raytest.Workers("cpu", workers)))
	w.Eventually("some Pods", func() bool { return len(w.pods("demo")) > 4 })
	env := controlPlane.Env(t)
	if err := env.RestartAPIServer(); err != nil {
		t.Fatal(err)
	}
	w.eventuallyReady("demo")
	if got := w.inGroup("demo", "cpu"); got != workers {
		t.Errorf("%d workers, want %d", got, workers)
	}
	if got := w.inGroup("demo", rayv1.HeadGroupName); got != 1 {
		t.Errorf("%d heads", got)
	}
	if c := meta.FindStatusCondition(w.get("demo").Status.Conditions, rayv1.RayClusterReplicaFailure); c != nil {
		t.Errorf("the outage is reported as a refusal: %+v", c)
	}
}
