package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/raygate/raygate/operator/internal/report"
)

// sent collects events as text.
type sent []string

// Eventf implements events.EventRecorder.
func (s *sent) Eventf(_, _ runtime.Object, kind, reason, action, note string, args ...any) {
	*s = append(*s, strings.Join([]string{kind, reason, action, fmt.Sprintf(note, args...)}, " "))
}

// TestEventsOfOneReasonKeepTheirTexts: the API server would keep the first of them and count the others.
func TestEventsOfOneReasonKeepTheirTexts(t *testing.T) {
	var got sent
	report.Send(&got, nil, []report.Event{
		report.Warning("Failed", "Create", "role a"), report.Normal("Created", "Create", "Created %s", "b"), report.Warning("Failed", "Create", "role c"),
		report.Warning("Failed", "Update", "role d"), {}, report.Warning("Failed", "Create", "role a"),
	})
	want := sent{"Warning Failed Create role a; role c", "Normal Created Create Created b", "Warning Failed Update role d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestNotesFit(t *testing.T) {
	var got sent
	report.Send(&got, nil, []report.Event{report.Warning("R", "A", strings.Repeat("é", 1024))})
	note := strings.TrimPrefix(got[0], "Warning R A ")
	if len(note) > 1024 || !strings.HasSuffix(note, "é...") {
		t.Errorf("%d bytes, ending in %q", len(note), note[len(note)-5:])
	}
}

func TestWarningsDoNotOutliveTheirStatus(t *testing.T) {
	done := report.Normal("Created", "Create", "x")
	if diff := cmp.Diff([]report.Event{done}, report.Done([]report.Event{report.Warning("W", "A", "y"), done})); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestOnce(t *testing.T) {
	var once report.Once
	for i, step := range []struct {
		do   func() bool
		want bool
	}{
		{func() bool { return once.News("a", "s", "x") }, true},
		{func() bool { return once.News("a", "s", "x") }, false},
		{func() bool { return once.News("a", "other", "x") }, true},
		{func() bool { return once.News("b", "s", "x") }, true},
		{func() bool { return once.News("a", "s", "y") }, true},
		{func() bool { return once.Has("a", "s", "x") }, false},
		{func() bool { once.Say("a", "s", "x", "y"); return once.Has("a", "s", "x") && once.Has("a", "s", "y") }, true},
		{func() bool { once.Say("a", "s"); return once.Has("a", "s", "x") }, false},
		{func() bool { once.Forget("b"); return once.Has("b", "s", "x") }, false},
	} {
		if got := step.do(); got != step.want {
			t.Errorf("step %d: %t, want %t", i, got, step.want)
		}
	}
}
