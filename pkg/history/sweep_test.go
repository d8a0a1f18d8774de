package history_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/pkg/history"
)

func TestSweep(t *testing.T) {
	for name, tc := range map[string]struct {
		retention history.Retention
		want      []string
	}{
		"no limit":                        {history.Retention{}, []string{"job-3", "job-2", "job-1", "job-0"}},
		"by age":                          {history.Retention{Age: 90 * time.Second}, []string{"job-3", "job-2"}},
		"by size":                         {history.Retention{Size: 3000}, []string{"job-3", "job-2"}},
		"by a size smaller than a record": {history.Retention{Size: 1}, []string{"job-3"}},
		"by an age that nothing has":      {history.Retention{Age: time.Nanosecond}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
				for i := range 4 {
					r := job(fmt.Sprintf("job-%d", i), 1, i)
					r.Answers = history.Answers{"a": {Missing: "b"}}
					put(t, s, r, strings.NewReader(strings.Repeat("x", 800)))
				}
				swept, err := s.Sweep(t.Context(), "team-a", begin.Add(3*time.Minute+time.Second), tc.retention)
				if err != nil || swept.Kept != len(tc.want) || swept.Deleted != 4-len(tc.want) {
					t.Errorf("Sweep = %+v, %v", swept, err)
				}
				page, err := s.List(t.Context(), history.Query{Namespace: "team-a"}, history.Cursor{}, 10)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, item := range page.Items {
					got = append(got, item.Name)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
				if len(tc.want) < 4 {
					if _, err := s.Log(t.Context(), job("job-0", 1, 0).Key, 0); !errors.Is(err, history.ErrNotFound) {
						t.Errorf("log of a deleted record: %v", err)
					}
					if _, err := s.Answers(t.Context(), job("job-0", 1, 0).Key); !errors.Is(err, history.ErrNotFound) {
						t.Errorf("answers of a deleted record: %v", err)
					}
				} else if a, err := s.Answers(t.Context(), job("job-0", 1, 0).Key); err != nil || a["a"].Missing != "b" {
					t.Errorf("answers %v, %v", a, err)
				}
			})
		})
	}
}
