package raycluster

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

func (w *world) condition(name, kind string) metav1.Condition {
	w.T.Helper()
	if c := meta.FindStatusCondition(w.get(name).Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// connectTo connects the operator to one dashboard for all clusters.
func connectTo(ray dashboard.Client) func(*Config) {
	return func(c *Config) {
		c.Connect = func(dashboards.Address, dashboard.Token) (dashboard.Client, error) { return ray, nil }
	}
}

func TestIdleClusterIsSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ray := dashboardfake.New(clock.RealClock{})
	ray.Put(dashboard.Job{SubmissionID: "train", Status: dashboard.Running})
	counted, _ := w.startOperator(connectTo(ray))
	w.Create(w.cluster("other", raytest.Workers("cpu", 1)))
	w.Create(w.cluster("demo", raytest.Workers("cpu", 1), raytest.Annotations(map[string]string{rayv1.AnnotationIdleTimeout: "5s"})))
	w.eventuallyReady("demo")
	w.Eventually("the job to be seen", func() bool { return w.condition("demo", rayv1.RayClusterIdle).Reason == rayv1.ReasonJobActive })
	time.Sleep(7 * time.Second)
	if w.get("demo").Suspended() {
		t.Fatal("suspended while a job runs")
	}

	ray.Set("train", dashboard.Succeeded, "")
	w.Eventually("the suspension", func() bool { return w.get("demo").Status.State == rayv1.ClusterStateSuspended })
	if c := w.condition("demo", rayv1.RayClusterExpired); c.Status != metav1.ConditionTrue || c.Reason != rayv1.ReasonIdleTimeout {
		t.Errorf("condition Expired: %+v", c)
	}
	if c := w.condition("demo", rayv1.RayClusterIdle); c.Type != "" {
		t.Errorf("a suspended cluster says that it is idle: %+v", c)
	}
	w.oneEvent("demo", "SuspendedExpired")
	w.fence("demo")
	patches := 0
	for _, request := range counted.seen() {
		if strings.HasPrefix(request, "PATCH ") && strings.HasSuffix(request, "/rayclusters/demo") {
			patches++
		}
	}
	if patches != 1 {
		t.Errorf("patched the cluster %d times", patches)
	}

	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) {
		rc.Spec.Suspend = new(false)
		metav1.SetMetaDataAnnotation(&rc.ObjectMeta, rayv1.AnnotationKeepUntil, time.Now().Add(time.Hour).Format(time.RFC3339))
	})
	w.eventuallyReady("demo")
	w.Eventually("the cluster to be idle", func() bool { return w.condition("demo", rayv1.RayClusterIdle).Status == metav1.ConditionTrue })
	if c := w.condition("demo", rayv1.RayClusterExpired); c.Type != "" {
		t.Errorf("a cluster that is kept has expired: %+v", c)
	}
	if other := w.get("other"); other.Suspended() || w.condition("other", rayv1.RayClusterIdle).Type != "" {
		t.Errorf("a cluster without the annotation has the conditions %+v", other.Status.Conditions)
	}
}

// An old cluster is warned and deleted although its dashboard does not answer, unlike one that would have to be idle.
func TestOldClusterIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ray := dashboardfake.New(clock.RealClock{})
	ray.Fail(&dashboard.Error{Kind: dashboard.ErrUnavailable})
	w.startOperator(connectTo(ray))
	w.Create(w.cluster("idle", raytest.Annotations(map[string]string{rayv1.AnnotationIdleTimeout: "1s"})))
	w.Create(w.cluster("old", raytest.Annotations(map[string]string{rayv1.AnnotationMaxAge: "20s", rayv1.AnnotationExpiryAction: "Delete"})))
	w.eventuallyReady("old")
	w.Eventually("the warning", func() bool { return len(w.Events("old", "AboutToExpire")) > 0 })
	w.Eventually("the cluster to be deleted", func() bool {
		return apierrors.IsNotFound(w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "old"}, &rayv1.RayCluster{}))
	})
	w.Eventually("the event", func() bool { return len(w.Events("old", "DeletedExpired")) > 0 })
	if rc := w.get("idle"); rc.Suspended() || ray.Calls("Activity") == 0 {
		t.Errorf("suspended although nothing is known: %+v", rc.Status.Conditions)
	}
}

// The cluster of an interactive RayJob is deleted as idle when the status of the RayJob has the reason; that of another mode never is.
func TestIdleClusterOfAnInteractiveJobIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator(connectTo(dashboardfake.New(clock.RealClock{})))
	j := &rayv1.RayJob{ObjectMeta: w.At("job"), Spec: rayv1.RayJobSpec{SubmissionMode: rayv1.InteractiveMode, RayClusterSpec: &w.cluster("x").Spec}}
	w.Create(j)
	for name, mode := range map[string]rayv1.JobSubmissionMode{"demo": rayv1.InteractiveMode, "other": rayv1.HTTPMode} {
		rc := w.cluster(name, raytest.Annotations(map[string]string{rayv1.AnnotationIdleTimeout: "3s", rayv1.AnnotationExpiryAction: "Delete"}))
		rc.Labels = map[string]string{rayv1.LabelJobSubmissionMode: string(mode)}
		rc.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, rayv1.GroupVersion.WithKind("RayJob"))}
		w.Create(rc)
		w.eventuallyReady(name)
	}
	w.Eventually("the decision", func() bool { return w.condition("demo", rayv1.RayClusterExpired).Status == metav1.ConditionTrue })
	time.Sleep(3 * time.Second)
	decided := w.get("demo")
	if decided.DeletionTimestamp != nil {
		t.Fatal("deleted before its RayJob knows why")
	}
	w.Eventually("the status of the RayJob", func() bool {
		w.Read(j)
		j.Status.JobDeploymentStatus, j.Status.RayClusterStatus = rayv1.JobDeploymentStatusWaiting, decided.Status
		return w.Client.Status().Update(t.Context(), j) == nil
	})
	w.Eventually("the cluster to be deleted", func() bool { return w.gone("demo") })
	if c := w.condition("other", rayv1.RayClusterIdle); c.Type != "" {
		t.Errorf("the cluster of another mode has the condition %+v", c)
	}
}
