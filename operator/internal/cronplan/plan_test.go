package cronplan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func utc(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func TestFor(t *testing.T) {
	cases := map[string]struct {
		schedule, zone     string
		created, last, now string
		suspended, deleted bool
		wantRun, wantNext  string
		wantMissed         int
		wantErr            error
		wantAfter          time.Duration
	}{
		"not yet":            {schedule: "*/5 * * * *", created: "2024-01-01T00:00:00Z", now: "2024-01-01T00:04:59Z", wantNext: "2024-01-01T00:05:00Z", wantAfter: time.Second},
		"not at creation":    {schedule: "*/5 * * * *", created: "2024-01-01T00:00:00Z", now: "2024-01-01T00:00:00Z", wantNext: "2024-01-01T00:05:00Z"},
		"due":                {schedule: "*/5 * * * *", created: "2024-01-01T00:00:00Z", now: "2024-01-01T00:05:30Z", wantRun: "2024-01-01T00:05:00Z", wantNext: "2024-01-01T00:10:00Z", wantAfter: 270 * time.Second},
		"due to the second":  {schedule: "*/5 * * * *", created: "2024-01-01T00:00:00Z", now: "2024-01-01T00:05:00Z", wantRun: "2024-01-01T00:05:00Z", wantNext: "2024-01-01T00:10:00Z"},
		"due after the last": {schedule: "*/5 * * * *", created: "2023-01-01T00:00:00Z", last: "2024-01-01T00:00:00Z", now: "2024-01-01T00:05:30Z", wantRun: "2024-01-01T00:05:00Z", wantNext: "2024-01-01T00:10:00Z"},
		"done":               {schedule: "*/5 * * * *", created: "2023-01-01T00:00:00Z", last: "2024-01-01T00:05:00Z", now: "2024-01-01T00:05:30Z", wantNext: "2024-01-01T00:10:00Z"},
		"missed some":        {schedule: "*/5 * * * *", last: "2024-01-01T00:00:00Z", now: "2024-01-01T00:31:00Z", wantRun: "2024-01-01T00:30:00Z", wantNext: "2024-01-01T00:35:00Z", wantMissed: 5},
		"missed two hours":   {schedule: "* * * * *", last: "2024-01-01T00:00:00Z", now: "2024-01-01T02:00:30Z", wantRun: "2024-01-01T02:00:00Z", wantNext: "2024-01-01T02:01:00Z", wantMissed: MaxMissed},
		"missed years":       {schedule: "* * * * *", last: "1990-01-01T00:00:00Z", now: "2024-01-01T02:00:30Z", wantRun: "2024-01-01T02:00:00Z", wantNext: "2024-01-01T02:01:00Z", wantMissed: MaxMissed},
		"missed far apart":   {schedule: "0 0 29 2 *", zone: "UTC", last: "1900-01-01T00:00:00Z", now: "2027-01-01T00:00:00Z", wantRun: "2024-02-29T00:00:00Z", wantNext: "2028-02-29T00:00:00Z", wantMissed: 30},
		"suspended":          {schedule: "* * * * *", last: "2024-01-01T00:00:00Z", now: "2024-01-01T02:00:30Z", suspended: true},
		"being deleted":      {schedule: "* * * * *", last: "2024-01-01T00:00:00Z", now: "2024-01-01T02:00:30Z", deleted: true},
		"clock set back":     {schedule: "0 * * * *", last: "2024-01-01T05:00:00Z", now: "2024-01-01T02:00:30Z", wantNext: "2024-01-01T06:00:00Z"},
		"no times at all":    {schedule: "0 * * * *", now: "2024-01-01T02:00:30Z", wantNext: "2024-01-01T03:00:00Z"},
		"either day":         {schedule: "0 0 13 * 5", zone: "UTC", last: "2024-09-12T12:00:00Z", now: "2024-09-12T12:00:00Z", wantNext: "2024-09-13T00:00:00Z"},

		"a zone":                  {schedule: "0 9 * * *", zone: "Asia/Taipei", last: "2024-01-01T00:00:00Z", now: "2024-01-01T01:00:30Z", wantRun: "2024-01-01T01:00:00Z", wantNext: "2024-01-02T01:00:00Z"},
		"a time that is left out": {schedule: "30 2 * * *", zone: "America/New_York", last: "2024-03-09T07:30:00Z", now: "2024-03-10T12:00:00Z", wantNext: "2024-03-11T06:30:00Z"},
		"a time that comes twice": {schedule: "30 1 * * *", zone: "America/New_York", last: "2024-11-02T05:30:00Z", now: "2024-11-03T05:31:00Z", wantRun: "2024-11-03T05:30:00Z", wantNext: "2024-11-03T06:30:00Z"},
		"and its second time":     {schedule: "30 1 * * *", zone: "America/New_York", last: "2024-11-03T05:30:00Z", now: "2024-11-03T06:31:00Z", wantRun: "2024-11-03T06:30:00Z", wantNext: "2024-11-04T06:30:00Z"},
		"hours in spring":         {schedule: "0 * * * *", zone: "Europe/Vienna", last: "2024-03-31T00:00:00Z", now: "2024-03-31T01:30:00Z", wantRun: "2024-03-31T01:00:00Z", wantNext: "2024-03-31T02:00:00Z"},
		"hours in autumn":         {schedule: "0 * * * *", zone: "Europe/Vienna", last: "2024-10-26T23:00:00Z", now: "2024-10-27T01:30:00Z", wantRun: "2024-10-27T01:00:00Z", wantNext: "2024-10-27T02:00:00Z", wantMissed: 1},
		"without an own zone":     {schedule: "0 9 * * *", last: "2024-01-01T00:00:00Z", now: "2024-01-01T07:00:00Z", wantRun: "2024-01-01T07:00:00Z", wantNext: "2024-01-02T07:00:00Z"},

		"every 90 minutes":           {schedule: "@every 90m", created: "2024-01-01T00:07:11Z", now: "2024-01-01T03:10:00Z", wantRun: "2024-01-01T03:07:11Z", wantNext: "2024-01-01T04:37:11Z", wantMissed: 1},
		"every 90 minutes for years": {schedule: "@every 90m", created: "1990-01-01T00:07:11Z", now: "2024-01-01T03:10:00Z", wantRun: "2024-01-01T03:07:11Z", wantNext: "2024-01-01T04:37:11Z", wantMissed: MaxMissed},
		"every 20 seconds":           {schedule: "@every 20s", created: "2024-01-01T00:00:05Z", now: "2024-01-01T00:01:10Z", wantRun: "2024-01-01T00:01:05Z", wantNext: "2024-01-01T00:02:05Z"},
		"every 45 seconds":           {schedule: "@every 45s", created: "2024-01-01T00:00:05Z", now: "2024-01-01T00:00:50Z", wantNext: "2024-01-01T00:01:35Z"},
		"every moment":               {schedule: "@every -1s", created: "2024-01-01T00:00:05Z", now: "2024-01-01T00:01:10Z", wantRun: "2024-01-01T00:01:00Z", wantNext: "2024-01-01T00:02:00Z"},

		"never":              {schedule: "0 0 30 2 *", created: "2024-01-01T00:00:00Z", now: "2024-01-01T00:00:00Z", wantErr: ErrNever},
		"six fields":         {schedule: "0 0 0 1 1 *", now: "2024-01-01T00:00:00Z", wantErr: ErrSchedule},
		"Sunday as 7":        {schedule: "0 0 * * 7", now: "2024-01-01T00:00:00Z", wantErr: ErrSchedule},
		"its own zone":       {schedule: "TZ=UTC 0 0 * * *", now: "2024-01-01T00:00:00Z", wantErr: ErrSchedule},
		"nothing":            {schedule: "", now: "2024-01-01T00:00:00Z", wantErr: ErrSchedule},
		"a zone of nowhere":  {schedule: "0 0 * * *", zone: "Mars/Base", now: "2024-01-01T00:00:00Z", wantErr: ErrSchedule},
		"a zone without end": {schedule: "0 0 * * *", zone: "../../etc/passwd", now: "2024-01-01T00:00:00Z", wantErr: ErrSchedule},
	}
	local := time.FixedZone("local", 2*60*60)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cj := &rayv1.RayCronJob{Spec: rayv1.RayCronJobSpec{Schedule: tc.schedule, Suspend: &tc.suspended}}
			cj.CreationTimestamp = metav1.Time{Time: utc(t, tc.created)}
			if tc.last != "" {
				cj.Status.LastScheduleTime = &metav1.Time{Time: utc(t, tc.last)}
			}
			if tc.zone != "" {
				cj.Spec.TimeZone = &tc.zone
			}
			if tc.deleted {
				cj.DeletionTimestamp = &metav1.Time{Time: utc(t, tc.now)}
			}
			got, err := For(cj, utc(t, tc.now), local)
			if !errors.Is(err, tc.wantErr) {
				t.Fatalf("want %v, got %v", tc.wantErr, err)
			}
			if err != nil {
				return
			}
			want := Plan{Run: utc(t, tc.wantRun), Missed: tc.wantMissed, Next: utc(t, tc.wantNext)}
			if !want.Next.IsZero() {
				want.After = want.Next.Sub(utc(t, tc.now))
			}
			if tc.wantAfter != 0 && want.After != tc.wantAfter {
				t.Errorf("want to look again after %v, got %v", tc.wantAfter, want.After)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneRunPerLook lets an operator come back again and again: every look runs at most once, and none runs a time twice.
func TestOneRunPerLook(t *testing.T) {
	cj := &rayv1.RayCronJob{Spec: rayv1.RayCronJobSpec{Schedule: "*/7 * * * *"}}
	now := utc(t, "2024-01-01T00:00:00Z")
	cj.CreationTimestamp = metav1.Time{Time: now}
	for i := range 200 {
		p, err := For(cj, now, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if last := cj.Status.LastScheduleTime; !p.Run.IsZero() {
			if last != nil && !p.Run.After(last.Time) || p.Run.After(now) {
				t.Fatalf("at %v after %v: run for %v", now, last, p.Run)
			}
			cj.Status.LastScheduleTime = &metav1.Time{Time: p.Run}
			if again, err := For(cj, now, time.UTC); err != nil || !again.Run.IsZero() {
				t.Fatalf("at %v: run once more for %v, %v", now, again.Run, err)
			}
		}
		now = now.Add(time.Duration(i*i) * time.Minute)
	}
}

func FuzzFor(f *testing.F) {
	for _, schedule := range []string{"* * * * *", "30 2 * * *", "@every 1s", "@every 90m", "@monthly", "0 0 29 2 *", "*/0 * * * *", "1-5/2,8 ? JAN-MAR * SUN"} {
		f.Add(schedule, "America/New_York", int64(1700000000), int64(1710000000))
		f.Add(schedule, "", int64(-5), int64(1<<40))
	}
	f.Fuzz(func(t *testing.T, schedule, zone string, base, at int64) {
		cj := &rayv1.RayCronJob{Spec: rayv1.RayCronJobSpec{Schedule: schedule}}
		if zone != "" {
			cj.Spec.TimeZone = &zone
		}
		const end = 4e9 // about 2096
		now := time.Unix(((at%end)+end)%end, 0).UTC()
		cj.CreationTimestamp = metav1.Time{Time: time.Unix(((base%end)+end)%end, 0)}
		p, err := For(cj, now, time.UTC)
		if err != nil {
			return
		}
		if !p.Run.IsZero() && (p.Run.After(now) || !p.Run.After(cj.CreationTimestamp.Time)) || !p.Next.After(now) || p.After <= 0 {
			t.Errorf("%q in %q at %v from %v: %+v", schedule, zone, now, cj.CreationTimestamp, p)
		}
		if p.Run.Unix()/60 == p.Next.Unix()/60 {
			t.Errorf("two runs in the minute of %v", p.Run)
		}
	})
}
