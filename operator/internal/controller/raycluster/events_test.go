package raycluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/raytest"
)

func TestEventsForPods(t *testing.T) {
	const normal = corev1.EventTypeNormal
	cases := map[string]struct {
		did  podsOutcome
		want []notice
	}{
		"nothing": {},
		"a new cluster": {
			podsOutcome{createdHead: "h", groups: []groupOutcome{{name: "a", created: []string{"a1"}}, {name: "b", created: []string{"b1", "b2"}}}},
			[]notice{{normal, "CreatedHeadPod", "Create", "Created head Pod h, worker Pod a1 in group a, 2 worker Pods in group b"}},
		},
		"a new cluster and its Service": {
			podsOutcome{madeService: "s", createdHead: "h"}, []notice{{normal, "CreatedHeadPod", "Create", "Created Service s, head Pod h"}},
		},
		"more workers": {
			podsOutcome{groups: []groupOutcome{{name: "a", created: []string{"a1"}}}},
			[]notice{{normal, "CreatedWorkerPod", "Create", "Created worker Pod a1 in group a"}},
		},
		"a worker replaced": {
			podsOutcome{groups: []groupOutcome{{name: "a", created: []string{"a2"}, deleted: []string{"a1"}}}, deleteReasons: []string{"it failed", "it was evicted"}},
			[]notice{
				{normal, "CreatedWorkerPod", "Create", "Created worker Pod a2 in group a"},
				{normal, "DeletedWorkerPod", "Delete", "Deleted worker Pod a1 in group a: it failed; it was evicted"},
			},
		},
		"a head that ended": {
			podsOutcome{deletedHead: "h"}, []notice{{normal, "DeletedHeadPod", "Delete", "Deleted head Pod h"}},
		},
		"a suspension": {
			podsOutcome{deletedHead: "h", allDeleted: true, groups: []groupOutcome{{name: "a", deleted: []string{"a1", "a2"}}}, deleteReasons: []string{"the cluster is suspended"}},
			[]notice{{normal, "DeletedPod", "Delete", "Deleted head Pod h, 2 worker Pods in group a: the cluster is suspended"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, eventsForPods(tc.did), cmp.AllowUnexported(notice{})); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventInvalid(t *testing.T) {
	spec, name := field.Required(field.NewPath("spec", "headGroupSpec"), ""), field.TooLong(field.NewPath("metadata", "name"), "", 53)
	annotation := field.Forbidden(field.NewPath("metadata", "annotations"), "")
	for want, errs := range map[string]field.ErrorList{
		"InvalidRayClusterSpec":     {annotation, spec},
		"InvalidRayClusterMetadata": {spec, name},
	} {
		if diff := cmp.Diff(notice{corev1.EventTypeWarning, want, "Validate", "why"}, eventInvalid(errs, "why"), cmp.AllowUnexported(notice{})); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	}
}

func TestEventAdopted(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", func(rc *rayv1.RayCluster) { rc.Generation = 3 })
	for seen, warns := range map[int64]bool{0: false, 2: true, 3: false} {
		e := eventAdopted(rc, "h", seen)
		if e.kind != corev1.EventTypeNormal || e.reason != "AdoptedHeadPod" || e.action != "Update" || strings.Contains(e.note, "suspend and resume") != warns {
			t.Errorf("after generation %d was looked at: %+v", seen, e)
		}
	}
}

func TestNotesFit(t *testing.T) {
	if got := newEvent("", "", "", strings.Repeat("é", maxNote)).note; len(got) > maxNote || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-5:])
	}
}
