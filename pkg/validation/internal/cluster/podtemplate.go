package cluster

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc033 = rule.New(rule.Rule{ID: "RC-033", Field: "headGroupSpec.template.spec.containers", Condition: "empty", Peer: rule.BySpec, Remedy: "give at least one container; the first runs Ray",
	CEL: []rule.CEL{{Node: "headGroupSpec.template", Field: ".spec.containers", Reason: rule.Required, Valid: cel.OneContainer}}})
var rc038 = rule.New(rule.Rule{ID: "RC-038", Field: "workerGroupSpecs[i].template.spec.containers", Condition: "empty", Peer: rule.BySpec, Remedy: "give at least one container; the first runs Ray",
	CEL: []rule.CEL{cel.EachGroup(rule.Required, "g.template.?spec.?containers.orValue([]).size() > 0", "template.spec.containers: give at least one container; the first runs Ray")}})

// checkPodTemplate finds what would make the API server refuse the Pods, as far as it can be said without a copy of
// the Pod validation: what people get wrong, not all that can be.
func checkPodTemplate(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	spec, t := path.Child("spec"), g.template
	checkTemplateMetadata(out, g, path.Child("metadata"))
	if len(t.Spec.Containers) == 0 {
		out.Required(g.rule(rc033, rc038), spec.Child("containers"))
	}
	checkRestartPolicy(out, c, g, spec.Child("restartPolicy"))
	checkContainerNames(out, c, g, spec)
	pods.CheckPodLists(out, &t.Spec, spec)
	volumes := podVolumes(t)
	pods.EachContainer(&t.Spec, spec, func(container *corev1.Container, path *field.Path) {
		pods.CheckContainer(out, container, volumes, path)
	})
	checkTLSTemplate(out, c, g, spec)
	checkOwnMetadata(out, c, g, path.Child("metadata"))
	checkRayContainer(out, t, spec.Child("containers"))
	checkSharedPorts(out, g, spec.Child("containers"))
}

var rc530 = rule.New(rule.Rule{ID: "RC-530", Field: "template.metadata.labels, .annotations", Condition: "invalid key or value; values that Pods get from labels of the group or from the operator are not checked", Tier: rule.Kubernetes,
	Policies: cel.Templates(cel.LabelValues, cel.TemplateMetadata)})

func checkTemplateMetadata(out *rule.Report, g nodeGroup, path *field.Path) {
	t := g.template
	for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
		if msgs := validation.IsQualifiedName(key); len(msgs) > 0 {
			out.Invalid(rc530, path.Child("labels").Key(key), key, strings.Join(msgs, "; "))
		}
		if overwritten(g, key) {
			continue
		}
		if msgs := validation.IsValidLabelValue(t.Labels[key]); len(msgs) > 0 {
			out.Invalid(rc530, path.Child("labels").Key(key), t.Labels[key], strings.Join(msgs, "; "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.Annotations)) {
		// The key of an annotation may have upper-case letters in its prefix.
		if msgs := validation.IsQualifiedName(strings.ToLower(key)); len(msgs) > 0 {
			out.Invalid(rc530, path.Child("annotations").Key(key), key, strings.Join(msgs, "; "))
		}
	}
	if err := apivalidation.ValidateAnnotationsSize(t.Annotations); err != nil {
		out.Invalid(rc530, path.Child("annotations"), field.OmitValueType{}, err.Error())
	}
}

// overwritten reports whether Pods get another value of the label than that of the template.
func overwritten(g nodeGroup, key string) bool {
	_, byGroup := g.labels[key]
	return byGroup || key == rayv1.LabelCluster || key == rayv1.LabelNodeType || key == rayv1.LabelGroup
}

var rc074 = rule.New(rule.Rule{ID: "RC-074", Field: "headGroupSpec.template.spec.restartPolicy", Condition: "neither unset nor Never, with autoscalerOptions.version v2", Peer: rule.BySpec, Reads: []string{"autoscalerOptions.version", "enableInTreeAutoscaling"},
	Remedy: "must be Never or unset with the autoscaler v2, which replaces Pods by itself",
	CEL: []rule.CEL{{Field: ".headGroupSpec.template.spec.restartPolicy", Valid: "!" + cel.Autoscaling + " || !" + cel.VersionIsV2 + " || !(" + cel.Present("self.headGroupSpec.template", "spec.restartPolicy") + ")" +
		" || !(self.headGroupSpec.template.spec.restartPolicy in ['Always', 'OnFailure'])"}}})
var rc075 = rule.New(rule.Rule{ID: "RC-075", Field: "workerGroupSpecs[i].template.spec.restartPolicy", Condition: "neither unset nor Never, with autoscalerOptions.version v2", Peer: rule.BySpec, Reads: []string{"autoscalerOptions.version", "enableInTreeAutoscaling"},
	Remedy: "must be Never or unset with the autoscaler v2, which replaces Pods by itself",
	CEL: []rule.CEL{{Field: ".workerGroupSpecs", Valid: "!" + cel.Autoscaling + " || !" + cel.VersionIsV2 + " || " + cel.AllGroups(cel.NeverRestarts),
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
	if c.Autoscaling && c.versionOption() == rayv1.AutoscalerVersionV2 && policy != corev1.RestartPolicyNever {
		out.Invalid(g.rule(rc074, rc075), path, string(policy))
	}
}

// podVolumes are the names that a mount may refer to: the user's volumes and those that the operator adds.
func podVolumes(t *corev1.PodTemplateSpec) sets.Set[string] {
	names := sets.New(rayv1.VolumeSharedMemory, rayv1.VolumeRayLogs, rayv1.VolumeRayToken, rayv1.VolumeTLS, rayv1.VolumeGCSStorage)
	for i := range t.Spec.Volumes {
		names.Insert(t.Spec.Volumes[i].Name)
	}
	return names
}

var rc525 = rule.New(rule.Rule{ID: "RC-525", Field: "containers[j].name, initContainers[j].name of Pod templates", Condition: "ray-history-collector or ray-job-submitter among init containers, wait-gcs-ready among containers (warning where it is not known whether the operator adds it), wait-for-tls-ip-san with TLS on, or a sidecar of the operator's configuration", Tier: rule.Kubernetes, Mixed: true,
	CEL: []rule.CEL{
		{Field: ".headGroupSpec.template.spec.initContainers", Valid: "!has(self.historyServerOptions) || !" + cel.InHeadPod("initContainers", "x.name == 'ray-history-collector'"),
			Says: "the operator adds a container of this name with historyServerOptions; use another name"},
		cel.WaitForTLS("containers"),
		cel.WaitForTLS("initContainers"),
		{Part: rule.JobSpec, Field: ".rayClusterSpec.headGroupSpec.template.spec.initContainers", Valid: "!" + cel.JobInSidecar + " || " + cel.NoRayCluster + " || !has(" + cel.HeadOfJob + ".spec.initContainers) || " + cel.HeadOfJob + ".spec.initContainers.all(c, c.name != 'ray-job-submitter')",
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
	CEL: []rule.CEL{{Field: cel.ContainersField, Valid: "!has(self.historyServerOptions) || !" + cel.InHeadPod("containers", "x.name == 'ray-history-collector'"),
		Says: "the operator adds a container of this name with historyServerOptions; use another name"}}})
var rc090 = rule.New(rule.Rule{ID: "RC-090", Field: "workerGroupSpecs[i].template.spec.containers[j].name", Condition: "ray-history-collector", Peer: rule.BySpec,
	Policies: []rule.Policy{{EachGroup: true, Field: ".template.spec.containers", Valid: "!" + cel.ClusterHistory + " || g.template.?spec.?containers.orValue([]).all(c, c.name != 'ray-history-collector')",
		Says: "the operator adds a container named ray-history-collector with historyServerOptions; use another name"}}})
var rc524 = rule.New(rule.Rule{ID: "RC-524", Field: "headGroupSpec.template.spec.containers[j].name, initContainers[j].name", Condition: "autoscaler with autoscaling on", Tier: rule.Kubernetes, Reads: []string{"enableInTreeAutoscaling"},
	CEL: []rule.CEL{
		cel.ReservedAutoscaler("containers"),
		cel.ReservedAutoscaler("initContainers"),
	}})

// reservedName returns the rule against a name that the operator uses in the Pod, and nil for others. Whether it adds a container that makes workers
// wait, the operator alone knows.
func reservedName(out *rule.Report, c *Spec, g nodeGroup, name string, isInit bool) (by *rule.Rule, why string, to *rule.Report) { //nolint:gocyclo // a table of names, in the form of a switch
	switch {
	case name == rayv1.ContainerAutoscaler && g.head && c.Autoscaling:
		return rc524, "the operator adds a container of this name with enableInTreeAutoscaling", out
	case name == rayv1.ContainerHistoryCollector && c.Spec.HistoryServerOptions != nil:
		by, why = g.rule(rc089, rc090), "the operator adds a container of this name with historyServerOptions"
		if isInit {
			by = rc525
		}
		return by, why, out
	case name == rayv1.ContainerJobSubmitter && g.head && isInit && c.SidecarSubmitter:
		return rc525, "the operator adds a container of this name in SidecarMode", out
	case name == rayv1.ContainerWaitTLS && c.tls:
		return rc525, "the operator adds an init container of this name with tlsOptions.enabled", out
	case name == rayv1.ContainerWaitGCSReady && !g.head && !c.Options.NoInitContainers:
		by, to = rc525, out
		if isInit {
			by = rc526
		}
		if !c.Options.FromOperator {
			to = out.Maybe()
		}
		return by, "the operator adds an init container of this name to workers", to
	}
	return nil, "", out
}

// sidecars are the containers that the operator's configuration adds to the Pod.
func sidecars(c *Spec, g nodeGroup) []string {
	if g.head {
		return c.Options.HeadSidecars
	}
	return c.Options.WorkerSidecars
}

var rc540 = rule.New(rule.Rule{ID: "RC-540", Field: "containers[j].name, initContainers[j].name of Pod templates", Condition: "same name in containers and initContainers, or not a DNS-1123 label", Tier: rule.Kubernetes,
	CEL: []rule.CEL{
		cel.HeadContainers("containers"),
		cel.HeadContainers("initContainers"),
	},
	Policies: cel.Templates(cel.NamesApart, cel.ContainerNames)})

func checkContainerNames(out *rule.Report, c *Spec, g nodeGroup, spec *field.Path) {
	first := map[string]bool{}
	check := func(containers []corev1.Container, path *field.Path, isInit bool) {
		same := make(map[string]bool, len(containers))
		for i := range containers {
			name, p := containers[i].Name, path.Index(i).Child("name")
			if name == "" {
				out.Required(pods.RC016, p, "give the container a name")
				continue
			}
			switch {
			case same[name]:
				out.Duplicate(pods.RC017, p, name, pods.OwnName)
			case first[name]:
				out.Duplicate(rc540, p, name, "is the name of an ordinary container too; give each a name of its own")
			}
			same[name] = true
			if !isInit {
				first[name] = true
			}
			if len(validation.IsDNS1123Label(name)) > 0 {
				out.Invalid(rc540, p, name, "use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends")
			}
			if by, why, out := reservedName(out, c, g, name, isInit); by != nil {
				out.Invalid(by, p, name, why+"; use another name")
			} else if slices.Contains(sidecars(c, g), name) {
				out.Invalid(rc525, p, name, "the configuration of the operator adds a container of this name; use another name")
			}
		}
	}
	check(g.template.Spec.Containers, spec.Child("containers"), false)
	check(g.template.Spec.InitContainers, spec.Child("initContainers"), true)
}
