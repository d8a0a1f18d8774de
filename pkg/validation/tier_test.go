package validation_test

import (
	"slices"
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

// TestGroupsWithoutPods: no Pod follows from a group as it stands, so that none is refused. When it gets Pods it is what was wrong before.
func TestGroupsWithoutPods(t *testing.T) {
	group := func(change func(*rayv1.WorkerGroupSpec)) *rayv1.RayCluster {
		rc := examples.Base()
		g := &rc.Spec.WorkerGroupSpecs[0]
		g.GroupName, g.Template.Labels, g.MaxReplicas = "a b", map[string]string{"a b": "c"}, new(int32(9))
		change(g)
		return rc
	}
	suspended := func(g *rayv1.WorkerGroupSpec) { g.Suspend = new(true) }
	empty := func(g *rayv1.WorkerGroupSpec) { g.Replicas = new(int32(0)) }
	wrong := []string{"RC-502", "RC-530"}
	for name, tc := range map[string]struct {
		rc   *rayv1.RayCluster
		want []string
	}{
		"one replica":             {rc: group(func(*rayv1.WorkerGroupSpec) {}), want: wrong},
		"at least one replica":    {rc: group(func(g *rayv1.WorkerGroupSpec) { g.Replicas, g.MinReplicas = nil, new(int32(1)) }), want: wrong},
		"none":                    {rc: group(empty)},
		"fewer than none":         {rc: group(func(g *rayv1.WorkerGroupSpec) { g.Replicas = new(int32(-1)) })},
		"none at most":            {rc: group(func(g *rayv1.WorkerGroupSpec) { g.MaxReplicas = new(int32(0)) })},
		"suspended":               {rc: group(suspended)},
		"none, and KubeRay stops": {rc: group(func(g *rayv1.WorkerGroupSpec) { empty(g); g.Template.Spec.Containers = nil }), want: []string{"RC-038"}},
	} {
		rules := func(errs field.ErrorList) []string {
			var ids []string
			for _, err := range errs {
				ids = append(ids, err.Origin)
			}
			return ids
		}
		if diff := cmp.Diff(tc.want, rules(validation.Create(tc.rc, validation.Options{}).Errors)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := rules(validation.Refused(validation.Create(tc.rc, validation.Options{}).Errors, false)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: the controller refuses for %v, want %v", name, got, tc.want)
		}
	}
	scaled := updateOf(group(func(*rayv1.WorkerGroupSpec) {}), group(empty), validation.Options{}).Errors
	if len(scaled) > 0 {
		t.Errorf("scaling a group that was wrong is refused: %v", scaled)
	}
}

// TestUnusedParts: no child follows from the cluster of a job that selects one, nor from a submitter that is not used.
func TestUnusedParts(t *testing.T) {
	wrongTemplate := func(rj *rayv1.RayJob) {
		rj.Spec.RayClusterSpec.HeadGroupSpec.Template.Labels = map[string]string{"a b": "c"}
	}
	for name, tc := range map[string]struct {
		change func(*rayv1.RayJob)
		want   []string
	}{
		"a cluster that is made": {change: wrongTemplate, want: []string{"RC-530"}},
		"a cluster that is not made": {change: func(rj *rayv1.RayJob) {
			wrongTemplate(rj)
			rj.Spec.ClusterSelector = map[string]string{"ray.io/cluster": "x"}
		}},
		"not made, and yet wrong for KubeRay": {change: func(rj *rayv1.RayJob) {
			rj.Spec.ClusterSelector = map[string]string{"ray.io/cluster": "x"}
			rj.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers = nil
		}, want: []string{"RC-033"}},
	} {
		rj := examples.BaseJob()
		tc.change(rj)
		var got []string
		for _, err := range validation.Create(rj, validation.Options{}).Errors {
			got = append(got, err.Origin)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
