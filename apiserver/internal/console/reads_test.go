package console

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authn"
)

func TestRights(t *testing.T) {
	c := newConsole(t, authn.Passthrough, grants{
		"list rayclusters": true, "get rayclusters": true, "get rayjobs only-this": true, "delete rayjobs only-this": true, "get services/proxy": true, "list pods": true,
	})
	auth := map[string]string{"Authorization": "Bearer " + token}
	for target, want := range map[string]map[string][]string{
		"/ui/api/rights?namespace=team":                                     {"rayclusters": {"get", "list"}, "services/proxy": {"get"}, "pods": {"list"}},
		"/ui/api/rights?namespace=team&resource=rayjobs&name=only-this":     {"rayclusters": {"get", "list"}, "rayjobs": {"get", "delete"}, "services/proxy": {"get"}, "pods": {"list"}},
		"/ui/api/rights?namespace=team&resource=rayclusters&name=only-this": {"rayclusters": {"list"}, "services/proxy": {"get"}, "pods": {"list"}},
	} {
		got := decode[rightsAnswer](t, call(c, "GET", target, "", auth))
		if diff := cmp.Diff(want, got.Allowed); diff != "" || got.Namespace != "team" {
			t.Errorf("%s: (-want +got)\n%s", target, diff)
		}
	}
	if w := call(c, "GET", "/ui/api/rights?resource=secrets", "", auth); w.Code != http.StatusBadRequest {
		t.Errorf("rights on secrets: HTTP %d", w.Code)
	}
	if w := call(c, "GET", "/ui/api/rights", "", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("rights of nobody: HTTP %d", w.Code)
	}
	if w := call(c, "POST", "/ui/api/rights", "", auth); w.Code != http.StatusNotFound {
		t.Errorf("a write: HTTP %d", w.Code)
	}
}

// Kubernetes is asked once, unless it cannot list all rules or there is no namespace.
func TestRightsByRules(t *testing.T) {
	c := newConsole(t, authn.Passthrough, grants{"list pods": true})
	rules := &authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{{Verbs: []string{"get"}, APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}}}}
	var failure error
	c.Rules = func(context.Context, string) (*authorizationv1.SubjectRulesReviewStatus, error) {
		return rules, failure
	}
	byRules, byReviews := map[string][]string{"rayclusters": {"get"}}, map[string][]string{"pods": {"list"}}
	check := func(query string, want map[string][]string) {
		t.Helper()
		got := decode[rightsAnswer](t, call(c, "GET", "/ui/api/rights"+query, "", map[string]string{"Authorization": "Bearer " + token}))
		if diff := cmp.Diff(want, got.Allowed); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	check("?namespace=team", byRules)
	check("", byReviews)
	failure = errors.New("away")
	check("?namespace=team", byReviews)
	failure, rules.Incomplete = nil, true
	check("?namespace=team", byReviews)
}

func TestPodOf(t *testing.T) {
	created := metav1.Unix(1700000000, 0)
	base := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: created, Labels: map[string]string{rayv1.LabelCluster: "demo", rayv1.LabelNodeType: "worker", rayv1.LabelGroup: "cpu"}},
			Spec:       corev1.PodSpec{NodeName: "n", Containers: make([]corev1.Container, 2)},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
		}
		edit(p)
		return p
	}
	waiting := func(reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "ray", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	for name, tc := range map[string]struct {
		edit       func(*corev1.Pod)
		wantStatus string
		wantText   string
		wantReady  int
	}{
		"running": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Ready: true}, {Ready: true}}
		}, "Running", "", 2},
		"crashing": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("CrashLoopBackOff", "again in 5m"), {Ready: true}}
		}, "CrashLoopBackOff", "again in 5m", 1},
		"in init": {func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("ErrImagePull", "no such image")}
		}, "Init:ErrImagePull", "no such image", 0},
		"ended": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "ray", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}}}
		}, "OOMKilled", "container ray ended with exit code 137", 0},
		"evicted": {func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "disk"
		}, "Evicted", "disk", 0},
		"no node": {func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no GPU"}}
		}, "Unschedulable", "no GPU", 0},
		"going":     {func(p *corev1.Pod) { p.DeletionTimestamp = &created }, "Terminating", "", 0},
		"succeeded": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, "Succeeded", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := podOf(base(tc.edit))
			if got.Status != tc.wantStatus || got.Message != tc.wantText || got.Ready != tc.wantReady || got.Total != 2 || got.Cluster != "demo" || got.Type != "worker" || got.Group != "cpu" {
				t.Errorf("got %+v", got)
			}
		})
	}
}
