package rayjob

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

func TestKubernetesJobSubmits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	w.Create(w.job("demo", func(j *rayv1.RayJob) {
		j.Labels, j.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "b"}
	}))
	rc := w.clusterOf("demo")
	first := w.get("demo")
	if first.Status.JobDeploymentStatus != rayv1.JobDeploymentStatusInitializing || first.Status.JobId == "" || first.Status.StartTime == nil ||
		!slices.Contains(first.Finalizers, rayv1.FinalizerRayJob) {
		t.Errorf("a job that begins: finalizers %v, status %+v", first.Finalizers, first.Status)
	}
	if rc.Labels["team"] != "a" || rc.Annotations["note"] != "b" || len(rc.Annotations) != 1 || rc.Labels[rayv1.LabelOriginatedFromCRName] != "demo" || !metav1.IsControlledBy(rc, first) {
		t.Errorf("cluster with labels %v, annotations %v", rc.Labels, rc.Annotations)
	}
	w.clusterStatus(rc, func(st *rayv1.RayClusterStatus) {
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: rayv1.HeadPodReady, Status: metav1.ConditionFalse, Reason: "ContainersNotReady"})
	})
	w.Eventually("the condition of the cluster", func() bool {
		st := w.get("demo").Status
		return st.JobDeploymentStatus == rayv1.JobDeploymentStatusInitializing && meta.IsStatusConditionFalse(st.RayClusterStatus.Conditions, rayv1.HeadPodReady)
	})
	w.ready(rc)
	j := w.eventuallyIn("demo", rayv1.JobDeploymentStatusRunning)
	submitter := &batchv1.Job{ObjectMeta: w.At("demo")}
	if !w.Read(submitter) || *submitter.Spec.BackoffLimit != 2 || !metav1.IsControlledBy(submitter, j) {
		t.Fatalf("submitter %+v", submitter.ObjectMeta)
	}
	script := submitter.Spec.Template.Spec.Containers[0].Args[0]
	if !strings.HasPrefix(j.Status.DashboardURL, "demo-") || !strings.Contains(script, j.Status.DashboardURL) || !strings.Contains(script, j.Status.JobId) {
		t.Errorf("dashboard %s, script %s", j.Status.DashboardURL, script)
	}
	w.clusterStatus(rc, func(st *rayv1.RayClusterStatus) { st.MaxWorkerReplicas = 7 })
	w.Eventually("the size of the cluster", func() bool { return w.get("demo").Status.RayClusterStatus.MaxWorkerReplicas == 7 })
	w.submits(j)
	w.Eventually("the state of Ray", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusRunning })
	svc := &corev1.Service{ObjectMeta: w.At("demo-head-svc")}
	if !w.Read(svc) || svc.Spec.Selector[rayv1.LabelCluster] != rc.Name {
		t.Errorf("Service of the job leads to %v", svc.Spec.Selector)
	}
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "done")
	w.Eventually("success", func() bool { return w.get("demo").Status.JobStatus == rayv1.JobStatusSucceeded })
	w.fence("demo")
	if st := w.get("demo").Status.JobDeploymentStatus; st != rayv1.JobDeploymentStatusRunning {
		t.Errorf("%s while the submitter still writes the log", st)
	}
	w.endSubmitter("demo", corev1.PodSucceeded)
	j = w.eventuallyIn("demo", rayv1.JobDeploymentStatusComplete)
	st := &j.Status
	if *st.Succeeded != 1 || *st.Failed != 0 || st.EndTime == nil || st.RayJobStatusInfo.EndTime == nil || st.RayClusterStatus.State != rayv1.ClusterStateReady ||
		st.ObservedGeneration != j.Generation {
		t.Errorf("status at the end: %+v", st)
	}
	if got := shown(st.Conditions); !slices.Equal(got, []string{"Complete True JobSucceeded", "Ready True JobSucceeded", "Running False JobEnded"}) {
		t.Errorf("conditions at the end: %v", got)
	}
	w.gone(rc)
	if !w.Read(submitter) {
		t.Error("the submitter, which has the log, is gone")
	}
	if n := w.written("update status RayJob demo"); n > 10 {
		t.Errorf("%d writes of the status:\n%s", n, strings.Join(w.writes, "\n"))
	}
	if n := w.written("create Job"); n != 1 {
		t.Errorf("%d Jobs were created", n)
	}
	w.oneEvent("demo", "CreatedRayCluster", "CreatedRayJobSubmitter", "CreatedService", "DeletedRayCluster")
}

// TestTokenIsReadAndSent also deletes a RayJob whose token is missing, which must not hold it.
func TestTokenIsReadAndSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	guarded := withSpec(func(s *rayv1.RayJobSpec) {
		s.RayClusterSpec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}
	})
	w.Create(w.job("demo", inMode(rayv1.HTTPMode), guarded))
	rc := w.clusterOf("demo")
	w.Create(&corev1.Secret{ObjectMeta: w.At(rc.Name), Data: map[string][]byte{rayv1.AuthTokenSecretKey: []byte("s3cret")}})
	w.ready(rc)
	w.Eventually("a call with the token", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.dialed, func(d string) bool { return strings.HasSuffix(d, " s3cret") })
	})
	w.Create(w.job("bare", inMode(rayv1.HTTPMode), guarded))
	w.runs("bare")
	w.Eventually("the failure", func() bool { return w.get("bare").Status.JobStatusCheckFailureStartTime != nil })
	bare := w.get("bare")
	if err := w.Client.Delete(t.Context(), bare, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.gone(bare)
}
