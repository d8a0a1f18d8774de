package validation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

func TestRayClusterUpdateRatchets(t *testing.T) {
	addGroup := func(rc *rayv1.RayCluster, name string) {
		g := rc.Spec.WorkerGroupSpecs[0].DeepCopy()
		g.GroupName = name
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *g)
	}
	wrongPolicy := func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Template.Spec.RestartPolicy = "Perhaps" }
	tests := map[string]struct {
		before, change func(*rayv1.RayCluster)
		want           []string
		wantKnown      []string
	}{
		"known error passes when its group moves": {
			before: wrongPolicy,
			change: func(rc *rayv1.RayCluster) {
				addGroup(rc, "first")
				g := rc.Spec.WorkerGroupSpecs
				g[1].Template.Spec.RestartPolicy = ""
				g[0], g[1] = g[1], g[0]
			},
			wantKnown: []string{"RC-560"},
		},
		"known error with a new bad value is refused": {
			before: wrongPolicy,
			change: func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Template.Spec.RestartPolicy = "Sometimes" },
			want:   []string{"RC-560"},
		},
		"same error in a new group is refused": {
			before:    wrongPolicy,
			change:    func(rc *rayv1.RayCluster) { addGroup(rc, "second") },
			want:      []string{"RC-560"},
			wantKnown: []string{"RC-560"},
		},
		"third group of one name is refused, second passes": {
			before:    func(rc *rayv1.RayCluster) { addGroup(rc, "cpu") },
			change:    func(rc *rayv1.RayCluster) { addGroup(rc, "cpu") },
			want:      []string{"RC-501"},
			wantKnown: []string{"RC-501"},
		},
		"related value counts": {
			before: func(rc *rayv1.RayCluster) {
				rc.Spec.WorkerGroupSpecs[0].MinReplicas, rc.Spec.WorkerGroupSpecs[0].MaxReplicas = new(int32(9)), new(int32(3))
			},
			change: func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].MaxReplicas = new(int32(2)) },
			want:   []string{"RC-042"},
		},
		"transition rules are never ratcheted": {
			before: func(rc *rayv1.RayCluster) { rc.Spec.ManagedBy = new("someone") },
			change: func(rc *rayv1.RayCluster) { rc.Spec.ManagedBy = new("someone else") },
			want:   []string{"RC-022", "RC-021"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			old := examples.Base()
			if tc.before != nil {
				tc.before(old)
			}
			changed := old.DeepCopy()
			tc.change(changed)
			var got []string
			for _, v := range validation.Violations(updateOf(changed, old, validation.Options{}).Errors) {
				got = append(got, v.Rule)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("refused for (-want +got):\n%s", diff)
			}
			errors := map[string]bool{}
			for _, r := range validation.Rules() {
				errors[r.ID] = r.Severity() != rule.SeverityWarning
			}
			var known []string
			for _, w := range validation.Violations(updateOf(changed, old, validation.Options{}).Warnings) {
				if errors[w.Rule] {
					known = append(known, w.Rule)
				}
			}
			if diff := cmp.Diff(tc.wantKnown, known); diff != "" {
				t.Errorf("let pass with a warning (-want +got):\n%s", diff)
			}
		})
	}
}

func TestViolationsAreInOrderOfTheAPI(t *testing.T) {
	rc := examples.Base()
	for range 11 {
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, rc.Spec.WorkerGroupSpecs[0])
	}
	rc.Spec.AutoscalerOptions = &rayv1.AutoscalerOptions{Version: new(rayv1.AutoscalerVersion("v3"))}
	rc.Spec.HeadGroupSpec.Template.Spec.Containers = nil
	rc.Name = "A"
	var got []string
	for _, v := range validation.Violations(validation.Create(rc, validation.Options{}).Errors) {
		got = append(got, v.Field)
	}
	want := []string{"metadata.name", "spec.headGroupSpec.template.spec.containers"}
	for _, i := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		want = append(want, "spec.workerGroupSpecs["+i+"].groupName")
	}
	want = append(want, "spec.autoscalerOptions.version")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestMessagesHideSecrets(t *testing.T) {
	const secret = "hunter2 ; x"
	rc := examples.Base()
	rc.Spec.HeadGroupSpec.RayStartParams["redis-password"] = secret
	rc.Spec.HeadGroupSpec.RayStartParams["redis-username"] = secret
	head := &rc.Spec.HeadGroupSpec.Template.Spec.Containers[0]
	for _, e := range examples.Of("RayCluster") {
		for _, v := range e.Object().(*rayv1.RayCluster).Spec.HeadGroupSpec.Template.Spec.Containers {
			head.Env = append(head.Env, v.Env...)
		}
	}
	for i := range head.Env {
		head.Env[i].Value = secret
	}
	credential := &rayv1.RedisCredential{Value: secret}
	rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB, RedisPassword: credential, RedisUsername: credential}
	list := append(validation.Create(rc, validation.Options{}).Errors, validation.Create(rc, validation.Options{}).Warnings...)
	if len(list) < 5 {
		t.Fatalf("only %d problems: the test says nothing", len(list))
	}
	for _, v := range validation.Violations(list) {
		if strings.Contains(v.Message, "hunter2") {
			t.Errorf("%s shows the secret: %s", v.Field, v.Message)
		}
	}
}

// updateOf is the verdict on a change of a cluster.
func updateOf(rc, old *rayv1.RayCluster, o validation.Options) validation.Verdict {
	checks, _ := validation.For(rc)
	return checks.Update(rc, old, o)
}
