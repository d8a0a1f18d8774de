package archive_test

import (
	"strings"
	"testing"

	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/pkg/dashboard"
)

// TestAnswers shows that the answers of the dashboard are kept as far as they fit, and that one that hangs costs neither them nor the log.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s, about := newStage(t, nil), subject(0)
	s.ray.Put(dashboard.Job{SubmissionID: about.JobID, JobID: "02000000", Status: dashboard.Succeeded})
	s.ray.Write(about.JobID, "hello")
	large := `"` + strings.Repeat("x", 1<<20) + `"`
	s.ray.SetAnswers(map[string]string{
		"api/jobs/":                         large,
		"nodes?view=summary":                `["--redis-password=hunter2","--redis_password hunter2"]`,
		"api/v0/tasks?detail=1&limit=10000": large,
		"api/v0/tasks?detail=1&limit=200":   `[1]`,
		"timezone":                          `{}`,
		"api/data/datasets/02000000":        ``,
		"api/v0/cluster_metadata":           `2`,
		"api/v0/tasks/summarize?filter_keys=job_id&filter_predicates=%3D&filter_values=02000000": `3`,
	})
	if o := s.keep(t, about); o != (archive.Outcome{Done: true}) {
		t.Fatalf("outcome %+v", o)
	}
	r, err := s.store.Get(t.Context(), about.Key)
	if err != nil || !r.HasDashboard || !r.HasLog || r.LogBytes != 5 {
		t.Fatalf("record %+v, %v", r, err)
	}
	answers, err := s.store.Answers(t.Context(), about.Key)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]struct{ body, missing string }{
		"api/jobs/":             {missing: "too large"},
		"nodes?view=summary":    {body: `["--redis-password=***","--redis_password ***"]`},
		"api/v0/tasks?detail=1": {body: `[1]`, missing: "more rows"},
		"api/v0/tasks/summarize?filter_keys=job_id&filter_predicates=%3D&filter_values=02000000": {body: `3`},
		"api/data/datasets/02000000": {missing: "deadline"},
		"logical/actors":             {missing: "404"},
		"timezone":                   {body: `{}`},
	} {
		got, ok := answers[target]
		if !ok || string(got.Body) != want.body || !strings.Contains(got.Missing, want.missing) || (got.Missing == "") != (want.missing == "") {
			t.Errorf("%s: %s, %q", target, got.Body, got.Missing)
		}
	}
}

func TestPagesAreAway(t *testing.T) {
	t.Parallel()
	s, about := newStage(t, nil), subject(0)
	s.ray.SetAnswers(map[string]string{"api/jobs/": ""})
	if o := s.keep(t, about); !o.Done || !strings.HasPrefix(o.Lost, "the pages of Ray's dashboard are missing") {
		t.Errorf("outcome %+v", o)
	}
	if r, err := s.store.Get(t.Context(), about.Key); err != nil || !r.HasLog || r.HasDashboard {
		t.Errorf("record %+v, %v", r, err)
	}
}
