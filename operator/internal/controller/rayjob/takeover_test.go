package rayjob

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/rayjob"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/pkg/dashboard"
)

// TestTakeoverFromKubeRay continues a job that KubeRay left in each state: nothing is submitted or created a second time.
func TestTakeoverFromKubeRay(t *testing.T) {
	cases := map[string]struct {
		mode      rayv1.JobSubmissionMode
		state     rayv1.JobDeploymentStatus
		ray       rayv1.JobStatus // as stored
		noJob     bool            // that submits
		submitted bool            // Ray has it
		submits   int             // by us
		clusters  int             // made by us
		jobs      int             // made by us
	}{
		"begins":                    {mode: rayv1.K8sJobMode, state: rayv1.JobDeploymentStatusInitializing, noJob: true, jobs: 1},
		"submitter is made":         {mode: rayv1.K8sJobMode, state: rayv1.JobDeploymentStatusInitializing},
		"submitter waits":           {mode: rayv1.K8sJobMode, state: rayv1.JobDeploymentStatusRunning},
		"runs":                      {mode: rayv1.K8sJobMode, state: rayv1.JobDeploymentStatusRunning, ray: rayv1.JobStatusRunning, submitted: true},
		"is retried":                {mode: rayv1.K8sJobMode, state: rayv1.JobDeploymentStatusRetrying, ray: rayv1.JobStatusFailed, clusters: 1, jobs: 1},
		"over HTTP, not submitted":  {mode: rayv1.HTTPMode, state: rayv1.JobDeploymentStatusRunning, submits: 1},
		"over HTTP, submitted":      {mode: rayv1.HTTPMode, state: rayv1.JobDeploymentStatusRunning, submitted: true},
		"over HTTP, runs":           {mode: rayv1.HTTPMode, state: rayv1.JobDeploymentStatusRunning, ray: rayv1.JobStatusRunning, submitted: true},
		"sidecar runs":              {mode: rayv1.SidecarMode, state: rayv1.JobDeploymentStatusRunning, ray: rayv1.JobStatusRunning, submitted: true},
		"sidecar, not ready yet":    {mode: rayv1.SidecarMode, state: rayv1.JobDeploymentStatusInitializing},
		"refused, though it works":  {mode: rayv1.HTTPMode, state: rayv1.JobDeploymentStatusValidationFailed, ray: rayv1.JobStatusRunning, submitted: true},
		"suspending, which is over": {mode: rayv1.K8sJobMode, state: rayv1.JobDeploymentStatusSuspending, ray: rayv1.JobStatusRunning, submitted: true, clusters: 1, jobs: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, left(t, tc.mode, tc.state, tc.ray, tc.noJob)...)
				if tc.submitted {
					s.dash.Put(dashboard.Job{SubmissionID: "demo-aaaaa", Status: dashboard.Running, StartTime: time.Now()})
				}
				s.play(onlooker, finished, dashboard.Succeeded)
				j := s.get()
				what := strings.Join(s.log, "\n")
				if j.Status.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || j.Status.JobStatus != rayv1.JobStatusSucceeded {
					t.Errorf("%s %s: %s\n%s", j.Status.JobDeploymentStatus, j.Status.JobStatus, j.Status.Message, what)
				}
				if s.made["*v1.RayCluster"] != tc.clusters || s.made["*v1.Job"] != tc.jobs || strings.Count(what, "submit demo") != tc.submits {
					t.Errorf("made %v, want %d clusters, %d Jobs and %d submissions\n%s", s.made, tc.clusters, tc.jobs, tc.submits, what)
				}
				if tc.submitted && tc.clusters == 0 && s.dash.Submissions("demo-aaaaa") != 0 {
					t.Error("the job was submitted a second time")
				}
			})
		})
	}
}

// left are a RayJob and its children as KubeRay makes them.
func left(t *testing.T, mode rayv1.JobSubmissionMode, state rayv1.JobDeploymentStatus, ray rayv1.JobStatus, noJob bool) []client.Object {
	t.Helper()
	j := storyJob(mode)
	j.Finalizers = []string{rayv1.FinalizerRayJob}
	j.Status = rayv1.RayJobStatus{
		JobId: "demo-aaaaa", RayClusterName: "demo-bbbbb", JobDeploymentStatus: state, JobStatus: ray,
		StartTime: &metav1.Time{Time: time.Now().Add(-time.Minute)}, Failed: new(int32(0)), Succeeded: new(int32(0)),
	}
	if state == rayv1.JobDeploymentStatusRetrying {
		j.Status.Failed = new(int32(1))
	}
	rc, err := rayjob.Cluster(j, rayjob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rc.UID, rc.Status.State = "cluster", rayv1.ClusterStateReady
	if mode == rayv1.SidecarMode && state == rayv1.JobDeploymentStatusInitializing {
		rc.Status.State = ""
	}
	if state != rayv1.JobDeploymentStatusInitializing {
		j.Status.DashboardURL = "demo-bbbbb-head-svc.default.svc.cluster.local:8265"
	}
	objects := []client.Object{j, rc, service.Head(rc, service.Options{})}
	if mode == rayv1.SidecarMode {
		head := pod.Head(rc, pod.Options{DeterministicHeadName: true})
		head.Name = rc.Name + "-head"
		objects = append(objects, head)
	}
	if mode == rayv1.K8sJobMode && !noJob {
		submitter, err := job.Submitter(j, rc, pod.Options{})
		if err != nil {
			t.Fatal(err)
		}
		delete(submitter.Labels, rayv1.LabelCluster)
		objects = append(objects, submitter)
	}
	return objects
}

// TestJobOfKubeRayIsLabelled makes it visible to the cache, which is filtered.
func TestJobOfKubeRayIsLabelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, left(t, rayv1.K8sJobMode, rayv1.JobDeploymentStatusRunning, rayv1.JobStatusRunning, false)...)
		s.dash.Put(dashboard.Job{SubmissionID: "demo-aaaaa", Status: dashboard.Running})
		s.play(onlooker, finished, dashboard.Succeeded)
		submitter := &batchv1.Job{}
		if err := s.store.Get(context.Background(), demo, submitter); err != nil || submitter.Labels[rayv1.LabelCluster] != "demo-bbbbb" {
			t.Errorf("labels %v, %v", submitter.Labels, err)
		}
	})
}

// unlabelled hides Jobs without the label of a cluster, as the cache does.
type unlabelled struct{ client.Client }

// Get implements client.Client.
func (u unlabelled) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := u.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	if _, ok := o.(*batchv1.Job); ok && o.GetLabels()[rayv1.LabelCluster] == "" {
		return apierrors.NewNotFound(batchv1.Resource("jobs"), key.Name)
	}
	return nil
}

// TestForeignJobOfTheName is neither taken for the submitter nor touched, and is not reported as a failure of the operator.
func TestForeignJobOfTheName(t *testing.T) {
	for name, owners := range map[string][]metav1.OwnerReference{
		"of nobody":           nil,
		"of a deleted RayJob": {{APIVersion: rayv1.GroupVersion.String(), Kind: "RayJob", Name: "demo", UID: "before", Controller: new(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", UID: "foreign", OwnerReferences: owners}}
				foreign.Spec.Template.Spec.Containers = []corev1.Container{{Name: "x"}}
				s := newStage(t, storyJob(rayv1.K8sJobMode), foreign)
				s.change = func(c *Config) { c.Client = unlabelled{c.Client} }
				s.restart()
				waits := func(j *rayv1.RayJob) bool { return strings.Contains(j.Status.Message, "belongs to somebody else") }
				s.play(onlooker, waits)
				if state := s.get().Status.JobDeploymentStatus; state != rayv1.JobDeploymentStatusInitializing {
					t.Errorf("state %s while the name is taken", state)
				}
				if err := s.store.Delete(context.Background(), foreign); err != nil {
					t.Fatal(err)
				}
				s.play(onlooker, finished, dashboard.Succeeded)
				if events := strings.Join(s.events, " "); strings.Contains(events, "FailedTo") {
					t.Errorf("events %s", events)
				}
			})
		})
	}
}
