package rayjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// shown are the conditions as "Type status reason", sorted.
func shown(list []metav1.Condition) []string {
	byType := map[string]string{}
	for _, c := range list {
		byType[c.Type] = fmt.Sprint(c.Type, " ", c.Status, " ", c.Reason)
	}
	return slices.Sorted(maps.Values(byType))
}

// TestConditions follows one job through all that can happen to it: each line is a status that comes after the one before.
func TestConditions(t *testing.T) {
	now := time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)
	life := []struct {
		state rayv1.JobDeploymentStatus
		ray   rayv1.JobStatus
		more  func(*rayv1.RayJobStatus)
		want  []string
	}{
		{rayv1.JobDeploymentStatusValidationFailed, "", nil, []string{"InvalidSpec True InvalidRayJobSpec", "Running False InvalidRayJobSpec"}},
		{rayv1.JobDeploymentStatusNew, "", nil, []string{"InvalidSpec False SpecRepaired", "Running False ClusterNotReady"}},
		{rayv1.JobDeploymentStatusInitializing, "", nil, []string{"InvalidSpec False SpecRepaired", "Running False ClusterNotReady"}},
		{rayv1.JobDeploymentStatusSuspending, "", nil, []string{"InvalidSpec False SpecRepaired", "Running False JobSuspended"}},
		{rayv1.JobDeploymentStatusSuspended, "", nil, []string{"InvalidSpec False SpecRepaired", "Running False JobSuspended", "Suspended True JobSuspended"}},
		{rayv1.JobDeploymentStatusInitializing, "", nil, []string{"InvalidSpec False SpecRepaired", "Running False ClusterNotReady", "Suspended False JobResumed"}},
		{rayv1.JobDeploymentStatusWaiting, "", nil, []string{"InvalidSpec False SpecRepaired", "Running False JobAwaited", "Suspended False JobResumed"}},
		{rayv1.JobDeploymentStatusRunning, "", nil, []string{"InvalidSpec False SpecRepaired", "Running False JobNotSubmitted", "Suspended False JobResumed"}},
		{rayv1.JobDeploymentStatusRunning, rayv1.JobStatusPending, nil, []string{"InvalidSpec False SpecRepaired", "Running False JobPending", "Suspended False JobResumed"}},
		{rayv1.JobDeploymentStatusRunning, rayv1.JobStatusRunning, func(st *rayv1.RayJobStatus) { st.JobStatusCheckFailureStartTime = &metav1.Time{Time: now} },
			[]string{"DashboardUnreachable True DashboardNotAnswering", "InvalidSpec False SpecRepaired", "Running True JobRunning", "Suspended False JobResumed"}},
		{rayv1.JobDeploymentStatusRetrying, rayv1.JobStatusFailed, nil,
			[]string{"DashboardUnreachable False DashboardAnswers", "InvalidSpec False SpecRepaired", "Running False JobRetrying", "Suspended False JobResumed"}},
		{rayv1.JobDeploymentStatusFailed, rayv1.JobStatusFailed, func(st *rayv1.RayJobStatus) { st.Reason = rayv1.AppFailed },
			[]string{"DashboardUnreachable False DashboardAnswers", "Failed True AppFailed", "InvalidSpec False SpecRepaired", "Running False JobEnded", "Suspended False JobResumed"}},
	}
	var list []metav1.Condition
	for i, tc := range life {
		st := &rayv1.RayJobStatus{JobDeploymentStatus: tc.state, JobStatus: tc.ray, Message: "line\nlog", Conditions: list}
		if tc.more != nil {
			tc.more(st)
		}
		setConditions(st, 3, now.Add(time.Duration(i)*time.Minute), "")
		if diff := cmp.Diff(tc.want, shown(st.Conditions)); diff != "" {
			t.Errorf("%d: %s %s (-want +got):\n%s", i, tc.state, tc.ray, diff)
		}
		again := st.DeepCopy()
		setConditions(again, 3, now.Add(time.Hour), "")
		if !equality.Semantic.DeepEqual(st, again) {
			t.Errorf("%d: the same status gives other conditions later:\n%s", i, cmp.Diff(st, again))
		}
		for _, c := range st.Conditions {
			if strings.Contains(c.Message, "log") {
				t.Errorf("%d: the log of the job is in condition %s", i, c.Type)
			}
		}
		list = st.Conditions
	}
	for ray, want := range map[rayv1.JobStatus]string{rayv1.JobStatusSucceeded: "Complete True JobSucceeded", rayv1.JobStatusStopped: "Complete True JobStopped"} {
		st := &rayv1.RayJobStatus{JobDeploymentStatus: rayv1.JobDeploymentStatusComplete, JobStatus: ray}
		setConditions(st, 1, now, "")
		if got := shown(st.Conditions); !slices.Contains(got, want) {
			t.Errorf("%s: %v", ray, got)
		}
	}
	st := &rayv1.RayJobStatus{JobDeploymentStatus: rayv1.JobDeploymentStatusFailed, Reason: "of another operator"}
	setConditions(st, 1, now, "")
	if got := shown(st.Conditions); !slices.Contains(got, "Failed True Unknown") {
		t.Errorf("a reason that the schema refuses: %v", got)
	}
}
