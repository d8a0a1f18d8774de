package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func TestRayCronJobMetrics(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	nightly := &rayv1.RayCronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nightly", UID: "1"}}
	nightly.Status.LastScheduleTime = &metav1.Time{Time: time.Unix(1000, 0)}
	paused := &rayv1.RayCronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "paused", UID: "2"}}
	paused.Spec.Suspend = new(true)
	when := func(cj *rayv1.RayCronJob) time.Time {
		if cj.Name == "paused" {
			return time.Time{}
		}
		return cj.Status.LastScheduleTime.Add(time.Hour)
	}
	const want = `
# HELP raygate_cronjob_due_timestamp_seconds Time at which the next RayJob is due; in the past while it cannot be created. Absent while the RayCronJob is suspended.
# TYPE raygate_cronjob_due_timestamp_seconds gauge
raygate_cronjob_due_timestamp_seconds{name="nightly",namespace="ns",uid="1"} 4600
# HELP raygate_cronjob_info One per RayCronJob.
# TYPE raygate_cronjob_info gauge
raygate_cronjob_info{name="nightly",namespace="ns",uid="1"} 1
raygate_cronjob_info{name="paused",namespace="ns",uid="2"} 1
# HELP raygate_cronjob_last_schedule_timestamp_seconds Time at which the last RayJob was created. Absent before the first.
# TYPE raygate_cronjob_last_schedule_timestamp_seconds gauge
raygate_cronjob_last_schedule_timestamp_seconds{name="nightly",namespace="ns",uid="1"} 1000
# HELP raygate_cronjob_suspended One per RayCronJob that is suspended.
# TYPE raygate_cronjob_suspended gauge
raygate_cronjob_suspended{name="paused",namespace="ns",uid="2"} 1
`
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(nightly, paused).Build()
	if err := testutil.CollectAndCompare(NewRayCronJob(reader, when), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
