package realray

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// A program that fails is tried as often as the RayJob says, on clusters of their own or on the same.
func TestFailingJobIsRetried(t *testing.T) {
	t.Parallel()
	for on, same := range map[rayv1.RetryOn]bool{rayv1.RetryOnNewCluster: false, rayv1.RetryOnSameCluster: true} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.job("demo", rayv1.K8sJobMode, hello, func(j *rayv1.RayJob) {
				j.Annotations = map[string]string{rayv1.AnnotationRetryOn: string(on)}
				j.Spec.RuntimeEnvYAML = `env_vars: {EXIT_CODE: "3"}`
				j.Spec.BackoffLimit = new(int32(1))
				j.Spec.ShutdownAfterJobFinishes = true
			})
			first := w.awaitJob("demo", "runs", func(st *rayv1.RayJobStatus) bool { return st.RayClusterName != "" }).Status.RayClusterName
			j := w.jobEnds("demo")
			st := &j.Status
			if st.JobDeploymentStatus != rayv1.JobDeploymentStatusFailed || st.JobStatus != rayv1.JobStatusFailed || st.Reason != rayv1.AppFailed || st.Failed == nil || *st.Failed != 2 {
				t.Errorf("ended as %s, job %s, reason %q, failed %v: %s", st.JobDeploymentStatus, st.JobStatus, st.Reason, st.Failed, st.Message)
			}
			if (st.RayClusterName == first) != same {
				t.Errorf("the attempts were on %s and %s", first, st.RayClusterName)
			}
			w.clustersGone()
		})
	}
}

// saves is a program that needs more time to save its state than Ray gives it by default.
const saves = `python -c "import signal, sys, time
def save(*_):
    time.sleep(10)
    print('it has saved', flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, save)
print('it begins', flush=True)
while True: time.sleep(1)"`

// A suspension waits until the program has saved its state.
func TestSuspendedJobSavesItsState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.job("demo", rayv1.HTTPMode, saves, func(j *rayv1.RayJob) {
		j.Annotations = map[string]string{rayv1.AnnotationSuspendGrace: "1m"}
		j.Spec.ShutdownAfterJobFinishes = true // which a suspension needs
	})
	j := w.awaitJob("demo", "runs", func(st *rayv1.RayJobStatus) bool { return st.JobStatus == rayv1.JobStatusRunning })
	w.eventually("the program begins", func(context.Context) error {
		if log := string(w.gateway("GET", "/jobs/demo/logs", nil).body); !strings.Contains(log, "it begins\n") {
			return fmt.Errorf("log %q", log)
		}
		return nil
	})
	log := make(chan reply, 1)
	go func() {
		r, _ := send(t.Context(), "GET", product.rest+"/apis/v2/namespaces/"+w.ns+"/jobs/demo/logs?follow=true", nil) // may break off with the cluster
		log <- r
	}()
	w.update(j, func() { j.Spec.Suspend = true })
	w.awaitJob("demo", "is suspended", func(st *rayv1.RayJobStatus) bool { return st.JobDeploymentStatus == rayv1.JobDeploymentStatusSuspended })
	if r := <-log; !strings.Contains(string(r.body), "it has saved\n") {
		t.Errorf("HTTP %d, log %q", r.code, r.body)
	}
}

func (w *world) clustersGone() {
	w.t.Helper()
	w.eventually("the clusters are gone", func(ctx context.Context) error {
		list := &rayv1.RayClusterList{}
		if err := product.client.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%d clusters", len(list.Items))
		}
		return nil
	})
}

// A job on a cluster that others use is stopped through the gateway; the cluster stays.
func TestJobIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("shared", 0)
	w.ready(rc)
	w.job("demo", rayv1.HTTPMode, "sleep 600", func(j *rayv1.RayJob) {
		j.Spec.RayClusterSpec, j.Spec.ClusterSelector = nil, map[string]string{rayv1.LabelCluster: "shared"}
	})
	w.awaitJob("demo", "runs", func(st *rayv1.RayJobStatus) bool { return st.JobStatus == rayv1.JobStatusRunning })
	w.gateway("POST", "/jobs/demo:stop", map[string]any{})
	j := w.jobEnds("demo")
	if st := &j.Status; st.JobStatus != rayv1.JobStatusStopped || st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete {
		t.Errorf("ended as %s, job %s, reason %q: %s", st.JobDeploymentStatus, st.JobStatus, st.Reason, st.Message)
	}
	w.noRestarts("shared")
}

// A RayCronJob makes RayJobs that run.
func TestCronJobFires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := clusterSpec(0)
	spec.HeadGroupSpec.RayStartParams["num-cpus"] = "1"
	cron := &rayv1.RayCronJob{}
	cron.Name, cron.Namespace = "demo", w.ns
	cron.Spec = rayv1.RayCronJobSpec{
		Schedule: "* * * * *",
		JobTemplate: rayv1.RayJobSpec{
			SubmissionMode: rayv1.HTTPMode, Entrypoint: hello, RayClusterSpec: &spec, ShutdownAfterJobFinishes: true,
		},
	}
	w.create(cron)
	w.jobSucceeds(w.firstRun(cron))
}

// firstRun waits for the first RayJob of a RayCronJob and suspends the schedule.
func (w *world) firstRun(cron *rayv1.RayCronJob) (job string) {
	w.t.Helper()
	w.eventually("a run is made", func(ctx context.Context) error {
		list := &rayv1.RayJobList{}
		if err := product.client.List(ctx, list, client.InNamespace(w.ns), client.MatchingLabels{rayv1.LabelCronJobName: cron.Name}); err != nil || len(list.Items) == 0 {
			return fmt.Errorf("no RayJob: %w", err)
		}
		job = list.Items[0].Name
		return nil
	})
	w.update(cron, func() { cron.Spec.Suspend = new(true) })
	return job
}
