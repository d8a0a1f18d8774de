package rayjob

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
)

// onSharedCluster is a RayJob on a cluster of somebody else, and that cluster.
func onSharedCluster(mode rayv1.JobSubmissionMode) []client.Object {
	j := storyJob(mode)
	j.Spec.RayClusterSpec, j.Spec.ClusterSelector = nil, map[string]string{rayv1.LabelCluster: "shared"}
	j.Spec.ShutdownAfterJobFinishes, j.Spec.BackoffLimit = false, nil
	rc := raytest.RayCluster("default/shared")
	rc.Status.State = rayv1.ClusterStateReady
	return []client.Object{j, rc, service.Head(rc, service.Options{})}
}

// stubborn plays the Pod of the submitter for as long as the test. The Pod takes its time to submit, does so again when Ray has lost the job, and lives
// for 30 seconds after its Job is deleted, since bash ignores the signal. stubborn is also the garbage collector for the Job.
func (s *stage) stubborn(delay time.Duration) {
	s.mu.Lock()
	s.ownSubmitter = true
	s.mu.Unlock()
	check := func(err error) {
		if err != nil {
			s.t.Error(err)
		}
	}
	go func() {
		var id string
		var lost, orphaned int // seconds
		for s.t.Context().Err() == nil {
			job, pod := &batchv1.Job{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-pod"}}
			hasJob := s.store.Get(context.Background(), demo, job) == nil
			if hasJob && s.store.Get(context.Background(), demo, &rayv1.RayJob{}) != nil {
				check(s.store.Delete(context.Background(), job))
			}
			if hasJob && id == "" {
				id, pod.Labels = submits(job), job.Spec.Template.Labels
				pod.Labels[batchv1.JobNameLabel], pod.Status.Phase = "demo", corev1.PodRunning
				check(s.store.Create(context.Background(), pod))
			}
			if !hasJob && id != "" {
				orphaned++
			}
			if orphaned == 30 {
				check(s.store.Delete(context.Background(), pod))
				return
			}
			if _, err := s.dash.GetJob(context.Background(), id); id != "" && errors.Is(err, dashboard.ErrNotFound) {
				if lost++; lost >= int(delay/time.Second) {
					lost = 0
					_, _ = s.dash.SubmitJob(context.Background(), dashboard.Submission{Entrypoint: "x", SubmissionID: id})
				}
			}
			select {
			case <-time.After(time.Second):
			case <-s.t.Context().Done():
			}
		}
	}()
}

// nothingRuns fails if Ray runs a job, or gets one within five minutes.
func (s *stage) nothingRuns() {
	s.t.Helper()
	s.dash.Fail(nil)
	for range 300 {
		jobs, err := s.dash.ListJobs(context.Background())
		s.must(err)
		if i := slices.IndexFunc(jobs, func(j dashboard.Job) bool { return !j.Status.Final() }); i >= 0 {
			s.t.Fatalf("job %s is %s\n%s", jobs[i].SubmissionID, jobs[i].Status, strings.Join(s.log, "\n"))
		}
		time.Sleep(time.Second)
	}
	var pods corev1.PodList
	s.must(s.store.List(context.Background(), &pods, client.HasLabels{batchv1.JobNameLabel}))
	if len(pods.Items) > 0 {
		s.t.Errorf("the submitter is still there")
	}
}

func inState(state rayv1.JobDeploymentStatus) func(*rayv1.RayJob) bool {
	return func(j *rayv1.RayJob) bool { return j.Status.JobDeploymentStatus == state }
}

func gone(j *rayv1.RayJob) bool { return j == nil }

// TestSubmitterDoesNotOutliveTheAttempt on a cluster that stays.
func TestSubmitterDoesNotOutliveTheAttempt(t *testing.T) {
	down := &dashboard.Error{Call: "x", Kind: dashboard.ErrUnavailable}
	for name, tc := range map[string]struct {
		spec  func(*rayv1.RayJobSpec)
		story func(*stage)
	}{
		"deleted before it submits": {nil, func(s *stage) {
			s.stubborn(10 * time.Second)
			s.play(onlooker, inState(rayv1.JobDeploymentStatusRunning))
			s.must(s.store.Delete(context.Background(), s.get()))
			begun := time.Now()
			s.play(onlooker, gone)
			if d := time.Since(begun); d > time.Minute {
				s.t.Errorf("the deletion took %s", d)
			}
		}},
		"deleted before the operator knows that it has submitted": {nil, func(s *stage) {
			s.stubborn(0)
			s.play(onlooker, inState(rayv1.JobDeploymentStatusRunning))
			s.must(s.store.Delete(context.Background(), s.get()))
			s.play(onlooker, gone)
		}},
		"deleted while the dashboard is away": {nil, func(s *stage) {
			s.stubborn(5 * time.Second)
			s.play(onlooker, runsOnRay)
			s.dash.Fail(down)
			s.must(s.store.Delete(context.Background(), s.get()))
			time.AfterFunc(40*time.Second, func() { s.dash.Fail(nil) })
			s.play(onlooker, gone)
		}},
		"past the deadline before it submits": {func(s *rayv1.RayJobSpec) { s.ActiveDeadlineSeconds = new(int32(60)) }, func(s *stage) {
			s.stubborn(5 * time.Second)
			s.dash.Fail(down)
			s.play(onlooker, finished)
			if st := s.get().Status; st.Reason != rayv1.DeadlineExceeded {
				s.t.Errorf("%s: %s", st.Reason, st.Message)
			}
		}},
		"the dashboard is away for too long": {nil, func(s *stage) {
			s.stubborn(5 * time.Second)
			s.play(onlooker, runsOnRay)
			s.dash.Fail(down)
			s.play(onlooker, finished)
			s.dash.Forget()
			if st := s.get().Status; st.Reason != rayv1.JobStatusCheckTimeoutExceeded {
				s.t.Errorf("%s: %s", st.Reason, st.Message)
			}
		}},
		"Ray loses the job and the submitter hangs": {nil, func(s *stage) {
			s.stubborn(time.Hour)
			s.play(onlooker, inState(rayv1.JobDeploymentStatusRunning))
			s.dash.Put(dashboard.Job{SubmissionID: s.get().Status.JobId, Status: dashboard.Running})
			s.play(onlooker, runsOnRay)
			s.dash.Forget()
			s.play(onlooker, finished)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				objects := onSharedCluster(rayv1.K8sJobMode)
				if tc.spec != nil {
					tc.spec(&objects[0].(*rayv1.RayJob).Spec)
				}
				s := newStage(t, objects...)
				tc.story(s)
				s.nothingRuns()
			})
		})
	}
}

// TestHeadRestartIsLeftToTheSubmitter has Ray forget a job whose submitter submits it again when Kubernetes has restarted it, as with KubeRay.
func TestHeadRestartIsLeftToTheSubmitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyJob(rayv1.K8sJobMode))
		s.stubborn(20 * time.Second)
		s.play(onlooker, runsOnRay)
		s.dash.Forget()
		id := s.get().Status.JobId
		s.play(onlooker, func(*rayv1.RayJob) bool { return s.dash.Submissions(id) == 2 })
		s.play(onlooker, finished, dashboard.Succeeded)
		if st := s.get().Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || st.JobId != id {
			t.Errorf("%s: %s", st.JobDeploymentStatus, st.Message)
		}
	})
}

// clumsy is a dashboard that takes its time to accept a job, and refuses to stop it at first.
type clumsy struct {
	dashboard.Client
	accepts  time.Duration
	failures *int
}

// SubmitJob implements dashboard.Client.
func (c clumsy) SubmitJob(ctx context.Context, sub dashboard.Submission) (string, error) {
	accepted := make(chan error, 1)
	time.AfterFunc(c.accepts, func() {
		_, err := c.Client.SubmitJob(context.WithoutCancel(ctx), sub)
		accepted <- err
	})
	select {
	case err := <-accepted:
		return sub.SubmissionID, err
	case <-ctx.Done():
		return "", &dashboard.Error{Call: "SubmitJob", Kind: dashboard.ErrUnavailable, Cause: ctx.Err()}
	}
}

// StopJob implements dashboard.Client.
func (c clumsy) StopJob(ctx context.Context, id string) (bool, error) {
	if *c.failures > 0 {
		*c.failures--
		return false, &dashboard.Error{Call: "StopJob", Kind: dashboard.ErrUnavailable}
	}
	return c.Client.StopJob(ctx, id)
}

// TestRayJobOnSharedClusterIsStopped though it is being submitted at the deadline, or cannot be stopped at once.
func TestRayJobOnSharedClusterIsStopped(t *testing.T) {
	for name, tc := range map[string]struct {
		accepts  time.Duration
		failures int
		deleted  bool
	}{
		"submission in flight": {accepts: 8 * time.Second}, "submission in flight, deleted": {accepts: 8 * time.Second, deleted: true},
		"submission without an answer": {accepts: 15 * time.Second}, "submission without an answer, deleted": {accepts: 15 * time.Second, deleted: true},
		"stop fails at first": {failures: 8}, "stop fails at first, deleted": {failures: 8, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := onSharedCluster(rayv1.HTTPMode)
				if !tc.deleted {
					objects[0].(*rayv1.RayJob).Spec.ActiveDeadlineSeconds = new(int32(tc.accepts/time.Second + 2))
				}
				s := newStage(t, objects...)
				s.change = func(c *Config) {
					connect := c.Connect
					c.Connect = func(a dashboards.Address, token dashboard.Token) (dashboard.Client, error) {
						d, err := connect(a, token)
						return clumsy{d, tc.accepts, &tc.failures}, err
					}
				}
				s.restart()
				if !tc.deleted {
					s.play(onlooker, finished)
				} else {
					s.play(onlooker, inState(rayv1.JobDeploymentStatusRunning))
					begun := time.Now()
					s.play(onlooker, func(*rayv1.RayJob) bool { return time.Since(begun) > tc.accepts })
					s.must(s.store.Delete(context.Background(), s.get()))
					s.play(onlooker, gone)
				}
				s.nothingRuns()
				if left := s.clusters(); left != 1 || strings.Contains(strings.Join(s.log, "\n"), "RayCluster") {
					t.Errorf("%d clusters, and written:\n%s", left, strings.Join(s.log, "\n"))
				}
			})
		})
	}
}

// TestDeletionSaysWhatItLeaves when a shared cluster cannot be asked to stop the job.
func TestDeletionSaysWhatItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, onSharedCluster(rayv1.HTTPMode)...)
		s.play(onlooker, runsOnRay)
		s.dash.Fail(&dashboard.Error{Call: "x", Kind: dashboard.ErrUnavailable})
		s.must(s.store.Delete(context.Background(), s.get()))
		begun := time.Now()
		s.play(onlooker, gone)
		if d := time.Since(begun); d > 3*time.Minute || !slices.Contains(s.events, "FailedToStopRayJob") {
			t.Errorf("the deletion took %s, events %v", d, s.events)
		}
	})
}
