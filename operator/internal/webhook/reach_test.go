package webhook

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Requests that a webhook validates, and those that it skips.

const elsewhere = "rayVersion: 2.52.0, managedBy: kueue.x-k8s.io/multikueue"

// withSpec puts fields into the spec of valid.
func withSpec(fields string) string {
	return edit(valid, "  rayVersion: 2.52.0\n", "  "+strings.ReplaceAll(fields, ", ", "\n  ")+"\n")
}

func TestObjectsOfAnotherManagerAreSkipped(t *testing.T) {
	hooks, _ := registered(t)
	wrong := edit(withSpec(elsewhere), "minReplicas: 0", "minReplicas: 5")
	for name, req := range map[string]struct{ after, before string }{
		"created": {after: wrong},
		"updated": {after: wrong, before: withSpec(elsewhere)},
	} {
		got := review(t, hooks[ValidatePath("RayCluster")], request(t, "RayCluster", req.after, req.before))
		if !got.Allowed || len(got.Warnings) > 0 {
			t.Errorf("%s: %+v, want it to pass in silence", name, got)
		}
	}
	if got := review(t, hooks[ValidatePath("RayCluster")], request(t, "RayCluster", wrong, valid)); !got.Allowed || !strings.Contains(strings.Join(got.Warnings, "\n"), "RC-550") {
		t.Errorf("given away: %+v, want it to pass with a warning", got)
	}
	if got := review(t, hooks[ValidatePath("RayCluster")], request(t, "RayCluster", edit(wrong, "kueue.x-k8s.io/multikueue", "ray.io/kuberay-operator"), "")); got.Allowed {
		t.Error("an object that is ours passes")
	}
	lacking := edit(withSpec(elsewhere), "numOfHosts: 1, ", "")
	if got := review(t, hooks[MutatePath("RayCluster")], request(t, "RayCluster", lacking, "")); len(got.Patch) > 0 {
		t.Errorf("the mutating webhook adds %s", got.Patch)
	}
}

func TestUnreadableAsBefore(t *testing.T) {
	hooks, _ := registered(t)
	unreadable := edit(valid, "cpu: 1", "cpu: [1]")
	for name, tc := range map[string]struct {
		after, before string
		want          bool
	}{
		"scaled":                 {after: edit(unreadable, "replicas: 1", "replicas: 2"), before: unreadable, want: true},
		"unreadable elsewhere":   {after: edit(valid, "replicas: 1", "replicas: many"), before: unreadable},
		"was readable":           {after: unreadable, before: valid},
		"repaired":               {after: valid, before: unreadable, want: true},
		"new and never readable": {after: unreadable},
	} {
		got := review(t, hooks[ValidatePath("RayCluster")], request(t, "RayCluster", tc.after, tc.before))
		if got.Allowed != tc.want {
			t.Errorf("%s: allowed %t, want %t: %+v", name, got.Allowed, tc.want, got.Result)
		}
		if name == "scaled" && (len(got.Warnings) == 0 || !strings.Contains(got.Warnings[0], "cannot be read")) {
			t.Errorf("%s: warnings %v do not tell of it", name, got.Warnings)
		}
	}
}

// TestOldVersionIsValidatedBySchemaOfV1: conversion puts fields into an object that the schema of v1alpha1 does not know.
func TestOldVersionIsValidatedBySchemaOfV1(t *testing.T) {
	hooks, _ := registered(t)
	for name, tc := range map[string]struct{ after, before, want string }{
		"as it should be":           {after: valid},
		"a type that is wrong":      {after: edit(valid, "numOfHosts: 1", "numOfHosts: many"), want: "spec.workerGroupSpecs[0].numOfHosts"},
		"a keyword":                 {after: withSpec("rayVersion: 2.52.0, autoscalerOptions: {version: v1}, rayClusterX: 1, gcsFaultToleranceOptions: {redisAddress: 'a:1'}, enableInTreeAutoscaling: 'no'"), want: "spec.enableInTreeAutoscaling"},
		"CEL":                       {after: edit(valid, "containers: [{name: ray, image: rayproject/ray:2.52.0, resources: {requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 1, memory: 2Gi}}}]}}}\n  worker", "containers: []}}}\n  worker"), want: "RC-033"},
		"CEL, of another manager":   {after: edit(withSpec(elsewhere), "containers: [{name: ray, image: rayproject/ray:2.52.0, resources: {requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 1, memory: 2Gi}}}]}}}\n  worker", "containers: []}}}\n  worker")},
		"wrong before, not touched": {after: edit(valid, "numOfHosts: 1", "idleTimeoutSeconds: -5", "rayVersion: 2.52.0", "rayVersion: 2.53.0"), before: edit(valid, "numOfHosts: 1", "idleTimeoutSeconds: -5")},
	} {
		req := request(t, "RayCluster", tc.after, tc.before)
		req.RequestKind = &metav1.GroupVersionKind{Group: "ray.io", Version: "v1alpha1", Kind: "RayCluster"}
		got := review(t, hooks[ValidatePath("RayCluster")], req)
		if got.Allowed != (tc.want == "") {
			t.Errorf("%s: allowed %t: %+v", name, got.Allowed, got.Result)
		} else if !got.Allowed && !strings.Contains(got.Result.Message, tc.want) {
			t.Errorf("%s: %q does not say %s", name, got.Result.Message, tc.want)
		}
	}
}
