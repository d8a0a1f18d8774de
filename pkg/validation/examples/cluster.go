package examples

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

func metadata() []row[cluster] {
	name := at("metadata.name")
	rename := func(name string) func(*cluster) { return func(rc *cluster) { rc.Name = name } }
	return []row[cluster]{
		{ID: "RC-030", Name: "54 characters", Mutate: rename(strings.Repeat("a", 54)), WantFields: name},
		{ID: "RC-030", Name: "generated name too long", Mutate: func(rc *cluster) { rc.Name, rc.GenerateName = "", strings.Repeat("a", 49) }, WantFields: at("metadata.generateName")},
		{ID: "RC-031", Name: "dot", Mutate: rename("in.valid"), WantFields: name},
		{ID: "RC-031", Name: "digit first", Mutate: rename("1abc"), WantFields: name},
		{ID: "RC-031", Name: "no name", Mutate: rename(""), WantFields: name},
		{ID: "RC-563", Name: "long name with autoscaling", Mutate: both(autoscaling, rename(strings.Repeat("a", 51))), WantFields: name, Warning: true},
		{ID: "RC-563", Name: "long name with ingress", Mutate: both(rename(strings.Repeat("a", 38)), func(rc *cluster) { rc.Spec.HeadGroupSpec.EnableIngress = new(true) }), WantFields: name, Warning: true},
		{ID: "RC-568", Name: "duration for seconds", Mutate: annotation(rayv1.AnnotationGCSFTDeletionTimeout, "5m"), WantFields: at("metadata.annotations[ray.io/gcs-ft-deletion-timeout]"), Warning: true},
		{ID: "RC-569", Name: "yes", Mutate: annotation(rayv1.AnnotationFTEnabled, "yes"), WantFields: at("metadata.annotations[ray.io/ft-enabled]"), Warning: true},
		{ID: "RC-570", Name: "1", Mutate: annotation(rayv1.AnnotationEnableServeService, "1"), WantFields: at("metadata.annotations[ray.io/enable-serve-service]"), Warning: true},
		{ID: "RC-570", Name: "off", Mutate: annotation(rayv1.AnnotationProbes, "off"), Fix: annotation(rayv1.AnnotationProbes, "False"), WantFields: at("metadata.annotations[raygate.io/probes]"), Warning: true},
		{ID: "RC-570", Name: "a capital", Mutate: annotation(rayv1.AnnotationDisableProvisionedHeadRestart, "True"), Fix: func(rc *cluster) {
			rc.Annotations = map[string]string{rayv1.AnnotationOverwriteContainerCmd: "True"}
		}, WantFields: at("metadata.annotations[ray.io/disable-provisioned-head-restart]"), Warning: true},
		{ID: "RC-592", Name: "days", Mutate: annotation(rayv1.AnnotationIdleTimeout, "1d"), Fix: annotation(rayv1.AnnotationIdleTimeout, "24h"), WantFields: at("metadata.annotations[raygate.io/idle-timeout]"), Warning: true},
		{ID: "RC-592", Name: "no age", Mutate: annotation(rayv1.AnnotationMaxAge, "0s"), WantFields: at("metadata.annotations[raygate.io/max-age]"), Warning: true},
		{ID: "RC-592", Name: "unknown action", Mutate: annotation(rayv1.AnnotationExpiryAction, "suspend"), WantFields: at("metadata.annotations[raygate.io/expiry-action]"), Warning: true},
		{ID: "RC-592", Name: "a day", Mutate: annotation(rayv1.AnnotationKeepUntil, "2026-11-26"), Fix: annotation(rayv1.AnnotationKeepUntil, "2026-11-26T18:00:00+01:00"), WantFields: at("metadata.annotations[raygate.io/keep-until]"), Warning: true},
		{ID: "RC-592", Name: "no grace", Mutate: annotation(rayv1.AnnotationSuspendGrace, "-5m"), WantFields: at("metadata.annotations[raygate.io/suspend-grace]"), Warning: true},
		{ID: "RC-593", Name: "six fields", Mutate: annotation(rayv1.AnnotationSuspendSchedule, "0 0 18 * * *"), Fix: annotation(rayv1.AnnotationSuspendSchedule, "0 18 * * 1-5"), WantFields: at("metadata.annotations[raygate.io/suspend-schedule]"), Warning: true},
		{ID: "RC-593", Name: "zone in the schedule", Mutate: annotation(rayv1.AnnotationResumeSchedule, "TZ=UTC 0 8 * * *"), WantFields: at("metadata.annotations[raygate.io/resume-schedule]"), Warning: true},
		{ID: "RC-593", Name: "half a zone", Mutate: annotation(rayv1.AnnotationScheduleTimeZone, "Vienna"), Fix: annotation(rayv1.AnnotationScheduleTimeZone, "Europe/Vienna"), WantFields: at("metadata.annotations[raygate.io/schedule-time-zone]"), Warning: true},
		{ID: "RC-594", Name: "another strategy", Mutate: annotation(rayv1.AnnotationUpgradeStrategy, "Rolling"), Fix: annotation(rayv1.AnnotationUpgradeStrategy, "RollingUpdate"), WantFields: at("metadata.annotations[raygate.io/upgrade-strategy]"), Warning: true},
		{ID: "RC-594", Name: "half", Mutate: annotation(rayv1.AnnotationMaxUnavailable, "0.5"), Fix: annotation(rayv1.AnnotationMaxUnavailable, "50%"), WantFields: at("metadata.annotations[raygate.io/max-unavailable]"), Warning: true},
		{ID: "RC-594", Name: "too much", Mutate: annotation(rayv1.AnnotationMaxSurge, "101%"), Fix: annotation(rayv1.AnnotationMaxSurge, "100%"), WantFields: at("metadata.annotations[raygate.io/max-surge]"), Warning: true},
		{ID: "RC-594", Name: "yes", Mutate: annotation(rayv1.AnnotationUpgradePaused, "yes"), WantFields: at("metadata.annotations[raygate.io/upgrade-paused]"), Warning: true},
		{ID: "RC-594", Name: "no time", Mutate: annotation(rayv1.AnnotationUpgradeDeadline, "0s"), WantFields: at("metadata.annotations[raygate.io/upgrade-deadline]"), Warning: true},
		{ID: "RC-595", Name: "with Recreate", Mutate: both(recreate, annotation(rayv1.AnnotationUpgradeStrategy, "RollingUpdate")), WantFields: at("metadata.annotations[raygate.io/upgrade-strategy]"), Warning: true},
		{ID: "RC-596", Name: "none", Mutate: annotation(rayv1.AnnotationDisruptionBudget, "0"), Fix: annotation(rayv1.AnnotationDisruptionBudget, "100%"), WantFields: at("metadata.annotations[raygate.io/disruption-budget]"), Warning: true},
		{ID: "RC-577", Name: "false means on", Mutate: label(rayv1.LabelGangSchedulingEnabled, "false"), WantFields: at("metadata.labels[ray.io/gang-scheduling-enabled]"), Warning: true},
		{ID: "RC-578", Name: "no scheduler", Mutate: label(rayv1.LabelPriorityClassName, "high"), WantFields: at("metadata.labels[ray.io/priority-class-name]"), Warning: true, Options: validation.Options{BatchScheduler: new("")}},
		{ID: "RC-578", Name: "another scheduler", Mutate: label(rayv1.LabelVolcanoQueueName, "q"), WantFields: at("metadata.labels[volcano.sh/queue-name]"), Warning: true, Options: validation.Options{BatchScheduler: new("yunikorn")}},
		{ID: "RC-579", Name: "tier in words", Before: label(rayv1.LabelVolcanoNetworkTopologyMode, "hard"), Mutate: label(rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "two"), WantFields: at("metadata.labels[volcano.sh/network-topology-highest-tier-allowed]"), Options: volcano},
		{ID: "RC-579", Name: "tier in words, perhaps without Volcano", Before: label(rayv1.LabelVolcanoNetworkTopologyMode, "hard"), Mutate: label(rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "two"), WantFields: at("metadata.labels[volcano.sh/network-topology-highest-tier-allowed]"), Warning: true},
		{ID: "RC-579", Name: "unknown mode", Mutate: label(rayv1.LabelVolcanoNetworkTopologyMode, "loose"), WantFields: at("metadata.labels[volcano.sh/network-topology-mode]"), Options: volcano},
		{ID: "RC-579", Name: "unknown mode, perhaps without Volcano", Mutate: label(rayv1.LabelVolcanoNetworkTopologyMode, "loose"), WantFields: at("metadata.labels[volcano.sh/network-topology-mode]"), Warning: true},
		{ID: "X-504", Name: "label of the operator", Mutate: label(rayv1.LabelOriginatedFromCRName, "job"), WantFields: at("metadata.labels[ray.io/originated-from-cr-name]"), Warning: true},
		{ID: "X-502", Name: "autoscaling", Mutate: both(label("kueue.x-k8s.io/queue-name", "q"), autoscaling), Fix: annotation("kueue.x-k8s.io/elastic-job", "true"), WantFields: at("spec.enableInTreeAutoscaling"), Warning: true},
		{ID: "RC-581", Name: "no spec", Mutate: func(rc *cluster) { rc.Spec = rayv1.RayClusterSpec{} }, WantFields: at("spec")},
		{ID: "RC-585", Name: "a long text", Mutate: headEnv("DATA", strings.Repeat("a", 1<<20)), WantFields: at("spec"), Warning: true},
		{ID: "RC-120", Name: "suspending and suspended", Mutate: func(rc *cluster) {
			rc.Status.Conditions = []metav1.Condition{
				{Type: string(rayv1.RayClusterSuspending), Status: metav1.ConditionTrue, Reason: "UserRequest", LastTransitionTime: metav1.Unix(0, 0)},
				{Type: string(rayv1.RayClusterSuspended), Status: metav1.ConditionTrue, Reason: "UserRequest", LastTransitionTime: metav1.Unix(0, 0)},
			}
		}, WantFields: at("status.conditions[1].status")},
		{ID: "RC-022", Name: "unknown controller", Mutate: func(rc *cluster) { rc.Spec.ManagedBy = new("me") }, WantFields: at("spec.managedBy")},
		{ID: "RC-015", Name: "unknown strategy", Mutate: func(rc *cluster) {
			rc.Spec.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterUpgradeType("Rolling"))}
		}, WantFields: at("spec.upgradeStrategy.type")},
		{ID: "RC-117", Name: "cluster of a RayJob", Mutate: both(recreate, label(rayv1.LabelOriginatedFromCRD, "RayJob")), WantFields: at("spec.upgradeStrategy.type")},
	}
}

func groups() []row[cluster] {
	named := func(name string) func(*cluster) { return func(rc *cluster) { group(rc).GroupName = name } }
	second := func(name string) func(*cluster) {
		return func(rc *cluster) {
			g := group(rc).DeepCopy()
			g.GroupName = name
			rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *g)
		}
	}
	set := func(f func(*rayv1.WorkerGroupSpec)) func(*cluster) { return func(rc *cluster) { f(group(rc)) } }
	groupName := at(group0 + ".groupName")
	return []row[cluster]{
		{ID: "RC-039", Name: "no bound", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.MinReplicas = nil }), WantFields: at(group0 + ".minReplicas"), GoOnly: true},
		{ID: "RC-040", Name: "negative", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.MinReplicas = new(int32(-1)) }), WantFields: at(group0 + ".minReplicas")},
		{ID: "RC-041", Name: "negative", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.MaxReplicas = new(int32(-1)) }), WantFields: at(group0 + ".maxReplicas"), Also: []string{"RC-042"}},
		{ID: "RC-042", Name: "5 above 3", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.MinReplicas, g.MaxReplicas = new(int32(5)), new(int32(3)) }), WantFields: at(group0 + ".minReplicas")},
		{ID: "RC-047", Name: "negative", Mutate: both(autoscalerVersion("v2"), set(func(g *rayv1.WorkerGroupSpec) { g.IdleTimeoutSeconds = new(int32(-1)) })), WantFields: at(group0 + ".idleTimeoutSeconds")},
		{ID: "RC-048", Name: "without v2", Mutate: both(autoscaling, set(func(g *rayv1.WorkerGroupSpec) { g.IdleTimeoutSeconds = new(int32(60)) })), WantFields: at(group0 + ".idleTimeoutSeconds")},
		{ID: "RC-052", Name: "without v2", Mutate: both(autoscaling, set(func(g *rayv1.WorkerGroupSpec) { g.Priority = new(int32(1)) })), WantFields: at(group0 + ".priority")},
		{ID: "RC-070", Name: "gate off", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.Suspend = new(true) }), WantFields: at(group0 + ".suspend"), Options: gate(validation.GateDeletionPolicy, false)},
		{ID: "RC-072", Name: "with autoscaling", Mutate: both(autoscaling, set(func(g *rayv1.WorkerGroupSpec) { g.Suspend = new(true) })), WantFields: at(group0 + ".suspend")},
		{ID: "RC-501", Name: "twice", Mutate: second("cpu"), WantFields: at("spec.workerGroupSpecs[1].groupName")},
		{ID: "RC-501", Name: "three times", Mutate: both(second("cpu"), second("cpu")), WantFields: at("spec.workerGroupSpecs[1].groupName", "spec.workerGroupSpecs[2].groupName")},
		{ID: "RC-502", Name: "empty", Mutate: named(""), WantFields: groupName, Warning: true},
		{ID: "RC-502", Name: "blank inside", Mutate: named("small group"), WantFields: groupName},
		{ID: "RC-503", Name: "underscore", Mutate: named("a_b"), WantFields: groupName},
		{ID: "RC-503", Name: "two dots", Mutate: named("a..b"), Fix: named("a.b"), WantFields: groupName},
		{ID: "RC-503", Name: "dash after a dot", Mutate: named("a.-b"), Fix: named("a--b"), WantFields: groupName},
		{ID: "RC-503", Name: "dot after a dash", Mutate: named("a-.b"), Fix: named("a-b.c"), WantFields: groupName},
		{ID: "RC-504", Name: "capital", Mutate: named("smallGroup"), WantFields: groupName, Warning: true},
		{ID: "RC-505", Name: "differs by case", Mutate: second("CPU"), WantFields: at("spec.workerGroupSpecs[1].groupName"), Warning: true, Also: []string{"RC-504"}},
		{ID: "RC-506", Name: "headgroup", Mutate: named("headgroup"), WantFields: groupName, Warning: true},
		{ID: "RC-506", Name: "submittergroup", Mutate: named("submittergroup"), WantFields: groupName, Warning: true},
		{ID: "RC-507", Name: "above maxReplicas", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.Replicas = new(int32(6)) }), WantFields: at(group0 + ".replicas"), Warning: true},
		{ID: "RC-508", Name: "negative", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.Replicas = new(int32(-1)) }), WantFields: at(group0 + ".replicas"), Warning: true},
		{ID: "RC-509", Name: "negative", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.NumOfHosts = -1 }), WantFields: at(group0 + ".numOfHosts"), Warning: true},
		{ID: "RC-510", Name: "product", Mutate: set(func(g *rayv1.WorkerGroupSpec) {
			g.Replicas, g.MaxReplicas, g.NumOfHosts = new(int32(2000000000)), new(int32(2147483647)), 2
		}), WantFields: at(group0 + ".replicas"), Warning: true},
		{ID: "RC-510", Name: "sum", Mutate: both(set(func(g *rayv1.WorkerGroupSpec) {
			g.Replicas, g.MaxReplicas = new(int32(2000000000)), new(int32(2147483647))
		}), second("other")), WantFields: at("spec.workerGroupSpecs"), Warning: true},
		{ID: "RC-511", Name: "without autoscaling", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.ScaleStrategy.WorkersToDelete = []string{"a"} }), WantFields: at(group0 + ".scaleStrategy.workersToDelete"), Warning: true},
		{ID: "RC-511", Name: "repeated", Mutate: both(autoscaling, set(func(g *rayv1.WorkerGroupSpec) { g.ScaleStrategy.WorkersToDelete = []string{"a", "a"} })), WantFields: at(group0 + ".scaleStrategy.workersToDelete[1]"), Warning: true},
		{ID: "RC-522", Name: "max 0", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.MaxReplicas = new(int32(0)) }), WantFields: at(group0 + ".maxReplicas"), Warning: true},
		{ID: "RC-564", Name: "58 characters", Mutate: both(named(strings.Repeat("a", 58)), set(func(g *rayv1.WorkerGroupSpec) { g.NumOfHosts = 2 })), WantFields: groupName},
		{ID: "RC-576", Name: "set by a user", Mutate: set(func(g *rayv1.WorkerGroupSpec) { g.Suspend = new(true) }), WantFields: at(group0 + ".suspend"), Warning: true},
		{ID: "RC-582", Name: "without autoscaling", Also: []string{"RC-535"}, Mutate: both(autoscalerVersion("v2"), func(rc *cluster) { rc.Spec.EnableInTreeAutoscaling = nil }, set(func(g *rayv1.WorkerGroupSpec) { g.IdleTimeoutSeconds = new(int32(60)) })), WantFields: at(group0 + ".idleTimeoutSeconds"), Warning: true},
		{ID: "RC-583", Name: "without autoscaling", Also: []string{"RC-535"}, Mutate: both(autoscalerVersion("v2"), func(rc *cluster) { rc.Spec.EnableInTreeAutoscaling = nil }, set(func(g *rayv1.WorkerGroupSpec) { g.Priority = new(int32(1)) })), WantFields: at(group0 + ".priority"), Warning: true},
		{ID: "RC-584", Name: "101 groups", Mutate: func(rc *cluster) {
			for i := range 100 {
				second("g" + strings.Repeat("x", i%50) + string(rune('a'+i/50)))(rc)
			}
		}, WantFields: at("spec.workerGroupSpecs"), Warning: true},
	}
}

func nodes() []row[cluster] {
	return []row[cluster]{
		{ID: "RC-033", Name: "no container", Mutate: func(rc *cluster) { headPod(rc).Containers = nil }, WantFields: at("spec.headGroupSpec.template.spec.containers")},
		{ID: "RC-038", Name: "no container", Mutate: func(rc *cluster) { workerPod(rc).Containers = nil }, WantFields: at(group0 + ".template.spec.containers")},
		{ID: "RC-034", Name: "both", Mutate: both(headParam("num-cpus", "1"), func(rc *cluster) { rc.Spec.HeadGroupSpec.Resources = map[string]string{"CPU": "1"} }), WantFields: at("spec.headGroupSpec.resources")},
		{ID: "RC-043", Name: "both", Mutate: both(workerParam("memory", "1"), func(rc *cluster) { group(rc).Resources = map[string]string{"CPU": "1"} }), WantFields: at(group0 + ".resources")},
		{ID: "RC-035", Name: "empty", Mutate: headParam("labels", ""), WantFields: at(headParams + "[labels]")},
		{ID: "RC-044", Name: "set", Mutate: workerParam("labels", "a=b"), WantFields: at(group0 + ".rayStartParams[labels]")},
		{ID: "RC-036", Name: "exclamation mark", Mutate: func(rc *cluster) { rc.Spec.HeadGroupSpec.Labels = map[string]string{"key!": "v"} }, WantFields: at("spec.headGroupSpec.labels[key!]")},
		{ID: "RC-037", Name: "slash", Mutate: func(rc *cluster) { rc.Spec.HeadGroupSpec.Labels = map[string]string{"k": "a/b"} }, WantFields: at("spec.headGroupSpec.labels[k]")},
		{ID: "RC-045", Name: "exclamation mark", Mutate: func(rc *cluster) { group(rc).Labels = map[string]string{"key!": "v"} }, WantFields: at(group0 + ".labels[key!]")},
		{ID: "RC-046", Name: "slash", Mutate: func(rc *cluster) { group(rc).Labels = map[string]string{"k": "a/b"} }, WantFields: at(group0 + ".labels[k]")},
		{ID: "RC-514", Name: "words", Mutate: func(rc *cluster) { group(rc).Resources = map[string]string{"CPU": "many"} }, WantFields: at(group0 + ".resources[CPU]"), Warning: true},
		{ID: "RC-534", Name: "memory only, by resources", Mutate: both(autoscaling, func(rc *cluster) {
			delete(worker(rc).Resources.Limits, corev1.ResourceCPU)
			group(rc).Resources = map[string]string{"memory": "1Gi"}
		}), Fix: func(rc *cluster) { group(rc).Resources["special"] = "1" }, WantFields: at(workerContainer + ".resources"), Warning: true},
		{ID: "RC-534", Name: "memory only", Mutate: both(autoscaling, func(rc *cluster) { delete(worker(rc).Resources.Limits, corev1.ResourceCPU) }), WantFields: at(workerContainer + ".resources"), Warning: true},
	}
}

func startParams() []row[cluster] {
	port := func(name string, number int32) func(*cluster) {
		return func(rc *cluster) {
			head(rc).Ports = append(head(rc).Ports, corev1.ContainerPort{Name: name, ContainerPort: number})
		}
	}
	param := func(key string) []string { return at(headParams + "[" + key + "]") }
	return []row[cluster]{
		{ID: "RC-515", Name: "millicores", Mutate: headParam("num-cpus", "500m"), WantFields: param("num-cpus"), Warning: true},
		{ID: "RC-515", Name: "negative, on a worker", Mutate: workerParam("num-gpus", "-1"), WantFields: at(group0 + ".rayStartParams[num-gpus]"), Warning: true},
		{ID: "RC-515", Name: "in a command of the operator", Mutate: headParam("num-cpus", "0.5"), Fix: func(rc *cluster) { head(rc).Args = []string{"ray start --head --num-cpus=1"} }, WantFields: param("num-cpus"), Warning: true},
		{ID: "RC-516", Name: "unit", Mutate: headParam("memory", "4Gi"), WantFields: param("memory"), Warning: true},
		{ID: "RC-516", Name: "unit of the object store of a worker", Mutate: workerParam("object-store-memory", "1e9"), Fix: workerParam("object-store-memory", "1000000000"), WantFields: at(group0 + ".rayStartParams[object-store-memory]"), Warning: true},
		{ID: "RC-516", Name: "in a command of the operator", Mutate: headParam("memory", "4Gi"), Fix: func(rc *cluster) { head(rc).Args = []string{"ray start --head"} }, WantFields: param("memory"), Warning: true},
		{ID: "RC-515", Name: "millicores of the system", Mutate: headParam("system-reserved-cpu", "500m"), Fix: headParam("system-reserved-cpu", "0.5"), WantFields: param("system-reserved-cpu"), Warning: true},
		{ID: "RC-588", Name: "above the limit", Mutate: headParam("object-store-memory", "99999999999"), WantFields: param("object-store-memory"), Warning: true},
		{ID: "RC-517", Name: "text for a number", Mutate: headParam("resources", `'{"a":"x"}'`), WantFields: param("resources"), Warning: true},
		{ID: "RC-518", Name: "name for a port", Mutate: headParam("port", "http"), WantFields: param("port"), Warning: true},
		{ID: "RC-518", Name: "min above max", Mutate: both(headParam("min-worker-port", "20"), headParam("max-worker-port", "10")), WantFields: param("min-worker-port"), Warning: true},
		{ID: "RC-519", Name: "two numbers", Mutate: both(port("dashboard", 8265), port("gcs-server", 6380), port("serve", 8000), headParam("port", "6379")), WantFields: at(headContainer + ".ports[1].containerPort"), Warning: true},
		{ID: "RC-520", Name: "misspelt", Mutate: headParam("num-cpu", "1"), WantFields: param("num-cpu"), Warning: true},
		{ID: "RC-520", Name: "of the head, on a worker", Mutate: workerParam("dashboard-port", "8265"), WantFields: at(group0 + ".rayStartParams[dashboard-port]"), Warning: true},
		{ID: "RC-521", Name: "block", Mutate: headParam("block", "true"), WantFields: param("block"), Warning: true},
		{ID: "RC-528", Name: "dashes", Mutate: headParam("--num-cpus", "1"), WantFields: param("--num-cpus"), Warning: true},
		{ID: "RC-528", Name: "unquoted", Mutate: headParam("temp-dir", "/tmp/a; b"), WantFields: param("temp-dir"), Warning: true},
		{ID: "RC-531", Name: "false is dropped", Mutate: headParam("disable-usage-stats", "false"), WantFields: param("disable-usage-stats"), Warning: true},
		{ID: "RC-559", Name: "no dashboard", Mutate: port("serve", 8000), WantFields: at(headContainer + ".ports"), Warning: true},
		{ID: "RC-512", Name: "nightly", Mutate: func(rc *cluster) { rc.Spec.RayVersion = "nightly" }, WantFields: at("spec.rayVersion"), Warning: true},
		{ID: "RC-513", Name: "older workers, no version given", Mutate: func(rc *cluster) { rc.Spec.RayVersion, worker(rc).Image = "", "rayproject/ray:2.9.0" },
			Fix: func(rc *cluster) { worker(rc).Image = "example.com/app:2.9.0" }, WantFields: at(workerContainer + ".image"), Warning: true},
		{ID: "RC-513", Name: "older head", Mutate: func(rc *cluster) { head(rc).Image = "rayproject/ray:2.9.0-py310" }, WantFields: at(headContainer + ".image"), Warning: true},
	}
}
