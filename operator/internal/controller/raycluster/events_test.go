package raycluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/report"
)

func TestEventsForPods(t *testing.T) {
	const normal = corev1.EventTypeNormal
	rc := raytest.RayCluster("ns/demo")
	pods := func(names ...string) (list []*corev1.Pod) { // of the head h, and of workers that begin with their group
		for _, name := range names {
			if name == "h" {
				list = append(list, raytest.HeadPod(rc, name))
			} else {
				list = append(list, raytest.WorkerPod(rc, name[:1], name))
			}
		}
		return list
	}
	gone := func(why string, names ...string) (list []podplan.Deletion) {
		for _, p := range pods(names...) {
			list = append(list, podplan.Deletion{Pod: p, Message: why})
		}
		return list
	}
	cases := map[string]struct {
		did  podexec.Result
		made string // head Service
		want []report.Event
	}{
		"nothing": {},
		"a new cluster": {
			did:  podexec.Result{Created: pods("b1", "h", "a1", "b2")},
			want: []report.Event{{Type: normal, Reason: "CreatedHeadPod", Action: "Create", Note: "Created head Pod h, worker Pod a1 in group a, 2 worker Pods in group b"}},
		},
		"a new cluster and its Service": {
			did: podexec.Result{Created: pods("h")}, made: "s", want: []report.Event{{Type: normal, Reason: "CreatedHeadPod", Action: "Create", Note: "Created Service s, head Pod h"}},
		},
		"more workers": {
			did:  podexec.Result{Created: pods("a1")},
			want: []report.Event{{Type: normal, Reason: "CreatedWorkerPod", Action: "Create", Note: "Created worker Pod a1 in group a"}},
		},
		"workers replaced": {
			did: podexec.Result{Created: pods("a2"), Deleted: slices.Concat(gone("it was evicted", "a1"), gone("it failed", "b1"), gone("it was evicted", "b2"))},
			want: []report.Event{
				{Type: normal, Reason: "CreatedWorkerPod", Action: "Create", Note: "Created worker Pod a2 in group a"},
				{Type: normal, Reason: "DeletedWorkerPod", Action: "Delete", Note: "Deleted worker Pod a1 in group a, 2 worker Pods in group b: it failed; it was evicted"},
			},
		},
		"a head that ended": {
			did: podexec.Result{Deleted: gone("it ended", "h")}, want: []report.Event{{Type: normal, Reason: "DeletedHeadPod", Action: "Delete", Note: "Deleted head Pod h: it ended"}},
		},
		"a suspension": {
			did:  podexec.Result{DeletedAll: true, Deleted: gone("the cluster is suspended", "h", "a1", "a2")},
			want: []report.Event{{Type: normal, Reason: "DeletedPod", Action: "Delete", Note: "Deleted head Pod h, 2 worker Pods in group a: the cluster is suspended"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, eventsForPods(tc.did, tc.made)); diff != "" {
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
		if diff := cmp.Diff(report.Warning(want, "Validate", "why"), eventInvalid(errs, "why")); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	}
}

func TestEventAdopted(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", func(rc *rayv1.RayCluster) { rc.Generation = 3 })
	for seen, warns := range map[int64]bool{0: false, 2: true, 3: false} {
		e := eventAdopted(rc, "h", seen)
		if e.Type != corev1.EventTypeNormal || e.Reason != "AdoptedHeadPod" || e.Action != "Update" || strings.Contains(e.Note, "suspend and resume") != warns {
			t.Errorf("after generation %d was looked at: %+v", seen, e)
		}
	}
}
