package kind

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
)

// none is shown for a value that an object does not have.
const none = "<none>"

var clusters = define(raygate.ClusterKind, convert.RayCluster, "ready", view[*rayv1.RayCluster]{
	columns: []column[*rayv1.RayCluster]{
		{"Status", false, func(rc *rayv1.RayCluster) any { return clusterState(rc) }},
		{"Ready Workers", false, func(rc *rayv1.RayCluster) any { return workers(&rc.Status) }},
		{"Age", false, age[*rayv1.RayCluster]},
		{"Reason", false, func(rc *rayv1.RayCluster) any { return clusterReason(rc) }},
		{"Ray Version", true, func(rc *rayv1.RayCluster) any { return orNone(rc.Spec.RayVersion) }},
		{"CPUs", true, func(rc *rayv1.RayCluster) any { return rc.Status.DesiredCPU.String() }},
		{"Memory", true, func(rc *rayv1.RayCluster) any { return rc.Status.DesiredMemory.String() }},
		{"GPUs", true, func(rc *rayv1.RayCluster) any { return rc.Status.DesiredGPU.String() }},
		{"TPUs", true, func(rc *rayv1.RayCluster) any { return rc.Status.DesiredTPU.String() }},
		{"Head Pod", true, func(rc *rayv1.RayCluster) any { return orNone(rc.Status.Head.PodName) }},
		{"Head Service", true, func(rc *rayv1.RayCluster) any { return orNone(rc.Status.Head.ServiceName) }},
		{"Queue", true, func(rc *rayv1.RayCluster) any { return queue(rc, rc.Spec.Suspend) }},
	},
	summary: func(rc *rayv1.RayCluster) string {
		return join(clusterState(rc)+", "+workers(&rc.Status)+" workers ready", clusterReason(rc))
	},
})

var jobs = define(raygate.JobKind, convert.RayJob, "complete", view[*rayv1.RayJob]{
	columns: []column[*rayv1.RayJob]{
		{"Status", false, func(rj *rayv1.RayJob) any { return jobState(rj) }},
		{"Job Status", false, func(rj *rayv1.RayJob) any { return orNone(string(rj.Status.JobStatus)) }},
		{"Cluster", false, func(rj *rayv1.RayJob) any { return orNone(rj.Status.RayClusterName) }},
		{"Ready Workers", false, func(rj *rayv1.RayJob) any { return workers(&rj.Status.RayClusterStatus) }},
		{"Duration", false, func(rj *rayv1.RayJob) any { return jobDuration(rj) }},
		{"Age", false, age[*rayv1.RayJob]},
		{"Reason", false, func(rj *rayv1.RayJob) any { return string(rj.Status.Reason) }},
		{"Job ID", true, func(rj *rayv1.RayJob) any { return orNone(rj.Status.JobId) }},
		{"Attempt", true, func(rj *rayv1.RayJob) any { return int64(rj.Status.Attempt()) }},
		{"Failed", true, func(rj *rayv1.RayJob) any { return number(rj.Status.Failed) }},
		{"Entrypoint", true, func(rj *rayv1.RayJob) any { return short(rj.Spec.Entrypoint) }},
		{"Queue", true, func(rj *rayv1.RayJob) any { return queue(rj, &rj.Spec.Suspend) }},
	},
	summary: func(rj *rayv1.RayJob) string {
		said := jobState(rj)
		if rj.Status.JobStatus != "" {
			said += ", Ray says " + string(rj.Status.JobStatus)
		}
		return join(said, string(rj.Status.Reason))
	},
})

var services = define(raygate.ServiceKind, convert.RayService, "ready", view[*rayv1.RayService]{
	columns: []column[*rayv1.RayService]{
		{"Status", false, func(rs *rayv1.RayService) any { return serviceState(rs) }},
		{"Endpoints", false, func(rs *rayv1.RayService) any { return int64(rs.Status.NumServeEndpoints) }},
		{"Ready Workers", false, func(rs *rayv1.RayService) any { return workers(&activeCluster(rs).RayClusterStatus) }},
		{"Upgrade", false, func(rs *rayv1.RayService) any { return orNone(upgrade(rs)) }},
		{"Age", false, age[*rayv1.RayService]},
		{"Reason", false, func(rs *rayv1.RayService) any { return serviceReason(rs) }},
		{"Active Cluster", true, func(rs *rayv1.RayService) any { return orNone(rs.Status.ActiveServiceStatus.RayClusterName) }},
		{"Pending Cluster", true, func(rs *rayv1.RayService) any { return orNone(rs.Status.PendingServiceStatus.RayClusterName) }},
		{"Applications", true, func(rs *rayv1.RayService) any { return applications(activeCluster(rs).Applications) }},
		{"Pending Applications", true, func(rs *rayv1.RayService) any { return applications(rs.Status.PendingServiceStatus.Applications) }},
		{"Queue", true, func(rs *rayv1.RayService) any { return queue(rs, nil) }},
	},
	summary: func(rs *rayv1.RayService) string {
		said := fmt.Sprintf("%s, %d endpoints", serviceState(rs), rs.Status.NumServeEndpoints)
		if shares := upgrade(rs); shares != "" {
			said += ", new cluster: " + shares
		}
		return join(said, serviceReason(rs))
	},
})

var cronJobs = define(raygate.CronJobKind, convert.RayCronJob, "", view[*rayv1.RayCronJob]{
	columns: []column[*rayv1.RayCronJob]{
		{"Schedule", false, func(cj *rayv1.RayCronJob) any { return orNone(cj.Spec.Schedule) }},
		{"Time Zone", false, func(cj *rayv1.RayCronJob) any { return orNone(value(cj.Spec.TimeZone)) }},
		{"Suspend", false, func(cj *rayv1.RayCronJob) any { return fmt.Sprint(value(cj.Spec.Suspend)) }},
		{"Last Schedule", false, func(cj *rayv1.RayCronJob) any { return since(cj.Status.LastScheduleTime) }},
		{"Next Schedule", false, func(cj *rayv1.RayCronJob) any { return moment(cj.Status.NextScheduleTime) }},
		{"Age", false, age[*rayv1.RayCronJob]},
		{"Entrypoint", true, func(cj *rayv1.RayCronJob) any { return short(cj.Spec.JobTemplate.Entrypoint) }},
	},
	summary: func(cj *rayv1.RayCronJob) string {
		if value(cj.Spec.Suspend) {
			return "suspended"
		}
		if cj.Status.LastScheduleTime == nil {
			return "not scheduled yet"
		}
		return "last scheduled at " + cj.Status.LastScheduleTime.Format(time.RFC3339)
	},
})

const deleting = "deleting"

func clusterState(rc *rayv1.RayCluster) string {
	switch {
	case rc.DeletionTimestamp != nil:
		return deleting
	case meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterSuspending):
		return "suspending"
	}
	return cmp.Or(string(rc.Status.State), "provisioning")
}

// clusterProblems are the conditions that report problems, the most important first.
var clusterProblems = []string{
	rayv1.RayClusterInvalidSpec, rayv1.RayClusterStalled, rayv1.ConditionReconciling, rayv1.RayClusterReplicaFailure, rayv1.RayClusterChildFailure, rayv1.RayClusterBatchSchedulerProblem,
}

func clusterReason(rc *rayv1.RayCluster) string {
	for _, name := range clusterProblems {
		c := meta.FindStatusCondition(rc.Status.Conditions, name)
		if c != nil && c.Status == metav1.ConditionTrue && (name != rayv1.ConditionReconciling || rayv1.Awaited(c.Reason)) {
			return c.Reason
		}
	}
	if rc.Status.State == "" {
		for _, name := range []string{rayv1.HeadPodReady, rayv1.RayClusterProvisioned} {
			if c := meta.FindStatusCondition(rc.Status.Conditions, name); c != nil && c.Status != metav1.ConditionTrue {
				return c.Reason
			}
		}
	}
	return ""
}

func jobState(rj *rayv1.RayJob) string {
	if rj.DeletionTimestamp != nil {
		return deleting
	}
	return cmp.Or(string(rj.Status.JobDeploymentStatus), "New")
}

// jobDuration is how long a job ran, or since when it runs.
func jobDuration(rj *rayv1.RayJob) any {
	switch start, end := rj.Status.StartTime, rj.Status.EndTime; {
	case start == nil:
		return none
	case end == nil:
		return start.Time
	default:
		return duration.HumanDuration(end.Sub(start.Time))
	}
}

func serviceState(rs *rayv1.RayService) string {
	is := func(name string) bool { return meta.IsStatusConditionTrue(rs.Status.Conditions, name) }
	switch {
	case rs.DeletionTimestamp != nil:
		return deleting
	case is(rayv1.RayServiceSuspended):
		return "suspended"
	case is(rayv1.RayServiceSuspending):
		return "suspending"
	case is(rayv1.RayServiceRollbackInProgress):
		return "rolling back"
	case is(rayv1.RayServiceUpgradeInProgress):
		return "upgrading"
	case is(rayv1.RayServiceReady):
		return "ready"
	}
	return "not ready"
}

func serviceReason(rs *rayv1.RayService) string {
	if c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceStalled); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	if c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceUpgradePaused); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	if c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.ConditionReconciling); c != nil && rayv1.Awaited(c.Reason) {
		return c.Reason
	}
	if c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceReady); c != nil && c.Status != metav1.ConditionTrue {
		return c.Reason
	}
	return ""
}

// activeCluster is the cluster that users reach, or the first one while that is prepared.
func activeCluster(rs *rayv1.RayService) *rayv1.RayServiceStatus {
	if rs.Status.ActiveServiceStatus.RayClusterName == "" {
		return &rs.Status.PendingServiceStatus
	}
	return &rs.Status.ActiveServiceStatus
}

// upgrade is how far the new cluster of an upgrade is; empty without one.
func upgrade(rs *rayv1.RayService) string {
	p := &rs.Status.PendingServiceStatus
	switch {
	case p.RayClusterName == "" || rs.Status.ActiveServiceStatus.RayClusterName == "":
		return ""
	case p.TrafficRoutedPercent == nil && p.TargetCapacity == nil:
		return "preparing"
	}
	return fmt.Sprintf("traffic %d%%, capacity %d%%", value(p.TrafficRoutedPercent), value(p.TargetCapacity))
}

func applications(all map[string]rayv1.AppStatus) string {
	var said []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		said = append(said, name+"="+all[name].Status)
	}
	return orNone(strings.Join(said, ","))
}

// queue is the queue of Kueue, and whether the object waits in it. suspend is the field by which Kueue makes it wait; nil is false.
func queue(o convert.Object, suspend *bool) string {
	name := o.GetLabels()[rayv1.LabelKueueQueue]
	if name != "" && value(suspend) {
		return name + " (waits)"
	}
	return orNone(name)
}

func workers(s *rayv1.RayClusterStatus) string {
	return fmt.Sprintf("%d/%d", s.ReadyWorkerReplicas, s.DesiredWorkerReplicas)
}

func age[T convert.Object](object T) any {
	created := object.GetCreationTimestamp()
	return since(&created)
}

func since(t *metav1.Time) any {
	if t.IsZero() {
		return none
	}
	return t.Time
}

// moment is a time to come, which the table has no short form for.
func moment(t *metav1.Time) any {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format(time.RFC3339)
}

func orNone(s string) string { return cmp.Or(s, none) }

func value[T any](pointer *T) T {
	if pointer == nil {
		return *new(T)
	}
	return *pointer
}

func number(n *int32) any { return int64(value(n)) }

// short is the first line of a text, of 40 bytes at most.
func short(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if len(line) > 40 {
		line, more = strings.ToValidUTF8(line[:40], ""), true
	}
	if more {
		line += "..."
	}
	return orNone(line)
}

func join(state, reason string) string {
	if reason == "" {
		return state
	}
	return state + " (" + reason + ")"
}
