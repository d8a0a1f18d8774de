package jobplan

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func sameCluster(in *Input) {
	metav1.SetMetaDataAnnotation(&in.Job.ObjectMeta, rayv1.AnnotationRetryOn, string(rayv1.RetryOnSameCluster))
}

// TestRetryOnSameCluster keeps the cluster only if Ray has lately reported the end of the attempt.
func TestRetryOnSameCluster(t *testing.T) {
	none := submitter(Submitter{})
	keeps := []func(*Input){state(retrying), jobStatus(rayv1.JobStatusFailed), says(rayv1.JobStatusFailed, 9), retries(1), sameCluster}
	deletes := []Action{DeleteCluster}
	for name, tc := range map[string]struct {
		in          []func(*Input)
		rule        string
		actions     []Action
		wantCluster bool
	}{
		"the submitter is left":         {nil, "ChildrenLeft", []Action{Poll, DeleteSubmitter}, true},
		"all is ready":                  {[]func(*Input){none}, "Retry", nil, true},
		"in HTTPMode":                   {[]func(*Input){mode(rayv1.HTTPMode)}, "Retry", nil, true},
		"too soon":                      {[]func(*Input){none, now(1), says(rayv1.JobStatusFailed, 1)}, "Pause", []Action{Poll}, true},
		"the answer is old":             {[]func(*Input){none, now(30)}, "ClusterUndecided", []Action{Poll, Refresh}, true},
		"the operator was restarted":    {[]func(*Input){none, ray(Ray{})}, "ClusterUndecided", []Action{Poll, Refresh}, true},
		"the dashboard does not answer": {[]func(*Input){none, unreachable(5, 9)}, "ChildrenLeft", deletes, true},
		"the job runs after all":        {[]func(*Input){none, says(rayv1.JobStatusRunning, 9)}, "ChildrenLeft", deletes, true},
		"the head has lost the job":     {[]func(*Input){none, unknown(9)}, "ChildrenLeft", deletes, true},
		"the cluster is not ready":      {[]func(*Input){none, cluster(Cluster{Found: true})}, "ChildrenLeft", deletes, true},
		"the cluster is gone":           {[]func(*Input){none, cluster(Cluster{})}, "Retry", []Action{Release}, false},
		"the head is for one attempt":   {[]func(*Input){none, mode(rayv1.SidecarMode)}, "ChildrenLeft", deletes, true},
		"the ID is that of the user":    {[]func(*Input){none, spec(func(s *rayv1.RayJobSpec) { s.JobId = "mine" })}, "ChildrenLeft", deletes, true},
		"not wanted":                    {[]func(*Input){none, func(in *Input) { in.Job.Annotations[rayv1.AnnotationRetryOn] = "NewCluster" }}, "ChildrenLeft", deletes, true},
		"it is being suspended":         {[]func(*Input){none, state(suspending)}, "ChildrenLeft", deletes, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := Next(input(append(slices.Clone(keeps), tc.in...)...))
			if p.Rule != tc.rule || !slices.Equal(p.Actions, tc.actions) || (p.Status.RayClusterName != "") != tc.wantCluster {
				t.Errorf("got %s %v with cluster %q", p.Rule, p.Actions, p.Status.RayClusterName)
			}
		})
	}
	in := input(append(slices.Clone(keeps), none)...)
	in.Job.Status = Next(in).Status
	in.Ray, in.Invalid = Ray{}, "broken"
	in.Job.Status = Next(in).Status
	in.Invalid = "" // an edit that is repaired before the attempt begins
	in.Job.Status = Next(in).Status
	if st := Next(in).Status; st.RayClusterName != "demo-bbbbb" || st.JobId != "demo-ccccc" || st.JobDeploymentStatus != initializing {
		t.Errorf("the next attempt is job %s on cluster %s, %s", st.JobId, st.RayClusterName, st.JobDeploymentStatus)
	}
}
