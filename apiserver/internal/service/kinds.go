package service

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Kinds are the served kinds.
var Kinds = []resource.Kind{Clusters, Jobs, Services, CronJobs}

// The kinds, each with the service that serves it.
var (
	// Clusters are served by ClusterService.
	Clusters = resource.Kind{
		Kind:   store.Kind{GroupVersionKind: rayv1.GroupVersion.WithKind("RayCluster"), Resource: "rayclusters", State: "status.state", MaxNameLength: 53},
		Checks: checksOf("RayCluster"), Message: &raygatev2.RayCluster{}, Cluster: []string{"spec"}, Service: &raygatev2.ClusterService_ServiceDesc, Diagnosis: resource.DiagnoseCluster,
		Basic: groupBasic("", "suspend", "managedBy"), Groups: "spec.workerGroupSpecs",
		States: map[string]func(*store.Item) resource.Progress{
			"ready": func(item *store.Item) resource.Progress {
				state := item.At("status.state").Str
				return resource.Progress{Done: state == string(rayv1.ClusterStateReady) && resource.Observed(item), Now: clusterState(item)}
			},
			"suspended": byCondition(rayv1.RayClusterSuspended),
		},
	}
	// Jobs are served by JobService.
	Jobs = resource.Kind{
		Kind:   store.Kind{GroupVersionKind: rayv1.GroupVersion.WithKind("RayJob"), Resource: "rayjobs", State: "status.jobDeploymentStatus", MaxNameLength: 47},
		Checks: checksOf("RayJob"), Message: &raygatev2.RayJob{}, Cluster: []string{"spec", "rayClusterSpec"}, Service: &raygatev2.JobService_ServiceDesc, Diagnosis: resource.DiagnoseJob,
		Basic: groupBasic("rayClusterSpec.", "entrypoint", "clusterSelector", "submissionMode", "suspend", "managedBy", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished"),
		States: map[string]func(*store.Item) resource.Progress{
			"ready":     jobIs(rayv1.JobDeploymentStatusRunning),
			"complete":  jobIs(rayv1.JobDeploymentStatusComplete),
			"suspended": jobIs(rayv1.JobDeploymentStatusSuspended),
		},
		Finished: func(tree map[string]any) string {
			state, _, _ := unstructured.NestedString(tree, "status", "jobDeploymentStatus")
			if !rayv1.JobDeploymentStatus(state).IsTerminal() {
				return ""
			}
			return "the job has ended (" + state + ") and cannot be suspended: create a new one to run it again"
		},
	}
	// Services are served by ServeService.
	Services = resource.Kind{
		Kind:   store.Kind{GroupVersionKind: rayv1.GroupVersion.WithKind("RayService"), Resource: "rayservices", State: "status.serviceStatus", MaxNameLength: 47},
		Checks: checksOf("RayService"), Message: &raygatev2.RayService{}, Cluster: []string{"spec", "rayClusterConfig"}, Service: &raygatev2.ServeService_ServiceDesc, Diagnosis: resource.DiagnoseService,
		Basic: groupBasic("rayClusterConfig.", "suspend", "managedBy", "upgradeStrategy"), Groups: "spec.rayClusterConfig.workerGroupSpecs",
		States: map[string]func(*store.Item) resource.Progress{
			"ready":     serviceReady,
			"suspended": serviceSuspended,
		},
	}
	// CronJobs are served by CronJobService.
	CronJobs = resource.Kind{
		Kind:   store.Kind{GroupVersionKind: rayv1.GroupVersion.WithKind("RayCronJob"), Resource: "raycronjobs", MaxNameLength: 36},
		Checks: checksOf("RayCronJob"), Message: &raygatev2.RayCronJob{}, Cluster: []string{"spec", "jobTemplate", "rayClusterSpec"}, Service: &raygatev2.CronJobService_ServiceDesc, Diagnosis: resource.DiagnoseCronJob,
		Basic: []string{"schedule", "timeZone", "suspend", "jobTemplate.entrypoint"},
		States: map[string]func(*store.Item) resource.Progress{
			"suspended": func(item *store.Item) resource.Progress {
				return resource.Progress{Done: item.At("spec.suspend").Bool(), Now: "spec.suspend is not true"}
			},
		},
	}
)

// clusterState describes the progress of a cluster towards ready.
func clusterState(item *store.Item) string {
	if !resource.Observed(item) {
		return "the operator has not yet seen the present spec"
	}
	text := fmt.Sprintf("state %q, %d of %d workers ready", item.At("status.state").Str, item.At("status.readyWorkerReplicas").Int(), item.At("status.desiredWorkerReplicas").Int())
	if status, reason, message := resource.ConditionOf(item, rayv1.HeadPodReady); status != "True" {
		text += fmt.Sprintf("; the head Pod is not ready: %s %s", reason, message)
	}
	return text
}

// jobIs is the state of a job whose status is want. A job that has ended never reaches another state.
func jobIs(want rayv1.JobDeploymentStatus) func(*store.Item) resource.Progress {
	return func(item *store.Item) resource.Progress {
		state := rayv1.JobDeploymentStatus(item.At("status.jobDeploymentStatus").Str)
		p := resource.Progress{Done: state == want && resource.Observed(item), Now: fmt.Sprintf("the status of the job is %q %s", state, item.At("status.message").Str)}
		if !p.Done && state.IsTerminal() && resource.Observed(item) {
			p.Never = fmt.Sprintf("the job has ended as %s %s %s", state, item.At("status.reason").Str, item.At("status.message").Str)
		}
		return p
	}
}

// byCondition is the state in which a condition is true for the current generation of the spec.
func byCondition(name string) func(*store.Item) resource.Progress {
	return func(item *store.Item) resource.Progress {
		status, reason, message := resource.ConditionOf(item, name)
		if !resource.Observed(item) {
			return resource.Progress{Now: "the operator has not yet seen the present spec"}
		}
		return resource.Progress{Done: status == "True", Now: fmt.Sprintf("condition %s is %q (%s) %s", name, status, reason, message)}
	}
}

// serviceReady reports whether a service serves requests and its status is about the current spec. Only a user can repair one that was
// given up.
func serviceReady(item *store.Item) resource.Progress {
	p := byCondition(rayv1.RayServiceReady)(item)
	if p.Done {
		return p
	}
	if _, reason, message := resource.ConditionOf(item, rayv1.RayServiceReady); reason == rayv1.ReasonRayServiceInitializingTimeout {
		p.Never = message
	}
	for _, name := range []string{rayv1.RayServiceStalled, rayv1.RayServiceUpgradeInProgress} {
		if status, reason, message := resource.ConditionOf(item, name); status == "True" {
			p.Now += fmt.Sprintf("; %s (%s) %s", name, reason, message)
		}
	}
	return p
}

// serviceSuspended reports that nothing runs and nothing will. The operator ignores changes of the spec of a suspended service, so the
// generation of the condition does not count.
func serviceSuspended(item *store.Item) resource.Progress {
	p := resource.Progress{Now: "spec.suspend is not true"}
	if !item.At("spec.suspend").Bool() {
		return p
	}
	p.Now = "the operator has not begun with it"
	for _, c := range item.At("status.conditions").Array() {
		switch kind, status := c.Get("type").Str, c.Get("status").Str; {
		case kind == rayv1.RayServiceSuspended && status == "True":
			return resource.Progress{Done: true}
		case kind == rayv1.RayServiceSuspending && status == "True":
			p.Now = c.Get("message").Str
		}
	}
	return p
}

// groupBasic are the fields of worker groups that lists show, below the path of a cluster's spec.
func groupBasic(cluster string, rest ...string) []string {
	var all []string
	for _, name := range []string{"groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts", "suspend"} {
		all = append(all, cluster+"workerGroupSpecs."+name)
	}
	for _, name := range []string{"rayVersion", "enableInTreeAutoscaling"} {
		all = append(all, cluster+name)
	}
	return append(all, rest...)
}

func checksOf(kind string) validation.Checks {
	checks, ok := validation.ForKind(kind)
	if !ok {
		panic("no rules for " + kind)
	}
	return checks
}
