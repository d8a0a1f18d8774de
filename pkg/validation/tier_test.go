package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// TestTiersAreComplete holds that every rule says its tier, and what follows from it.
func TestTiersAreComplete(t *testing.T) {
	for _, r := range validation.Rules() {
		switch r.Tier {
		case rule.Peer:
			if len(r.Peer) == 0 {
				t.Errorf("%s is a rule of KubeRay, and of no part of it", r.ID)
			}
		case rule.Kubernetes, rule.Advice:
			if len(r.Peer) > 0 {
				t.Errorf("%s is of tier %s, and yet of KubeRay: %v", r.ID, r.Tier, r.Peer)
			}
		default:
			t.Errorf("%s has no tier", r.ID)
		}
		if r.Tier == rule.Advice && r.Mixed {
			t.Errorf("%s is advice, and only that", r.ID)
		}
	}
}

// TestAdviceNeverRefuses shows each example to options under which everything is known: tier advice has no errors.
func TestAdviceNeverRefuses(t *testing.T) {
	tier := map[string]*validation.Rule{}
	for _, r := range validation.Rules() {
		tier[r.ID] = r
	}
	for _, e := range append(examples.All(), examples.Nested()...) {
		for _, o := range []validation.Options{e.Options, {FromOperator: true, BatchScheduler: new("")}, {}} {
			for _, err := range verdict(t, e, e.Object(), o).Errors {
				if r := tier[err.Origin]; r.Tier == rule.Advice && (!r.OptIn || !o.RefuseGroupRemoval) {
					t.Errorf("%s is refused for %s, which is advice: %v", e, r.ID, err)
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	ids := func(rc *rayv1.RayCluster, ran bool) []string {
		var got []string
		for _, err := range validation.Refused(validation.Create(rc, validation.Options{}).Errors, ran) {
			got = append(got, err.Origin)
		}
		return got
	}
	for name, tc := range map[string]struct {
		change       func(*rayv1.RayCluster)
		new, running []string
	}{
		"nothing wrong":              {change: func(*rayv1.RayCluster) {}},
		"KubeRay's controller stops": {change: func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].MinReplicas = new(int32(9)) }, new: []string{"RC-042"}, running: []string{"RC-042"}},
		"Kubernetes refuses Pods":    {change: func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.Template.Labels = map[string]string{"a b": "c"} }, new: []string{"RC-530"}},
		"KubeRay's schema alone": {change: func(rc *rayv1.RayCluster) {
			c := &rc.Spec.HeadGroupSpec.Template.Spec.Containers[0]
			c.Env = []corev1.EnvVar{{Name: "A"}, {Name: "A"}}
		}},
		"KubeRay's webhook alone": {change: func(rc *rayv1.RayCluster) {
			rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, rc.Spec.WorkerGroupSpecs[0])
		}},
	} {
		rc := examples.Base()
		tc.change(rc)
		if diff := cmp.Diff(tc.new, ids(rc, false), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, new (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.running, ids(rc, true), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, running (-want +got):\n%s", name, diff)
		}
	}
}

func TestRan(t *testing.T) {
	for name, tc := range map[string]struct {
		status rayv1.RayClusterStatus
		want   bool
	}{
		"never":                     {},
		"refused":                   {status: rayv1.RayClusterStatus{State: rayv1.ClusterStateFailed}},
		"ready, by an old KubeRay":  {status: rayv1.RayClusterStatus{State: rayv1.ClusterStateReady}, want: true},
		"suspended":                 {status: rayv1.RayClusterStatus{State: rayv1.ClusterStateSuspended}, want: true},
		"a head Pod":                {status: rayv1.RayClusterStatus{Head: rayv1.HeadInfo{PodName: "demo-head-x"}}, want: true},
		"provisioned, or not quite": {status: rayv1.RayClusterStatus{Conditions: []metav1.Condition{{Type: rayv1.RayClusterProvisioned, Status: metav1.ConditionFalse}}}, want: true},
	} {
		if got := validation.Ran(&rayv1.RayCluster{Status: tc.status}); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

// TestPartsThatAreNotMadeKeepTheRulesOfKubeRay is about parts of which nothing is made. The corpus shows that nothing else about them is refused.
func TestPartsThatAreNotMadeKeepTheRulesOfKubeRay(t *testing.T) {
	job, cluster := examples.BaseJob(), examples.Base()
	job.Spec.ClusterSelector = map[string]string{"ray.io/cluster": "x"}
	job.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers = nil
	group := &cluster.Spec.WorkerGroupSpecs[0]
	group.Replicas, group.MaxReplicas, group.Template.Spec.Containers = new(int32(0)), new(int32(9)), nil
	for want, object := range map[string]validation.Object{"RC-033": job, "RC-038": cluster} {
		errs := validation.Create(object, validation.Options{}).Errors
		for who, list := range map[string]field.ErrorList{"at the entry points": errs, "by the controller": validation.Refused(errs, false)} {
			if len(list) != 1 || list[0].Origin != want {
				t.Errorf("refused %s for %v, want %s", who, list, want)
			}
		}
	}
}
