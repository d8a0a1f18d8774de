package rayjob

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

// TestStatusOfTheClusterIsMirrored before it is ready and later, and the submitter is as configured.
func TestStatusOfTheClusterIsMirrored(t *testing.T) {
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", withSpec(func(s *rayv1.RayJobSpec) { s.SubmitterConfig = &rayv1.SubmitterConfig{BackoffLimit: new(int32(88))} })))
	rc := w.clusterOf("demo")
	w.clusterStatus(rc, func(st *rayv1.RayClusterStatus) {
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: rayv1.HeadPodReady, Status: metav1.ConditionFalse, Reason: "ContainersNotReady"})
	})
	w.Eventually("the condition of the cluster", func() bool {
		st := w.get("demo").Status
		return st.JobDeploymentStatus == rayv1.JobDeploymentStatusInitializing && meta.IsStatusConditionFalse(st.RayClusterStatus.Conditions, rayv1.HeadPodReady)
	})
	w.ready(rc)
	w.eventuallyIn("demo", rayv1.JobDeploymentStatusRunning)
	w.clusterStatus(rc, func(st *rayv1.RayClusterStatus) { st.MaxWorkerReplicas = 7 })
	w.Eventually("the size of the cluster", func() bool { return w.get("demo").Status.RayClusterStatus.MaxWorkerReplicas == 7 })
	submitter := &batchv1.Job{ObjectMeta: w.At("demo")}
	if !w.Read(submitter) || *submitter.Spec.BackoffLimit != 88 {
		t.Errorf("submitter %+v", submitter.Spec)
	}
}

func (w *world) clusterStatus(rc *rayv1.RayCluster, change func(*rayv1.RayClusterStatus)) {
	w.T.Helper()
	w.Eventually("a status of "+rc.Name, func() bool {
		w.Read(rc)
		change(&rc.Status)
		return w.Client.Status().Update(w.T.Context(), rc) == nil
	})
}

// TestSuspensionIsAtomic keeps a RayJob Suspending while its cluster is held by somebody's finalizer, whatever the flag does.
func TestSuspensionIsAtomic(t *testing.T) {
	const held = "example.com/held"
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo"))
	first := w.runs("demo")
	w.ChangeCluster(first.Status.RayClusterName, func(rc *rayv1.RayCluster) { rc.Finalizers = append(rc.Finalizers, held) })
	w.change("demo", func(j *rayv1.RayJob) { j.Spec.Suspend = true })
	w.eventuallyIn("demo", rayv1.JobDeploymentStatusSuspending)
	w.change("demo", func(j *rayv1.RayJob) { j.Spec.Suspend = false })
	time.Sleep(2 * time.Second)
	if j := w.get("demo"); j.Status.JobDeploymentStatus != rayv1.JobDeploymentStatusSuspending || j.Status.RayClusterName != first.Status.RayClusterName {
		t.Errorf("%s on %s", j.Status.JobDeploymentStatus, j.Status.RayClusterName)
	}
	w.ChangeCluster(first.Status.RayClusterName, func(rc *rayv1.RayCluster) { rc.Finalizers = nil })
	w.Eventually("another attempt", func() bool {
		n := w.get("demo").Status.RayClusterName
		return n != "" && n != first.Status.RayClusterName
	})
	w.runs("demo")
}

// TestNameThatIsTooLong is refused by the controller where the API server lets it through.
func TestNameThatIsTooLong(t *testing.T) {
	w := newWorld(t)
	w.startOperator()
	name := strings.Repeat("n", 48)
	if err := w.Client.Create(t.Context(), w.job(name)); err != nil {
		if !strings.Contains(err.Error(), "47") {
			t.Errorf("refused without the limit: %v", err)
		}
		return
	}
	j := w.eventuallyIn(name, rayv1.JobDeploymentStatusValidationFailed)
	if !strings.Contains(j.Status.Message, "47") || !meta.IsStatusConditionTrue(j.Status.Conditions, rayv1.RayJobInvalidSpec) {
		t.Errorf("status %+v", j.Status)
	}
	w.Eventually("the event", func() bool { return len(w.Events(name, "InvalidRayJobMetadata")) == 1 })
}

// TestSchedulerThatCannotBeReached holds a suspension, which gives room to others, and not the end of a job.
func TestSchedulerThatCannotBeReached(t *testing.T) {
	w := newWorld(t)
	w.Install(volcanoGroup)
	w.startWithScheduler("volcano")
	w.Create(w.job("suspended", inMode(rayv1.HTTPMode)))
	w.Create(w.job("ended", inMode(rayv1.HTTPMode)))
	w.runs("suspended")
	j := w.runs("ended")
	w.Eventually("the submission", func() bool { return w.dash.Submissions(j.Status.JobId) == 1 })
	w.refuse("PodGroup", true)
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
	w.change("suspended", func(j *rayv1.RayJob) { j.Spec.Suspend = true })
	w.eventuallyIn("ended", rayv1.JobDeploymentStatusComplete)
	w.eventuallyIn("suspended", rayv1.JobDeploymentStatusSuspending)
	w.Eventually("the event", func() bool { return len(w.Events("suspended", "FailedToCleanupBatchScheduler")) == 1 })
	w.gone(&rayv1.RayCluster{ObjectMeta: w.At(j.Status.RayClusterName)})
	if st := w.get("suspended").Status.JobDeploymentStatus; st != rayv1.JobDeploymentStatusSuspending {
		t.Errorf("%s before the scheduler has given back what it had reserved", st)
	}
	w.refuse("PodGroup", false)
	w.eventuallyIn("suspended", rayv1.JobDeploymentStatusSuspended)
}

// TestOldAttemptIsGoneBeforeTheNext leaves neither its cluster nor its submitter next to those of a retry.
func TestOldAttemptIsGoneBeforeTheNext(t *testing.T) {
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", withSpec(func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(1)) })))
	first := w.runs("demo")
	w.submits(first)
	w.dash.Set(first.Status.JobId, dashboard.Failed, "")
	w.endSubmitter("demo", corev1.PodSucceeded)
	w.Eventually("another attempt", func() bool {
		n := w.get("demo").Status.RayClusterName
		return n != "" && n != first.Status.RayClusterName
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	var order []string
	for _, line := range w.writes {
		if strings.Contains(line, "RayCluster ") && !strings.Contains(line, "status") || strings.HasSuffix(line, "Job demo") && !strings.Contains(line, "RayJob") {
			order = append(order, strings.ReplaceAll(line, first.Status.RayClusterName, "first"))
		}
	}
	want := "create RayCluster first, create Job demo, delete RayCluster first, delete Job demo"
	if got := strings.Join(order, ", "); !strings.HasPrefix(got, want) {
		t.Errorf("writes %s", got)
	}
	if w.Read(&batchv1.Job{ObjectMeta: w.At("demo")}) && !strings.Contains(strings.Join(order[4:], ""), "create Job") {
		t.Error("the submitter of the first attempt is still there")
	}
}
