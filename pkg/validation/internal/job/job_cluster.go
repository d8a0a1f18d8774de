package job

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rj046 = rule.New(rule.Rule{ID: "RJ-046", Field: "rayClusterSpec", Condition: "absent without clusterSelector", Peer: rule.BySpec,
	Remedy: "describe the cluster to make, or name one that exists in clusterSelector",
	CEL:    []rule.CEL{{Field: ".rayClusterSpec", Reason: rule.Required, Valid: "has(self.rayClusterSpec) || " + cel.JobSelects}}})
var rj047 = rule.New(rule.Rule{ID: "RJ-047", Field: "clusterSelector", Condition: "key ray.io/cluster absent or empty", Peer: rule.BySpec,
	Remedy: "give the name of the RayCluster under the key ray.io/cluster",
	CEL:    []rule.CEL{{Node: "clusterSelector", Reason: rule.Required, Valid: "size(self) == 0 || ('ray.io/cluster' in self && self['ray.io/cluster'] != '')"}}})
var rj054 = rule.New(rule.Rule{ID: "RJ-054", Field: "rayClusterSpec.authOptions.enableK8sTokenAuth", Condition: "true", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: "rayClusterSpec.authOptions", Field: ".enableK8sTokenAuth", Valid: "!has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth",
		Says: cel.TokenAlone}}})
var rj062 = rule.New(rule.Rule{ID: "RJ-062", Field: "clusterSelector", Condition: "names a RayCluster that does not exist", Peer: rule.ByStep, Depends: "other objects", Layers: rule.ControllerOnly,
	Remedy: "make a RayCluster of this name, or name another"})
var rj064 = rule.New(rule.Rule{ID: "RJ-064", Field: "clusterSelector", Condition: "without rayClusterSpec with the batch scheduler volcano", Peer: rule.ByStep, Depends: "batch scheduler",
	Remedy: "the batch scheduler volcano, which the operator runs with, needs rayClusterSpec"})
var rj530 = rule.New(rule.Rule{ID: "RJ-530", Field: "rayClusterSpec.upgradeStrategy.type", Condition: "set, without clusterSelector", Peer: rule.ByStep,
	CEL: []rule.CEL{{Field: ".rayClusterSpec.upgradeStrategy.type", Reason: rule.Forbidden, When: cel.Present("self", "rayClusterSpec.upgradeStrategy.type"), Valid: cel.JobSelects,
		Says: "the cluster belongs to a RayJob" + cel.OwnerDecides}}})
var rj535 = rule.New(rule.Rule{ID: "RJ-535", Field: "rayClusterSpec.headGroupSpec.template.spec.containers[0].ports", Condition: "ports given, none named dashboard there or in headService"})

// checkJobCluster checks where the job runs: on its own cluster or on an existing one.
func checkJobCluster(out *rule.Report, j *Spec, path *field.Path) {
	clusterPath, selectorPath := path.Child("rayClusterSpec"), path.Child("clusterSelector")
	if j.selects {
		checkSelector(out, j, selectorPath)
	}
	switch {
	case j.Cluster == nil && !j.selects:
		out.Required(rj046, clusterPath)
	case j.Cluster == nil && j.options.Scheduler() == "volcano":
		out.Forbidden(rj064, selectorPath)
	case j.Cluster != nil && j.selects:
		out.Forbidden(rj505, clusterPath)
	}
	if j.Cluster == nil {
		return
	}
	cluster.CheckOwnedCluster(out, j.Cluster, j.spec.ManagedBy, cluster.OwnedRules{K8sToken: rj054, Upgrade: rj530, Dashboard: rj535, Manager: rj528, Suspend: rj529}, clusterPath)
	if j.spec.SubmissionMode == rayv1.SidecarMode {
		checkSidecarHead(out, &j.Cluster.Spec.HeadGroupSpec.Template, clusterPath.Child("headGroupSpec", "template", "spec"))
	}
	cluster.CheckSpec(out, j.Cluster, clusterPath)
}

func checkSelector(out *rule.Report, j *Spec, path *field.Path) {
	if name := j.spec.ClusterSelector[rayv1.LabelCluster]; name == "" {
		out.Required(rj047, path)
	} else if j.options.KnownFacts().SelectedClusterMissing {
		out.NotFound(rj062, path, name)
	}
	for _, key := range slices.Sorted(maps.Keys(j.spec.ClusterSelector)) {
		out.When(key != rayv1.LabelCluster).Invalid(rj506, path.Key(key), j.spec.ClusterSelector[key])
	}
}

var rj053 = rule.New(rule.Rule{ID: "RJ-053", Field: "rayClusterSpec.headGroupSpec.template.spec.restartPolicy", Condition: "neither unset nor Never in SidecarMode", Peer: rule.BySpec, Reads: []string{"submissionMode"},
	Remedy: "must be Never or unset in SidecarMode, where the job ends with the head Pod",
	CEL:    []rule.CEL{{Field: ".rayClusterSpec.headGroupSpec.template.spec.restartPolicy", When: cel.JobInSidecar, Valid: cel.NoRayCluster + " || !has(" + cel.HeadOfJob + ".spec.restartPolicy) || " + cel.HeadOfJob + ".spec.restartPolicy in ['', 'Never']"}}})
var rj533 = rule.New(rule.Rule{ID: "RJ-533", Field: "rayClusterSpec.headGroupSpec.template.spec.containers[j].name", Condition: "ray-job-submitter in SidecarMode", Tier: rule.Kubernetes, Reads: []string{"submissionMode"},
	Remedy: "the operator adds a container of this name in SidecarMode; use another name",
	CEL:    []rule.CEL{{Field: ".rayClusterSpec.headGroupSpec.template.spec.containers", When: cel.JobInSidecar, Valid: cel.NoRayCluster + " || !has(" + cel.HeadOfJob + ".spec.containers) || " + cel.HeadOfJob + ".spec.containers.all(c, c.name != 'ray-job-submitter')"}}})

// checkSidecarHead guards the head Pod that the submitter runs in.
func checkSidecarHead(out *rule.Report, t *corev1.PodTemplateSpec, path *field.Path) {
	policy := t.Spec.RestartPolicy
	out.When(policy != "" && policy != corev1.RestartPolicyNever).Invalid(rj053, path.Child("restartPolicy"), string(policy))
	for i := range t.Spec.Containers {
		name := t.Spec.Containers[i].Name
		out.When(name == rayv1.ContainerJobSubmitter).Invalid(rj533, path.Child("containers").Index(i).Child("name"), name)
	}
}

var rj505 = rule.New(rule.Rule{ID: "RJ-505", Field: "rayClusterSpec", Condition: "set together with clusterSelector", Remedy: "is ignored, since clusterSelector names a cluster; keep one of the two",
	Policies: []rule.Policy{{Parts: []rule.Part{rule.RayJob}, Field: "spec.rayClusterSpec", Valid: "!has(spec.rayClusterSpec) || size(spec.?clusterSelector.orValue({})) == 0"}}})
var rj506 = rule.New(rule.Rule{ID: "RJ-506", Field: "clusterSelector", Condition: "keys other than ray.io/cluster", Remedy: "is ignored; only ray.io/cluster is looked at"})
var rj528 = rule.New(rule.Rule{ID: "RJ-528", Field: "rayClusterSpec.managedBy", Condition: "another value than managedBy of the job",
	Remedy: "leaves the cluster of the job to another controller than the job; remove it"})
var rj529 = rule.New(rule.Rule{ID: "RJ-529", Field: "rayClusterSpec.suspend", Condition: "true", Remedy: "makes the job wait for ever; use suspend of the job"})

// checkKueue reports settings with which Kueue does not admit the job. Kueue leaves a job on an existing cluster alone.
func checkKueue(out *rule.Report, j *Spec, path *field.Path) {
	if j.selects {
		return
	}
	cluster.CheckKueueShutdown(out, j.meta, j.spec.ShutdownAfterJobFinishes, path.Child("shutdownAfterJobFinishes"))
	if j.Cluster == nil {
		return
	}
	submitters := 0
	if j.spec.SubmissionMode == rayv1.K8sJobMode {
		submitters = 1
	}
	cluster.CheckKueue(out, j.Cluster, path.Child("rayClusterSpec"), submitters)
}
