package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// runs is a program that leaves a line in a file each time it starts, and does then what the rest says.
func runs(file, rest string) string {
	return fmt.Sprintf(`sh -c 'echo run >>%s; %s'`, file, rest)
}

func linesOf(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

func touch(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	complete = rayv1.JobDeploymentStatusComplete
	failed   = rayv1.JobDeploymentStatusFailed
)

// Each fault of a job leads to the right end, runs the program as often as it should, and leaves nothing over. There is one case for each
// way in which a job ends; the tests of jobplan and of the controller have the others.
func TestJobFaults(t *testing.T) {
	type ending struct {
		state  rayv1.JobDeploymentStatus
		ray    rayv1.JobStatus
		reason rayv1.JobFailedReason
		runs   int
		log    string // part of what the driver has written; empty for a cluster that is gone
	}
	cases := map[string]struct {
		mode    rayv1.JobSubmissionMode
		program string // after the line of the run; %s is a folder of the test
		spec    []string
		happens func(t *testing.T, dir string, j *rayv1.RayJob) // when the program runs
		want    ending
	}{
		"failing program": {rayv1.K8sJobMode, `echo no good; exit 3`, nil, nil, ending{failed, rayv1.JobStatusFailed, rayv1.AppFailed, 1, "no good"}},
		"retry that helps": {rayv1.K8sJobMode, `test -e %s/again || { touch %[1]s/again; exit 1; }; echo better`, []string{"backoffLimit: 1"}, nil,
			ending{complete, rayv1.JobStatusSucceeded, "", 2, "better"}},
		"stop by hand": {rayv1.K8sJobMode, `echo begun; exec sleep 300`, nil, func(t *testing.T, _ string, j *rayv1.RayJob) {
			if _, err := askRay(t, j, "POST", "/api/jobs/"+j.Status.JobId+"/stop", nil); err != nil {
				t.Fatal(err)
			}
		}, ending{complete, rayv1.JobStatusStopped, "", 1, "begun"}},
		"suspension": {rayv1.K8sJobMode, `test -e %s/go || exec sleep 300; echo done`, []string{"shutdownAfterJobFinishes: true", "ttlSecondsAfterFinished: 60"}, func(t *testing.T, dir string, j *rayv1.RayJob) {
			rest(t, "POST", jobsOf(j.Namespace)+"/demo:suspend", "", nil).want(t, 200)
			awaitJob(t, j.Namespace, "demo", "is suspended", func(st *rayv1.RayJobStatus) bool {
				return st.JobDeploymentStatus == rayv1.JobDeploymentStatusSuspended
			})
			kept := getJob(t, j.Namespace, "demo")
			eventually(t, "the garbage collector", func(context.Context) error {
				if list := childrenOf(t, kept); len(list) > 0 {
					return fmt.Errorf("left while suspended: %v", list)
				}
				return nil
			})
			touch(t, filepath.Join(dir, "go"))
			rest(t, "POST", jobsOf(j.Namespace)+"/demo:resume", "", nil).want(t, 200)
		}, ending{complete, rayv1.JobStatusSucceeded, "", 2, "done"}},
		"dashboard dies with its head": {rayv1.K8sJobMode, `exec sleep 300`, []string{"submitterConfig: {backoffLimit: 0}"}, func(t *testing.T, _ string, j *rayv1.RayJob) {
			kubectl(t, nil, "delete", "pod", headOf(t, j).Name, "-n", j.Namespace, "--wait=false")
		}, ending{failed, rayv1.JobStatusFailed, rayv1.AppFailed, 1, ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, dir := namespace(t), t.TempDir()
			file := filepath.Join(dir, "runs")
			program := tc.program
			if strings.Contains(program, "%s") {
				program = fmt.Sprintf(program, dir)
			}
			kubectl(t, rayJob("demo", ns, tc.mode, runs(file, program), tc.spec...), "create", "-f", "-")
			if tc.happens != nil {
				j := awaitJob(t, ns, "demo", "runs", runsInRay)
				eventually(t, "the first run", func(context.Context) error {
					if n := linesOf(t, file); n != 1 {
						return fmt.Errorf("%d runs", n)
					}
					return nil
				})
				tc.happens(t, dir, j)
			}
			j := awaitEnd(t, ns, "demo", tc.want.state, tc.want.ray, tc.want.reason)
			if got := linesOf(t, file); got != tc.want.runs {
				t.Errorf("the program was run %d times, want %d", got, tc.want.runs)
			}
			if name == "failing program" { // following its log is not what failed
				if got := kubectl(t, nil, "get", "job", "demo", "-n", ns, "-o", "jsonpath={.status.succeeded} {.status.failed}"); strings.TrimSpace(got) != "1" {
					t.Errorf("Pods of the submitter that succeeded and failed: %q", got)
				}
			}
			if tc.want.log != "" {
				if got := driverLog(t, j); !strings.Contains(got, tc.want.log) {
					t.Errorf("the log is %q and lacks %q", got, tc.want.log)
				}
			}
			kubectl(t, nil, "delete", "rayjob", "demo", "-n", ns, "--wait=false")
			nothingLeft(t, ns)
		})
	}
}

// childrenOf are the clusters and Jobs of a RayJob.
func childrenOf(t *testing.T, j *rayv1.RayJob) []string {
	t.Helper()
	return strings.Fields(kubectl(t, nil, "get", "rayclusters,jobs,pods", "-n", j.Namespace, "-o", "name"))
}

// A schedule makes a RayJob that runs, as in `make run`, where the controller is on.
func TestCronJobRuns(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	job := string(rayJob("x", ns, rayv1.HTTPMode, "echo tick"))
	_, spec, _ := strings.Cut(job, "\nspec:\n")
	manifest := fmt.Sprintf("apiVersion: ray.io/v1\nkind: RayCronJob\nmetadata: {name: minutely, namespace: %s}\nspec:\n  schedule: '* * * * *'\n  jobTemplate:\n  %s", ns, strings.ReplaceAll(spec, "\n", "\n  "))
	rest(t, "POST", "/apis/v2/namespaces/"+ns+"/cronjobs", "application/yaml", []byte(manifest)).want(t, 201)
	var made rayv1.RayJobList
	eventually(t, "the first run", func(ctx context.Context) error {
		if err := product.client.List(ctx, &made, client.InNamespace(ns), client.MatchingLabels{rayv1.LabelCronJobName: "minutely"}); err != nil {
			return err
		}
		if len(made.Items) == 0 {
			return fmt.Errorf("none yet")
		}
		return nil
	})
	if out := kubectl(t, nil, "get", "raycronjob", "minutely", "-n", ns); !strings.Contains(out, ":00Z") { // the next run
		t.Errorf("kubectl shows no next run:\n%s", out)
	}
	cron := &rayv1.RayCronJob{}
	if err := product.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "minutely"}, cron); err != nil {
		t.Fatal(err)
	}
	j := awaitEnd(t, ns, made.Items[0].Name, complete, rayv1.JobStatusSucceeded, "")
	if got := driverLog(t, j); got != "tick\n" || owner(j.OwnerReferences) != string(cron.UID) {
		t.Errorf("log %q of a RayJob of %s", got, owner(j.OwnerReferences))
	}
	tick, err := time.Parse(time.RFC3339, j.Annotations[rayv1.AnnotationCronJobScheduledTimestamp])
	if err != nil || j.Name != fmt.Sprintf("minutely-%d", tick.Unix()/60) {
		t.Errorf("RayJob %s for %s, %v", j.Name, tick, err)
	}
	rest(t, "DELETE", "/apis/v2/namespaces/"+ns+"/cronjobs/minutely", "", nil).want(t, 200)
	nothingLeft(t, ns)
}
