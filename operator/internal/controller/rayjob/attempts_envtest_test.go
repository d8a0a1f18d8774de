package rayjob

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

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
	t.Parallel()
	const held = "example.com/held"
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo"))
	first := w.runs("demo")
	w.ChangeCluster(first.Status.RayClusterName, func(rc *rayv1.RayCluster) { rc.Finalizers = append(rc.Finalizers, held) })
	w.change("demo", func(j *rayv1.RayJob) { j.Spec.Suspend = true })
	w.eventuallyIn("demo", rayv1.JobDeploymentStatusSuspending)
	w.change("demo", func(j *rayv1.RayJob) { j.Spec.Suspend = false })
	w.fence("demo")
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

// TestOldAttemptIsGoneBeforeTheNext leaves neither its cluster nor its submitter next to those of a retry.
func TestOldAttemptIsGoneBeforeTheNext(t *testing.T) {
	t.Parallel()
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
