package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// TestJobsWithTheRightsOfTheManifests runs jobs on simulated Ray by an operator that has the rights of operator/config and no more:
// no request that RayJobs and RayCronJobs need is denied.
func TestJobsWithTheRightsOfTheManifests(t *testing.T) {
	ctx, env, c, must := installed(t, 4*time.Minute)
	installComponent(ctx, t, c, "kubernetes-proxy")
	file := filepath.Join(t.TempDir(), "config.yaml")
	must(os.WriteFile(file, []byte(fileHead+`
leaderElectionNamespace: `+systemNamespace+`
reconcileConcurrency: 4
useKubernetesProxy: true
featureGates: {RayCronJob: true}
`), 0o600))
	ports, err := programs.FreePorts(2)
	must(err)
	cmd := operator(t, nil, "--kubeconfig="+operatorKubeconfig(ctx, t, env, c), "--config="+file,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]))
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	must(cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the operator said:\n%s", out)
		}
	})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "rights-"}}
	must(c.Create(ctx, ns))
	must(c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "token"}, StringData: map[string]string{rayv1.AuthTokenSecretKey: "s3cret"}}))

	job := func(mode rayv1.JobSubmissionMode, entrypoint string, change func(*rayv1.RayJobSpec)) rayv1.RayJobSpec {
		s := rayv1.RayJobSpec{
			SubmissionMode: mode, Entrypoint: entrypoint, ShutdownAfterJobFinishes: true,
			RayClusterSpec: &raytest.RayCluster("x/y", raytest.Workers("cpu", 1)).Spec,
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	rule := func(p rayv1.DeletionPolicyType, ttl int32) rayv1.DeletionRule {
		return rayv1.DeletionRule{Policy: p, Condition: rayv1.DeletionCondition{JobStatus: new(rayv1.JobStatusSucceeded), TTLSeconds: ttl}}
	}
	jobs := map[string]struct {
		spec rayv1.RayJobSpec
		want rayv1.JobDeploymentStatus // empty for one that deletes itself
	}{
		"kubernetes": {job(rayv1.K8sJobMode, "echo", nil), rayv1.JobDeploymentStatusComplete},
		"http":       {job(rayv1.HTTPMode, "exit 1", func(s *rayv1.RayJobSpec) { s.BackoffLimit = new(int32(1)) }), rayv1.JobDeploymentStatusFailed},
		"sidecar":    {job(rayv1.SidecarMode, "echo", nil), rayv1.JobDeploymentStatusComplete},
		"token": {job(rayv1.HTTPMode, "echo", func(s *rayv1.RayJobSpec) {
			s.RayClusterSpec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken, SecretName: new("token")}
		}), rayv1.JobDeploymentStatusComplete},
		"rules": {job(rayv1.HTTPMode, "echo", func(s *rayv1.RayJobSpec) {
			s.ShutdownAfterJobFinishes = false
			s.DeletionStrategy = &rayv1.DeletionStrategy{DeletionRules: []rayv1.DeletionRule{rule(rayv1.DeleteWorkers, 0), rule(rayv1.DeleteSelf, 3)}}
		}), ""},
		"late": {job(rayv1.K8sJobMode, "sleep 300", func(s *rayv1.RayJobSpec) { s.ActiveDeadlineSeconds = new(int32(8)) }), rayv1.JobDeploymentStatusFailed},
	}
	get := func(name string) *rayv1.RayJob {
		j := &rayv1.RayJob{}
		err := c.Get(ctx, client.ObjectKey{Namespace: ns.Name, Name: name}, j)
		if apierrors.IsNotFound(err) {
			return nil
		}
		must(err)
		return j
	}
	for name, tc := range jobs {
		must(c.Create(ctx, &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}, Spec: tc.spec}))
	}
	long := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "long"}, Spec: job(rayv1.K8sJobMode, "sleep 300", nil)}
	must(c.Create(ctx, long))
	cron := &rayv1.RayCronJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "cron"}, Spec: rayv1.RayCronJobSpec{
		Schedule: "* * * * *", JobTemplate: job(rayv1.HTTPMode, "echo", nil),
	}}
	must(c.Create(ctx, cron))
	eventually(ctx, t, "a run that was missed", func() bool {
		must(c.Get(ctx, client.ObjectKeyFromObject(cron), cron))
		cron.Status.LastScheduleTime = &metav1.Time{Time: time.Now().Add(-time.Hour)}
		return c.Status().Update(ctx, cron) == nil
	})

	for name, tc := range jobs {
		eventually(ctx, t, "the end of "+name, func() bool {
			j := get(name)
			if tc.want == "" {
				return j == nil
			}
			if st := j.Status.JobDeploymentStatus; st.IsTerminal() && st != tc.want {
				t.Fatalf("%s is %s: %s", name, st, j.Status.Message)
			}
			return j.Status.JobDeploymentStatus == tc.want
		})
	}
	state := func(name string, ray rayv1.JobStatus, state rayv1.JobDeploymentStatus) func() bool {
		return func() bool { st := get(name).Status; return st.JobStatus == ray && st.JobDeploymentStatus == state }
	}
	eventually(ctx, t, "the long job to run", state("long", rayv1.JobStatusRunning, rayv1.JobDeploymentStatusRunning))
	suspend := func(yes bool) {
		must(c.Patch(ctx, long, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, yes))))
	}
	suspend(true)
	eventually(ctx, t, "the long job to be suspended", state("long", "", rayv1.JobDeploymentStatusSuspended))
	suspend(false)
	eventually(ctx, t, "the long job to run again", state("long", rayv1.JobStatusRunning, rayv1.JobDeploymentStatusRunning))
	must(c.Delete(ctx, long, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	eventually(ctx, t, "the long job to go", func() bool { return get("long") == nil })
	var runs rayv1.RayJobList
	eventually(ctx, t, "the run of the schedule", func() bool {
		must(c.List(ctx, &runs, client.InNamespace(ns.Name), client.MatchingLabels{rayv1.LabelCronJobName: "cron"}))
		return len(runs.Items) > 0 && runs.Items[0].Status.JobDeploymentStatus == rayv1.JobDeploymentStatusComplete
	})

	var events eventsv1.EventList
	must(c.List(ctx, &events, client.InNamespace(ns.Name)))
	for _, e := range events.Items {
		if strings.Contains(e.Note, "forbidden") {
			t.Errorf("event %s of %s: %s", e.Reason, e.Regarding.Name, e.Note)
		}
	}
	if len(events.Items) == 0 || strings.Contains(out.String(), "forbidden") {
		t.Errorf("a right is missing, or there are no events: %d", len(events.Items))
	}
	_ = c.DeleteAllOf(context.Background(), &rayv1.RayCronJob{}, client.InNamespace(ns.Name))
	_ = c.DeleteAllOf(context.Background(), &rayv1.RayJob{}, client.InNamespace(ns.Name))
}
