package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// unfinished describes an object that has not reached its final state; empty if there is none.
func (w *world) unfinished() string {
	for _, o := range w.store.All(kindRayJob) {
		if why := w.jobUnfinished(o.(*rayv1.RayJob)); why != "" {
			return "RayJob " + o.GetName() + " " + why
		}
	}
	for _, o := range w.store.All(kindRayService) {
		if why := w.serviceUnfinished(o.(*rayv1.RayService)); why != "" {
			return "RayService " + o.GetName() + " " + why
		}
	}
	for _, o := range w.store.All(kindCluster) {
		if why := w.clusterUnfinished(o.(*rayv1.RayCluster)); why != "" {
			return "RayCluster " + o.GetName() + " " + why
		}
	}
	return ""
}

func (w *world) jobUnfinished(j *rayv1.RayJob) string {
	st := &j.Status
	state := st.JobDeploymentStatus
	rc := w.clusterObject(st.RayClusterName)
	switch {
	case j.DeletionTimestamp != nil:
		return "is being deleted"
	case state.IsTerminal() && j.Spec.DeletionStrategy != nil && st.EndTime != nil && time.Since(st.EndTime.Time) < time.Minute:
		return "has ended, and what its strategy deletes may be due later"
	case state.IsTerminal():
		own := len(j.Spec.ClusterSelector) == 0
		due := st.EndTime != nil && time.Since(st.EndTime.Time) > time.Duration(j.Spec.TTLSecondsAfterFinished)*time.Second
		if own && j.Spec.ShutdownAfterJobFinishes && j.Spec.DeletionStrategy == nil && rc.Name != "" {
			return fmt.Sprintf("is %s, and its cluster is not deleted (due %t)", state, due)
		}
		return ""
	case j.Spec.ActiveDeadlineSeconds != nil && st.StartTime != nil && !j.Spec.Suspend && st.RayClusterName != "":
		return "has a deadline, which ends it"
	case state == rayv1.JobDeploymentStatusValidationFailed && strings.Contains(st.Message, "backoffLimit: Invalid value: -1") && (j.Spec.BackoffLimit == nil || *j.Spec.BackoffLimit >= 0):
		return "is valid and was not looked at"
	case state == rayv1.JobDeploymentStatusValidationFailed && (w.runs(st.RayClusterName, st.JobId) || !st.JobStatus.IsTerminal() && w.submits(j.Name, 10*time.Minute)): // one that hangs never ends
		return "is invalid, and its job continues"
	case state == rayv1.JobDeploymentStatusValidationFailed && st.JobStatus.IsTerminal() && j.Spec.ShutdownAfterJobFinishes && rc.Name != "" &&
		!w.submits(j.Name, settleTime): // a submitter that hangs is deleted once the spec is valid
		return "is invalid, its job has ended, and its cluster is not deleted"
	case state == rayv1.JobDeploymentStatusValidationFailed:
		if st.Reason == "" || st.Message == "" {
			return "is invalid without a reason"
		}
		return ""
	case j.Spec.Suspend:
		if state != rayv1.JobDeploymentStatusSuspended {
			return fmt.Sprintf("is %s and not Suspended", state)
		}
		return ""
	case len(j.Spec.ClusterSelector) > 0 && w.clusterObject(j.Spec.ClusterSelector[rayv1.LabelCluster]).Name == "" && st.Message != "":
		return "" // its message reports the missing cluster
	case j.Spec.SubmissionMode == rayv1.InteractiveMode && state == rayv1.JobDeploymentStatusRunning && st.JobStatus == "" && st.Message != "" && !w.runs(st.RayClusterName, st.JobId):
		return "" // it waits for the job that the user has named
	case j.Spec.SubmissionMode == rayv1.InteractiveMode && j.Spec.PreRunningDeadlineSeconds == nil:
		if state != rayv1.JobDeploymentStatusWaiting {
			return fmt.Sprintf("is %s and not Waiting", state)
		}
		return ""
	default:
		return fmt.Sprintf("is %s, Ray says %q: %s", state, st.JobStatus, st.Message)
	}
}

// runs reports whether Ray on a cluster has the job and the job has not ended.
func (w *world) runs(cluster, id string) bool {
	head := w.rays.of(cluster)
	return head != nil && !head.final(id)
}

// submits reports whether the Kubernetes Job of a RayJob has not ended, and was made no longer ago than that.
func (w *world) submits(name string, ago time.Duration) bool {
	job, ok := w.store.Find(kindJob, types.NamespacedName{Namespace: namespace, Name: name}).(*batchv1.Job)
	return ok && !finished(job) && time.Since(job.CreationTimestamp.Time) < ago
}

func (w *world) serviceUnfinished(rs *rayv1.RayService) string {
	st := &rs.Status
	is := func(kind string) bool { return meta.IsStatusConditionTrue(st.Conditions, kind) }
	active, pending := st.ActiveServiceStatus.RayClusterName, st.PendingServiceStatus.RayClusterName
	switch {
	case rs.DeletionTimestamp != nil:
		return "is being deleted"
	case invalidService(rs):
		return ""
	case st.ObservedGeneration != rs.Generation:
		return fmt.Sprintf("has generation %d, and %d is observed: %s", rs.Generation, st.ObservedGeneration, messages(rs))
	case rs.Spec.Suspend:
		if n := len(w.clustersOf(rs.Name)); !is(rayv1.RayServiceSuspended) || n > 0 {
			return fmt.Sprintf("is not suspended, with %d clusters", n)
		}
		return ""
	case rs.Annotations[rayv1.AnnotationInitializingTimeout] != "" && isInitializing(rs):
		return "is to give up after a while"
	case broken(&rs.Spec.RayClusterSpec), timedOut(rs):
		if c := meta.FindStatusCondition(st.Conditions, rayv1.RayServiceReady); c == nil || c.Message == "" {
			return "cannot become ready and does not say why"
		}
		if n := w.clustersOf(rs.Name); slices.ContainsFunc(n, func(name string) bool { return name != active && name != pending }) {
			return fmt.Sprintf("has the clusters %v", n) // the former ones are deleted after a delay
		}
		return ""
	case !is(rayv1.RayServiceReady):
		return "is not ready: " + messages(rs)
	case pending != "":
		return fmt.Sprintf("has %s and %s: %s", active, pending, messages(rs))
	}
	if n := w.clustersOf(rs.Name); len(n) != 1 {
		return fmt.Sprintf("has the clusters %v", n)
	}
	rc := w.clusterObject(active)
	if got, want := imageOf(&rc.Spec), imageOf(&rs.Spec.RayClusterSpec); got != want && !never(rs) {
		return fmt.Sprintf("runs %s and should run %s", got, want)
	}
	if got, want := envOf(&rc.Spec), envOf(&rs.Spec.RayClusterSpec); got != want && !never(rs) {
		return fmt.Sprintf("runs with variables %q and should run with %q", got, want)
	}
	h := w.rays.of(active)
	if h == nil || !h.serves() {
		return "is ready, and nothing runs"
	}
	if configs := h.Configs(); len(configs) > 0 && !strings.Contains(configs[len(configs)-1], importPath(rs.Spec.ServeConfigV2)) {
		return "runs another configuration than that of its spec"
	}
	svc, ok := w.store.Find(kindService, types.NamespacedName{Namespace: namespace, Name: rs.Name + "-serve-svc"}).(*corev1.Service)
	if !ok || svc.Spec.Selector[rayv1.LabelCluster] != active {
		return "is ready, and its serve Service leads elsewhere"
	}
	return ""
}

func messages(rs *rayv1.RayService) string {
	var list []string
	for _, c := range rs.Status.Conditions {
		list = append(list, c.Type+"="+string(c.Status)+" "+c.Message)
	}
	return strings.Join(list, "; ")
}

func (w *world) clusterUnfinished(rc *rayv1.RayCluster) string {
	suspended := rc.Spec.Suspend != nil && *rc.Spec.Suspend
	var pods, ready, want int
	for _, o := range w.store.All(kindPod) {
		if p := o.(*corev1.Pod); rc.Owns(p) {
			pods++
			if isReady(p) {
				ready++
			}
		}
	}
	if !suspended {
		want = 1
		for _, g := range rc.Spec.WorkerGroupSpecs {
			if g.Suspend == nil || !*g.Suspend {
				want += int(replicasOf(&g))
			}
		}
	}
	switch {
	case rc.DeletionTimestamp != nil:
		return "is being deleted"
	case rc.Status.State == rayv1.ClusterStateFailed:
		return ""
	case pods > want && rc.Spec.EnableInTreeAutoscaling != nil && *rc.Spec.EnableInTreeAutoscaling:
		return "" // the autoscaler chooses the Pods to remove
	case pods != want && controlledBy(rc, "RayJob") == "": // the Pods of a cluster that ends with its job are of no more interest
		return fmt.Sprintf("has %d Pods of %d", pods, want)
	case suspended && rc.Status.State != rayv1.ClusterStateSuspended:
		return fmt.Sprintf("is %q and not suspended", rc.Status.State)
	case controlledBy(rc, "") == "" && !suspended && ready == want && rc.Status.State != rayv1.ClusterStateReady:
		return fmt.Sprintf("is %q with all Pods ready", rc.Status.State)
	}
	return ""
}

// timedOut reports whether a service has given up after the timeout in its annotation.
func timedOut(rs *rayv1.RayService) bool {
	c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceReady)
	return c != nil && c.Reason == rayv1.ReasonRayServiceInitializingTimeout
}

func isInitializing(rs *rayv1.RayService) bool {
	c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceReady)
	return c == nil || c.Reason == rayv1.ReasonRayServiceInitializing
}

// never reports whether a service keeps its cluster regardless of edits.
func never(rs *rayv1.RayService) bool {
	u := rs.Spec.UpgradeStrategy
	return u != nil && u.Type != nil && *u.Type == rayv1.RayServiceUpgradeNone
}

func (w *world) clustersOf(service string) []string {
	var list []string
	for _, o := range w.store.All(kindCluster) {
		if controlledBy(o, "RayService") == service {
			list = append(list, o.GetName())
		}
	}
	return list
}

func imageOf(s *rayv1.RayClusterSpec) string {
	if len(s.HeadGroupSpec.Template.Spec.Containers) == 0 {
		return ""
	}
	return s.HeadGroupSpec.Template.Spec.Containers[0].Image
}

func envOf(s *rayv1.RayClusterSpec) string {
	var list []string
	if len(s.HeadGroupSpec.Template.Spec.Containers) > 0 {
		for _, e := range s.HeadGroupSpec.Template.Spec.Containers[0].Env {
			list = append(list, e.Name+"="+e.Value)
		}
	}
	return strings.Join(list, " ")
}

func broken(s *rayv1.RayClusterSpec) bool { return imageOf(s) == imageBroken }

func invalidService(rs *rayv1.RayService) bool {
	return len(rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers) == 0
}

// importPath returns the import path, which identifies the configuration of a scenario.
func importPath(config string) string {
	_, rest, _ := strings.Cut(config, "import_path: '")
	path, _, _ := strings.Cut(rest, "'")
	return path
}

func replicasOf(g *rayv1.WorkerGroupSpec) int32 {
	if g.Replicas == nil {
		return 0
	}
	return *g.Replicas * max(1, g.NumOfHosts)
}
