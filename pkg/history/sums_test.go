package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/pkg/history"
)

func TestMonths(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for name, tc := range map[string]struct {
		from, to string
		want     history.Months
	}{
		"within a month": {"2026-11-26T10:00:00Z", "2026-11-26T10:00:10Z", history.Months{"2026-11": {CPU: 20, GPU: 10}}},
		"over the end of a year": {"2026-12-31T23:59:50Z", "2027-01-01T00:00:05Z", history.Months{
			"2026-12": {CPU: 20, GPU: 10}, "2027-01": {CPU: 10, GPU: 5},
		}},
		"months are those of UTC": {"2026-12-01T00:30:00+01:00", "2026-12-01T00:30:10+01:00", history.Months{"2026-11": {CPU: 20, GPU: 10}}},
		"a whole month": {"2026-01-31T23:59:59Z", "2026-03-01T00:00:00Z", history.Months{
			"2026-01": {CPU: 2, GPU: 1}, "2026-02": {CPU: 2 * 28 * 86400, GPU: 28 * 86400},
		}},
		"nothing":                 {"2026-11-26T10:00:00Z", "2026-11-26T10:00:00Z", history.Months{}},
		"an end before the start": {"2026-11-26T10:00:00Z", "2026-11-25T10:00:00Z", history.Months{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := history.Months{}
			got.Add(history.Usage{CPU: 2, GPU: 1}, at(tc.from), at(tc.to))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// used returns the record of a deleted RayCluster that used one CPU for some seconds in March, and a GPU in April.
func used(name, queue, owner string, seconds float64) *history.Record {
	r := job(name, 0, 1)
	r.Kind, r.Started, r.Queue, r.Owner = "RayCluster", time.Time{}, queue, owner
	r.Usage = history.Months{"2026-03": {CPU: seconds, Memory: 2 * seconds}, "2026-04": {GPU: 1}}
	return r
}

func TestSums(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		ofJob := job("job", 1, 1)
		ofJob.Usage = history.Months{"2026-03": {CPU: 1000}} // that of its cluster
		elsewhere := used("elsewhere", "a", "jane", 1000)
		elsewhere.Namespace = "team-b"
		for _, r := range []*history.Record{
			used("1", "a", "jane@example.org", 1), used("2", "a", "joe", 2), used("3", "b", "joe", 4), used("4", "", "", 8.25), ofJob, elsewhere,
		} {
			put(t, s, r, nil)
		}
		sums := func(month string, by history.Grouping) []history.Sum {
			t.Helper()
			list, err := s.Sums(t.Context(), "team-a", month, by)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		march := func(queue, owner string, n int, seconds float64) history.Sum {
			return history.Sum{Queue: queue, Owner: owner, Clusters: n, Usage: history.Usage{CPU: seconds, Memory: 2 * seconds}}
		}
		for name, tc := range map[string]struct {
			month string
			by    history.Grouping
			want  []history.Sum
		}{
			"the namespace": {"2026-03", history.Grouping{}, []history.Sum{march("", "", 4, 15.25)}},
			"queues":        {"2026-03", history.Grouping{Queue: true}, []history.Sum{march("", "", 1, 8.25), march("a", "", 2, 3), march("b", "", 1, 4)}},
			"owners": {"2026-03", history.Grouping{Owner: true}, []history.Sum{
				march("", "", 1, 8.25), march("", "jane@example.org", 1, 1), march("", "joe", 2, 6),
			}},
			"both": {"2026-03", history.Grouping{Queue: true, Owner: true}, []history.Sum{
				march("", "", 1, 8.25), march("a", "jane@example.org", 1, 1), march("a", "joe", 1, 2), march("b", "joe", 1, 4),
			}},
			"another month":   {"2026-04", history.Grouping{}, []history.Sum{{Clusters: 4, Usage: history.Usage{GPU: 4}}}},
			"an unused month": {"2026-05", history.Grouping{}, []history.Sum{}},
		} {
			if diff := cmp.Diff(tc.want, sums(tc.month, tc.by)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}

		// Records are gone after a month, sums after a year.
		for _, at := range []struct {
			now          time.Time
			march, april int
		}{{begin.AddDate(1, 0, 29), 1, 1}, {begin.AddDate(1, 1, 0), 0, 1}, {begin.AddDate(1, 2, 0), 0, 0}} {
			if _, err := s.Sweep(t.Context(), "team-a", at.now, history.Retention{Age: 30 * 24 * time.Hour}); err != nil {
				t.Fatal(err)
			}
			if m, a := len(sums("2026-03", history.Grouping{})), len(sums("2026-04", history.Grouping{})); m != at.march || a != at.april {
				t.Errorf("at %s %d sums of March and %d of April", at.now, m, a)
			}
		}
		if left, err := s.Namespaces(t.Context()); err != nil || cmp.Diff([]string{"team-b"}, left) != "" {
			t.Errorf("namespaces %q, %v", left, err)
		}
	})
}
