package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc033 = rule.New(rule.Rule{ID: "RC-033", Field: "headGroupSpec.template.spec.containers", Condition: "empty", Peer: rule.BySpec, Remedy: "give at least one container; the first runs Ray",
	CEL: []rule.CEL{{Node: "headGroupSpec.template", Field: ".spec.containers", Reason: rule.Required, Valid: cel.OneContainer}}})
var rc038 = rule.New(rule.Rule{ID: "RC-038", Field: "workerGroupSpecs[i].template.spec.containers", Condition: "empty", Peer: rule.BySpec, Remedy: "give at least one container; the first runs Ray",
	CEL: []rule.CEL{cel.EachGroup(rule.Required, "g.template.?spec.?containers[?0].hasValue()", "template.spec.containers: give at least one container; the first runs Ray")}})

// checkPodTemplate adds to what holds for any Pod template what the operator makes of that of a group.
func checkPodTemplate(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	spec, t := path.Child("spec"), g.template
	pods.Template{
		PodTemplateSpec: t,
		Volumes:         addedVolumes,
		Overwritten:     g.overwrites,
		Reserved: func(name string, isInit bool, path *field.Path) {
			checkReservedName(out, c, g, name, isInit, path)
		},
	}.Check(out, path)
	out.When(len(t.Spec.Containers) == 0).Required(g.rule(rc033, rc038), spec.Child("containers"))
	checkRestartPolicy(out, c, g, spec.Child("restartPolicy"))
	checkTLSTemplate(out, c, g, spec)
	checkOwnMetadata(out, c, g, path.Child("metadata"))
	checkRayContainer(out, t, spec.Child("containers"))
	checkSharedPorts(out, g, spec.Child("containers"))
}

// overwrites reports whether Pods get another value of the label than that of the template.
func (g nodeGroup) overwrites(key string) bool {
	_, byGroup := g.labels[key]
	return byGroup || key == rayv1.LabelCluster || key == rayv1.LabelNodeType || key == rayv1.LabelGroup
}

var rc074 = rule.New(rule.Rule{ID: "RC-074", Field: "headGroupSpec.template.spec.restartPolicy", Condition: "neither unset nor Never, with autoscalerOptions.version v2", Peer: rule.BySpec, Reads: []string{"autoscalerOptions.version", "enableInTreeAutoscaling"},
	Remedy: "must be Never or unset with the autoscaler v2, which replaces Pods by itself",
	CEL: []rule.CEL{{Field: ".headGroupSpec.template.spec.restartPolicy", When: cel.Autoscaling, Valid: "!" + cel.VersionIsV2 + " || !(" + cel.Present("self.headGroupSpec.template", "spec.restartPolicy") + ")" +
		" || !(self.headGroupSpec.template.spec.restartPolicy in ['Always', 'OnFailure'])"}}})
var rc075 = rule.New(rule.Rule{ID: "RC-075", Field: "workerGroupSpecs[i].template.spec.restartPolicy", Condition: "neither unset nor Never, with autoscalerOptions.version v2", Peer: rule.BySpec, Reads: []string{"autoscalerOptions.version", "enableInTreeAutoscaling"},
	Remedy: "must be Never or unset with the autoscaler v2, which replaces Pods by itself",
	CEL: []rule.CEL{{Field: ".workerGroupSpecs", When: cel.Autoscaling, Valid: "!" + cel.VersionIsV2 + " || " + cel.AllGroups(cel.NeverRestarts),
		NoWorse: cel.NoMoreGroups(cel.NeverRestarts)}}})
var rc560 = rule.New(rule.Rule{ID: "RC-560", Field: "template.spec.restartPolicy", Condition: "not \"\", Always, OnFailure, Never", Tier: rule.Kubernetes,
	CEL: []rule.CEL{
		cel.EachGroup("", "g.template.?spec.?restartPolicy.orValue('') in "+cel.RestartPolicies, "template.spec.restartPolicy: "+cel.PoliciesOfRestart),
		cel.RestartPolicy("headGroupSpec.template.spec.restartPolicy"),
	}})

func checkRestartPolicy(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	policy := g.template.Spec.RestartPolicy
	if policy == "" {
		return
	}
	if !rule.OneOf(out, rc560, path, policy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever) {
		return
	}
	out.When(c.Autoscaling && c.versionOption() == rayv1.AutoscalerVersionV2 && policy != corev1.RestartPolicyNever).Invalid(g.rule(rc074, rc075), path, string(policy))
}

// addedVolumes are the volumes that the operator adds to Pods, so that a mount may refer to them.
var addedVolumes = []string{rayv1.VolumeSharedMemory, rayv1.VolumeRayLogs, rayv1.VolumeRayToken, rayv1.VolumeTLS, rayv1.VolumeGCSStorage}

var rc525 = rule.New(rule.Rule{ID: "RC-525", Field: "containers[j].name, initContainers[j].name of Pod templates", Condition: "ray-history-collector or ray-job-submitter among init containers, wait-gcs-ready among containers (warning where it is not known whether the operator adds it), wait-for-tls-ip-san with TLS on, or a sidecar of the operator's configuration", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{
		{Field: ".headGroupSpec.template.spec.initContainers", When: cel.History, Valid: "!" + cel.InHeadPod("initContainers", "x.name == 'ray-history-collector'"),
			Says: "the operator adds a container of this name with historyServerOptions; use another name"},
		cel.WaitForTLS("containers"),
		cel.WaitForTLS("initContainers"),
		{Part: rule.JobSpec, Field: ".rayClusterSpec.headGroupSpec.template.spec.initContainers", When: cel.JobInSidecar, Valid: cel.NoRayCluster + " || !has(" + cel.HeadOfJob + ".spec.initContainers) || " + cel.HeadOfJob + ".spec.initContainers.all(c, c.name != 'ray-job-submitter')",
			Says: "the operator adds a container of this name in SidecarMode; use another name"},
	},
	Policies: []rule.Policy{
		{EachGroup: true, Field: ".template.spec.initContainers", Valid: "!" + cel.ClusterHistory + " || g.template.?spec.?initContainers.orValue([]).all(c, c.name != 'ray-history-collector')",
			Says: "the operator adds a container named ray-history-collector with historyServerOptions; use another name"},
		{EachGroup: true, Field: ".template.spec", Valid: "!" + cel.ClusterTLS + " || (" + cel.OfContainers("g.template", "c.name != 'wait-for-tls-ip-san'") + ")",
			Says: "the operator adds an init container named wait-for-tls-ip-san with tlsOptions.enabled; use another name"},
	}})
var rc526 = rule.New(rule.Rule{ID: "RC-526", Field: "workerGroupSpecs[i].template.spec.initContainers[j].name", Condition: "wait-gcs-ready while init container injection is on (warning where that is not known)", Tier: rule.Kubernetes, Mixed: true, Depends: "ENABLE_INIT_CONTAINER_INJECTION"})
var rc089 = rule.New(rule.Rule{ID: "RC-089", Field: "headGroupSpec.template.spec.containers[j].name", Condition: "ray-history-collector", Peer: rule.BySpec,
	CEL: []rule.CEL{{Field: cel.ContainersField, When: cel.History, Valid: "!" + cel.InHeadPod("containers", "x.name == 'ray-history-collector'"),
		Says: "the operator adds a container of this name with historyServerOptions; use another name"}}})
var rc090 = rule.New(rule.Rule{ID: "RC-090", Field: "workerGroupSpecs[i].template.spec.containers[j].name", Condition: "ray-history-collector", Peer: rule.BySpec,
	Policies: []rule.Policy{{EachGroup: true, Field: ".template.spec.containers", Valid: "!" + cel.ClusterHistory + " || g.template.?spec.?containers.orValue([]).all(c, c.name != 'ray-history-collector')",
		Says: "the operator adds a container named ray-history-collector with historyServerOptions; use another name"}}})
var rc524 = rule.New(rule.Rule{ID: "RC-524", Field: "headGroupSpec.template.spec.containers[j].name, initContainers[j].name", Condition: "autoscaler with autoscaling on", Tier: rule.Kubernetes, Reads: []string{"enableInTreeAutoscaling"},
	CEL: []rule.CEL{
		cel.ReservedAutoscaler("containers"),
		cel.ReservedAutoscaler("initContainers"),
	}})

// checkReservedName refuses the name of a container that the operator adds to the Pod. Whether it adds one that makes workers wait, it alone
// knows.
func checkReservedName(out *rule.Report, c *Spec, g nodeGroup, name string, isInit bool, path *field.Path) {
	collector, waits, perhaps := g.rule(rc089, rc090), rc525, out
	if isInit {
		collector, waits = rc525, rc526
	}
	if !c.Options.FromOperator {
		perhaps = out.Maybe()
	}
	for _, r := range []struct {
		name  string
		added bool
		out   *rule.Report
		by    *rule.Rule
		why   string
	}{
		{rayv1.ContainerAutoscaler, g.head && c.Autoscaling, out, rc524, "the operator adds a container of this name with enableInTreeAutoscaling"},
		{rayv1.ContainerHistoryCollector, c.Spec.HistoryServerOptions != nil, out, collector, "the operator adds a container of this name with historyServerOptions"},
		{rayv1.ContainerJobSubmitter, g.head && isInit && c.SidecarSubmitter, out, rc525, "the operator adds a container of this name in SidecarMode"},
		{rayv1.ContainerWaitTLS, c.tls, out, rc525, "the operator adds an init container of this name with tlsOptions.enabled"},
		{rayv1.ContainerWaitGCSReady, !g.head && !c.Options.NoInitContainers, perhaps, waits, "the operator adds an init container of this name to workers"},
		{name, slices.Contains(sidecars(c, g), name), out, rc525, "the configuration of the operator adds a container of this name"},
	} {
		if name == r.name && r.added {
			r.out.Invalid(r.by, path, name, r.why+"; use another name")
			return
		}
	}
}

// sidecars are the containers that the operator's configuration adds to the Pod.
func sidecars(c *Spec, g nodeGroup) []string {
	if g.head {
		return c.Options.HeadSidecars
	}
	return c.Options.WorkerSidecars
}
