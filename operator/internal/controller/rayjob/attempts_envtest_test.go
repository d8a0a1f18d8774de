package rayjob

import (
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
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
