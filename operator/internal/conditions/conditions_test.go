package conditions_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/conditions"
)

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
