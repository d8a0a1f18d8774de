package cronplan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// The time that is due stays where it is until a run is made for it or for a later one.
func TestDue(t *testing.T) {
	at := func(text string) time.Time { return utc(t, text) }
	last := func(text string) *metav1.Time { return &metav1.Time{Time: at(text)} }
	for name, tc := range map[string]struct {
		spec rayv1.RayCronJobSpec
		last *metav1.Time
		want time.Time
	}{
		"never run":  {spec: rayv1.RayCronJobSpec{Schedule: "0 * * * *"}, want: at("2026-03-02T01:00:00Z")},
		"run before": {spec: rayv1.RayCronJobSpec{Schedule: "0 * * * *"}, last: last("2026-03-02T04:00:00Z"), want: at("2026-03-02T05:00:00Z")},
		"zone":       {spec: rayv1.RayCronJobSpec{Schedule: "0 6 * * *", TimeZone: new("Asia/Tokyo")}, want: at("2026-03-02T21:00:00Z")},
		"suspended":  {spec: rayv1.RayCronJobSpec{Schedule: "0 * * * *", Suspend: new(true)}},
		"unreadable": {spec: rayv1.RayCronJobSpec{Schedule: "hourly"}},
	} {
		cj := &rayv1.RayCronJob{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: *last("2026-03-02T00:30:00Z")}, Spec: tc.spec}
		cj.Status.LastScheduleTime = tc.last
		if got := Due(cj, time.UTC); !got.Equal(tc.want) {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
