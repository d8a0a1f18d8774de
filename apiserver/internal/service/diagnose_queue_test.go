package service_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

const (
	workloads    = "/apis/kueue.x-k8s.io/%s/namespaces/default/workloads"
	pendingLocal = "/apis/visibility.kueue.x-k8s.io/v1beta1/namespaces/default/localqueues/gpus/pendingworkloads"
)

// workloadWith lists an older Workload and one with these conditions, each as type=status=reason=message.
func workloadWith(conditions ...string) map[string]any {
	var all []any
	for _, c := range conditions {
		part := strings.SplitN(c, "=", 4)
		all = append(all, map[string]any{"type": part[0], "status": part[1], "reason": part[2], "message": part[3]})
	}
	status := map[string]any{"conditions": all, "admission": map[string]any{"clusterQueue": "all"},
		"admissionChecks": []any{map[string]any{"name": "nodes", "state": "Pending", "message": "asks for nodes"}}}
	older := map[string]any{"metadata": map[string]any{"name": "older", "creationTimestamp": "2026-01-01T00:00:00Z"}}
	return map[string]any{"items": []any{older, map[string]any{"metadata": map[string]any{"name": "w", "creationTimestamp": "2026-01-02T00:00:00Z"}, "status": status}}}
}

func TestDiagnoseQueue(t *testing.T) {
	waiting := "QuotaReserved=False=Pending=2 more GPUs needed"
	for name, tc := range map[string]struct {
		kueue map[string]any
		want  []string
		texts []string
	}{
		"no Kueue":          {want: []string{"INFO Queued"}, texts: []string{"queue gpus"}},
		"forbidden":         {kueue: map[string]any{"v1beta2": "forbidden"}, want: []string{"INFO Queued"}, texts: []string{"queue gpus"}},
		"not made yet":      {kueue: map[string]any{"v1beta2": map[string]any{"items": []any{}}}, want: []string{"INFO Queued"}},
		"new":               {kueue: map[string]any{"v1beta2": workloadWith()}, want: []string{"INFO Queued"}, texts: []string{"not tried"}},
		"waiting":           {kueue: map[string]any{"v1beta2": workloadWith(waiting)}, want: []string{"INFO Queued"}, texts: []string{"waits in queue gpus: 2 more GPUs"}},
		"an older version":  {kueue: map[string]any{"v1beta1": workloadWith(waiting)}, want: []string{"INFO Queued"}, texts: []string{"2 more GPUs"}},
		"admission check":   {kueue: map[string]any{"v1beta2": workloadWith("QuotaReserved=True=QuotaReserved=yes")}, want: []string{"INFO Queued"}, texts: []string{"AdmissionCheck nodes: Pending asks for nodes"}},
		"admitted":          {kueue: map[string]any{"v1beta2": workloadWith("QuotaReserved=True=a=b", "Admitted=True=Admitted=yes")}, want: []string{"INFO Admitted"}, texts: []string{"ClusterQueue all"}},
		"finished":          {kueue: map[string]any{"v1beta2": workloadWith("QuotaReserved=True=a=b", "Admitted=True=a=b", "Finished=True=Succeeded=done")}},
		"no such queue":     {kueue: map[string]any{"v1beta2": workloadWith("QuotaReserved=False=Inadmissible=LocalQueue gpus is missing")}, want: []string{"ERROR QueueUnusable"}, texts: []string{"is missing"}},
		"preempted":         {kueue: map[string]any{"v1beta2": workloadWith(waiting, "Evicted=True=Preempted=for another")}, want: []string{"WARNING Evicted", "INFO Queued"}, texts: []string{"(Preempted): for another"}},
		"evicted long ago":  {kueue: map[string]any{"v1beta2": workloadWith(waiting, "Evicted=False=Preempted=for another")}, want: []string{"INFO Queued"}},
		"position in queue": {kueue: map[string]any{"v1beta2": workloadWith(waiting), pendingLocal: positions()}, want: []string{"INFO Queued"}, texts: []string{"at position 2, which is position 5 of its ClusterQueue: 2 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.kueue = map[string]any{pendingLocal: tc.kueue[pendingLocal]}
			for _, version := range []string{"v1beta1", "v1beta2"} {
				w.kueue[fmt.Sprintf(workloads, version)] = tc.kueue[version]
			}
			w.job(rayv1.JobDeploymentStatusSuspended, "", func(j *rayv1.RayJob) {
				j.Spec.Suspend, j.Spec.ShutdownAfterJobFinishes, j.Status.RayClusterName, j.Labels = true, true, "", map[string]string{"kueue.x-k8s.io/queue-name": "gpus"}
			})
			resp, err := w.jobs.DiagnoseJob(t.Context(), &raygatev2.DiagnoseJobRequest{Namespace: "default", Name: "train"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, reasons(resp.GetFindings())); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%v", diff, resp.GetFindings())
			}
			for _, text := range tc.texts {
				if !strings.Contains(fmt.Sprint(resp.GetFindings()), text) {
					t.Errorf("nothing is said of %q: %v", text, resp.GetFindings())
				}
			}
		})
	}
}

// positions are the Workloads that wait in the queue.
func positions() map[string]any {
	return map[string]any{"items": []any{
		map[string]any{"metadata": map[string]any{"name": "first"}},
		map[string]any{"metadata": map[string]any{"name": "w"}, "positionInLocalQueue": 1, "positionInClusterQueue": 4},
	}}
}
