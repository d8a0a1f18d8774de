package rayjob

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
)

func cronJob() *rayv1.RayCronJob {
	return &rayv1.RayCronJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: "nightly", Namespace: "ns1", UID: "u1", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		},
		Spec: rayv1.RayCronJobSpec{Schedule: "*/5 * * * *", JobTemplate: rayv1.RayJobSpec{
			Entrypoint: "ls", Metadata: map[string]string{"k": "v"}, ClusterSelector: map[string]string{rayv1.LabelCluster: "shared"},
		}},
	}
}

func TestScheduled(t *testing.T) {
	cron := cronJob()
	tick := time.Date(2024, time.January, 1, 1, 5, 0, 0, time.FixedZone("", 3600))
	want := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: "nightly-28401125", Namespace: "ns1",
			Labels:      map[string]string{"ray.io/cronjob-name": "nightly"},
			Annotations: map[string]string{"ray.io/cronjob-scheduled-timestamp": "2024-01-01T00:05:00Z"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "ray.io/v1", Kind: "RayCronJob", Name: "nightly", UID: "u1", Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: cronJob().Spec.JobTemplate,
	}
	got := Scheduled(cron, tick)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RayJob (-want +got):\n%s", diff)
	}
	got.Spec.Metadata["k"] = "changed"
	if cron.Spec.JobTemplate.Metadata["k"] != "v" {
		t.Error("the RayJob shares its spec with the RayCronJob")
	}
}

func FuzzScheduled(f *testing.F) {
	golden.Fuzz(f, func(cron *rayv1.RayCronJob) []*rayv1.RayJob {
		return []*rayv1.RayJob{Scheduled(cron, time.Unix(1<<40, 0)), Scheduled(cron, time.Time{})}
	})
}
