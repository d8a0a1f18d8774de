package validation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// clusterOf is the description of a cluster in an object of any kind, or nil.
func clusterOf(object validation.Object) *rayv1.RayClusterSpec {
	switch o := object.(type) {
	case *rayv1.RayCluster:
		return &o.Spec
	case *rayv1.RayJob:
		return o.Spec.RayClusterSpec
	case *rayv1.RayService:
		return &o.Spec.RayClusterSpec
	case *rayv1.RayCronJob:
		return o.Spec.JobTemplate.RayClusterSpec
	}
	return nil
}

// TestStoredObjectsStayWritable takes each object that breaks a rule as one that is stored, and does what must never be
// refused.
func TestStoredObjectsStayWritable(t *testing.T) {
	writes := map[string]func(validation.Object){
		"nothing":   func(validation.Object) {},
		"finalizer": func(o validation.Object) { o.SetFinalizers(append(o.GetFinalizers(), "example.com/keep")) },
		"owner": func(o validation.Object) {
			o.SetOwnerReferences([]metav1.OwnerReference{{Kind: "A", Name: "b", UID: "c"}})
		},
		"annotation": func(o validation.Object) { metav1.SetMetaDataAnnotation(metaOf(o), "example.com/seen", "yes") },
		"label":      func(o validation.Object) { metav1.SetMetaDataLabel(metaOf(o), "example.com/team", "a") },
		"deletion": func(o validation.Object) {
			o.SetDeletionTimestamp(&metav1.Time{})
			if c := clusterOf(o); c != nil {
				c.ManagedBy, c.HeadGroupSpec.Template.Spec.Containers = new("someone"), nil
			}
		},
		"suspend": func(o validation.Object) {
			if rc, ok := o.(*rayv1.RayCluster); ok && len(rc.Spec.HeadGroupSpec.Template.Spec.Containers) > 0 {
				rc.Spec.Suspend = new(true)
			}
		},
		"autoscaler": func(o validation.Object) {
			rc, ok := o.(*rayv1.RayCluster)
			if !ok || len(rc.Spec.WorkerGroupSpecs) == 0 {
				return
			}
			g := &rc.Spec.WorkerGroupSpecs[len(rc.Spec.WorkerGroupSpecs)-1]
			g.Replicas, g.ScaleStrategy.WorkersToDelete = new(int32(2)), []string{"demo-cpu-worker-abcde"}
		},
	}
	for _, e := range examples.All() {
		checks, _ := validation.ForKind(e.Kind)
		for name, write := range writes {
			stored := e.Object()
			changed := stored.DeepCopyObject().(validation.Object)
			write(changed)
			for _, err := range checks.Update(changed, stored, e.Options).Errors {
				t.Errorf("%s: %s is refused: %v (%s)", e, name, err, err.Origin)
			}
		}
	}
}

func metaOf(object validation.Object) *metav1.ObjectMeta {
	switch o := object.(type) {
	case *rayv1.RayCluster:
		return &o.ObjectMeta
	case *rayv1.RayJob:
		return &o.ObjectMeta
	case *rayv1.RayService:
		return &o.ObjectMeta
	default:
		return &o.(*rayv1.RayCronJob).ObjectMeta
	}
}

// TestUpdatesThatBreakARuleAreRefused goes from the valid neighbour to the object.
func TestUpdatesThatBreakARuleAreRefused(t *testing.T) {
	for _, e := range examples.All() {
		r := ruleOf(t, e.ID)
		// The name of an object never changes, and where the surroundings are at fault there is nothing to compare.
		if e.Update || e.Severity != rule.SeverityError || strings.HasPrefix(r.Field, "metadata.name") || strings.HasPrefix(r.Field, "status") ||
			!cmp.Equal(e.Options, e.ValidOptions, cmpopts.EquateEmpty()) {
			continue
		}
		checks, _ := validation.ForKind(e.Kind)
		old := e.Valid()
		if len(checks.Create(old, e.Options).Errors) > 0 {
			continue
		}
		var got []string
		for _, err := range checks.Update(e.Object(), old, e.Options).Errors {
			got = append(got, err.Origin)
		}
		if !slices.Contains(got, e.ID) {
			t.Errorf("%s: the update is refused for %v only", e, got)
		}
	}
}

func ruleOf(t testing.TB, id string) *validation.Rule {
	t.Helper()
	for _, r := range validation.Rules() {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("no rule %s", id)
	return nil
}

// TestKnownErrorsAreFreshWhenTheirReasonChanges holds that what a rule reads beside its field counts.
func TestKnownErrorsAreFreshWhenTheirReasonChanges(t *testing.T) {
	group := func(rc *rayv1.RayCluster) *rayv1.WorkerGroupSpec { return &rc.Spec.WorkerGroupSpecs[0] }
	tests := map[string]struct {
		before, change func(*rayv1.RayCluster)
		options        validation.Options
		want           []string
	}{
		"priority and version untouched": {
			before: func(rc *rayv1.RayCluster) { group(rc).Priority = new(int32(1)) },
			change: func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(true) },
		},
		"another priority": {
			before: func(rc *rayv1.RayCluster) { group(rc).Priority = new(int32(1)) },
			change: func(rc *rayv1.RayCluster) { group(rc).Priority = new(int32(2)) },
			want:   []string{"RC-052"},
		},
		"another version of the autoscaler": {
			before: func(rc *rayv1.RayCluster) { group(rc).Priority = new(int32(1)) },
			change: func(rc *rayv1.RayCluster) {
				rc.Spec.AutoscalerOptions = &rayv1.AutoscalerOptions{Version: new(rayv1.AutoscalerVersionV1)}
			},
			want: []string{"RC-052"},
		},
		"resources twice, and a parameter more": {
			before: func(rc *rayv1.RayCluster) {
				group(rc).Resources, group(rc).RayStartParams = map[string]string{"CPU": "1"}, map[string]string{"num-cpus": "1"}
			},
			change: func(rc *rayv1.RayCluster) { group(rc).RayStartParams["num-cpus"] = "2" },
			want:   []string{"RC-043"},
		},
		"gate turned off under a living object": {
			before: func(rc *rayv1.RayCluster) { rc.Spec.TLSOptions = &rayv1.TLSOptions{} },
			change: func(rc *rayv1.RayCluster) { rc.Labels = map[string]string{"a": "b"} },
		},
		"gate turned off, and the field changed": {
			before:  func(rc *rayv1.RayCluster) { rc.Spec.TLSOptions = &rayv1.TLSOptions{} },
			change:  func(rc *rayv1.RayCluster) { rc.Spec.TLSOptions.Enabled = new(true) },
			options: validation.Options{Gates: map[validation.Gate]bool{validation.GateMTLS: false}},
			want:    []string{"RC-106"},
		},
		"container moved": {
			before: func(rc *rayv1.RayCluster) {
				pod := &group(rc).Template.Spec
				pod.Containers = append(pod.Containers, pod.Containers[0], pod.Containers[0])
				pod.Containers[1].Name, pod.Containers[2].Name = "Side", "other"
			},
			change: func(rc *rayv1.RayCluster) {
				c := group(rc).Template.Spec.Containers
				c[1], c[2] = c[2], c[1]
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			old := examples.Base()
			tc.before(old)
			changed := old.DeepCopy()
			tc.change(changed)
			var got []string
			for _, v := range validation.Violations(updateOf(changed, old, tc.options).Errors) {
				got = append(got, v.Rule)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("refused for (-want +got):\n%s", diff)
			}
		})
	}
}
