package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/conditions"
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

func TestSetSaysWhatIsNew(t *testing.T) {
	stored := func() *[]metav1.Condition {
		return &[]metav1.Condition{{Type: "T", Status: metav1.ConditionTrue, Reason: "R", Message: "m", LastTransitionTime: raytest.Epoch}}
	}
	cases := map[string]struct {
		list            *[]metav1.Condition
		status          metav1.ConditionStatus
		reason, message string
		want            bool
		wantReason      string
	}{
		"the same":              {stored(), metav1.ConditionTrue, "R", "m", false, "R"},
		"another status":        {stored(), metav1.ConditionFalse, "R", "m", true, "R"},
		"another reason":        {stored(), metav1.ConditionTrue, "Other", "m", true, "Other"},
		"another message":       {stored(), metav1.ConditionTrue, "R", "n", true, "R"},
		"the first":             {&[]metav1.Condition{}, metav1.ConditionTrue, "R", "m", true, "R"},
		"a reason from anybody": {stored(), metav1.ConditionTrue, "no reason!", "m", true, rayv1.ReasonUnknown},
		"a reason without end":  {stored(), metav1.ConditionTrue, strings.Repeat("R", 1025), "m", true, rayv1.ReasonUnknown},
		"a message without end": {stored(), metav1.ConditionTrue, "R", strings.Repeat("m", 40000), true, "R"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := conditions.Editor{List: tc.list, Generation: 7, Now: raytest.Epoch.Add(time.Hour)}
			if got := c.Set("T", tc.status, tc.reason, tc.message); got != tc.want {
				t.Errorf("news: %t, want %t", got, tc.want)
			}
			found := c.Find("T")
			if found.Reason != tc.wantReason || found.ObservedGeneration != 7 || len(found.Message) > 32768 || c.Says("T", tc.message) != (tc.status == metav1.ConditionTrue) {
				t.Errorf("condition %.200v", found)
			}
			if c.Remove("T"); c.Find("T") != nil {
				t.Error("the condition stays")
			}
		})
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

func TestRefusal(t *testing.T) {
	for text, want := range map[string]string{
		"pods is forbidden: exceeded quota: q":                          rayv1.ReasonQuotaExceeded,
		`admission webhook "x" denied the request: no`:                  rayv1.ReasonAdmissionDenied,
		"failed calling webhook \"x\": EOF":                             rayv1.ReasonAdmissionDenied,
		"ValidatingAdmissionPolicy 'p' with binding 'b' denied request": rayv1.ReasonAdmissionDenied,
		`violates PodSecurity "restricted:latest"`:                      rayv1.ReasonAdmissionDenied,
		"pods is forbidden: User cannot create":                         rayv1.ReasonRequestRefused,
	} {
		if got := conditions.Refusal(errors.New(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
