// Package pods has the rules on any Pod template: of the head, of workers, of the submitter of a RayJob.
package pods

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Template is a Pod template, with the known properties of the Pods that the operator makes from it.
type Template struct {
	*corev1.PodTemplateSpec
	// Volumes are the volumes that the operator adds.
	Volumes []string
	// Overwritten reports whether Pods get another value of a label than the template has. Nil means that no label is overwritten.
	Overwritten func(label string) bool
	// Reserved reports the name of a container at a path if the operator adds a container of that name. Nil means that it adds none.
	Reserved func(name string, isInit bool, path *field.Path)
}

// Check reports problems because of which the API server would refuse the Pods. It covers common mistakes and is no copy of the Pod
// validation.
func (t Template) Check(out *rule.Report, path *field.Path) {
	t.checkMetadata(out, path.Child("metadata"))
	spec := path.Child("spec")
	checkPodLists(out, &t.Spec, spec)
	ordinary := t.checkNames(out, t.Spec.Containers, nil, spec.Child("containers"))
	t.checkNames(out, t.Spec.InitContainers, ordinary, spec.Child("initContainers"))
	volumes := t.AllVolumes()
	check := func(containers []corev1.Container, path *field.Path) {
		for i := range containers {
			c, path := &containers[i], path.Index(i)
			checkContainerLists(out, c, path)
			checkPorts(out, c.Ports, path.Child("ports"))
			CheckMounts(out, c.VolumeMounts, volumes, path.Child("volumeMounts"))
			CheckResourceRequirements(out, &c.Resources, path.Child("resources"))
		}
	}
	check(t.Spec.Containers, spec.Child("containers"))
	check(t.Spec.InitContainers, spec.Child("initContainers"))
	checkClaims(out, &t.Spec, spec)
}

var rc530 = rule.New(rule.Rule{ID: "RC-530", Field: "metadata.labels, .annotations of Pod templates", Condition: "invalid key or value; values that Pods get from labels of the group or from the operator are not checked", Tier: rule.Kubernetes,
	Policies: cel.Templates(cel.LabelValues, cel.TemplateMetadata)})

func (t Template) checkMetadata(out *rule.Report, path *field.Path) {
	LabelRules{rc530, rc530}.Check(out, t.Labels, t.Overwritten, path.Child("labels"))
	for _, key := range slices.Sorted(maps.Keys(t.Annotations)) {
		// The key of an annotation may have upper-case letters in its prefix.
		out.Malformed(rc530, path.Child("annotations").Key(key), key, validation.IsQualifiedName(strings.ToLower(key)))
	}
	if err := apivalidation.ValidateAnnotationsSize(t.Annotations); err != nil {
		out.Invalid(rc530, path.Child("annotations"), field.OmitValueType{}, err.Error())
	}
}

// LabelRules are the rules on keys and values of labels.
type LabelRules struct{ Key, Value *rule.Rule }

// Check checks the keys of labels, and their values except those of labels that are overwritten. A nil function means that none is.
func (r LabelRules) Check(out *rule.Report, labels map[string]string, overwritten func(string) bool, path *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out.Malformed(r.Key, path.Key(key), key, validation.IsQualifiedName(key))
		if overwritten == nil || !overwritten(key) {
			out.Malformed(r.Value, path.Key(key), labels[key], validation.IsValidLabelValue(labels[key]))
		}
	}
}

var rc540 = rule.New(rule.Rule{ID: "RC-540", Field: "containers[j].name, initContainers[j].name of Pod templates", Condition: "same name in containers and initContainers, or not a DNS-1123 label", Tier: rule.Kubernetes,
	CEL:      []rule.CEL{cel.HeadContainers("containers"), cel.HeadContainers("initContainers")},
	Policies: cel.Templates(cel.NamesApart, cel.ContainerNames)})

// checkNames checks the names in one of the two lists of containers and returns them. before has those in containers, or is nil for that
// list.
func (t Template) checkNames(out *rule.Report, containers []corev1.Container, before map[string]bool, path *field.Path) map[string]bool {
	names := make(map[string]bool, len(containers))
	for i := range containers {
		name, path := containers[i].Name, path.Index(i).Child("name")
		switch {
		case name == "":
			out.Required(rc016, path, "give the container a name")
			continue
		case names[name]:
			out.Duplicate(rc017, path, name, ownName)
		case before[name]:
			out.Duplicate(rc540, path, name, "is the name of an ordinary container too; give each a name of its own")
		}
		names[name] = true
		out.When(len(validation.IsDNS1123Label(name)) > 0).Invalid(rc540, path, name, "use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends")
		if t.Reserved != nil {
			t.Reserved(name, before != nil, path)
		}
	}
	return names
}

var rc549 = rule.New(rule.Rule{ID: "RC-549", Field: "volumeMounts[k].name of Pod templates and autoscalerOptions", Condition: "no such volume in the Pod",
	Remedy: "must be the name of an entry of volumes of the Pod template"})

// AllVolumes are the names that a mount may refer to.
func (t Template) AllVolumes() sets.Set[string] {
	names := sets.New(t.Volumes...)
	for i := range t.Spec.Volumes {
		names.Insert(t.Spec.Volumes[i].Name)
	}
	return names
}

// CheckMounts finds mounts of volumes that the Pod does not have.
func CheckMounts(out *rule.Report, mounts []corev1.VolumeMount, volumes sets.Set[string], path *field.Path) {
	for i := range mounts {
		if !volumes.Has(mounts[i].Name) {
			out.Invalid(rc549, path.Index(i).Child("name"), mounts[i].Name)
		}
	}
}

// The schema declares which lists of a Pod template have keys. The rules below repeat that, for entry points before the API server.

var rc017 = rule.New(rule.Rule{ID: "RC-017", Field: "lists inside Pod templates", Condition: "repeated key: name of a container, variable, volume, claim, pull secret or scheduling gate; port with protocol; mountPath; devicePath; ip of hostAliases; topologyKey with whenUnsatisfiable; exit code", Peer: rule.BySchema,
	Marker: rule.InSchema})

// Unique is the rule that each item of the list at Path has its own key.
type Unique struct {
	By     *rule.Rule
	Path   *field.Path
	Below  string // the field of an item that is the key; empty if the key is more than one field
	Remedy string // empty means that of the rule
}

// Repeats reports the items of the list with the same key as an earlier item.
func Repeats[T any, K comparable](out *rule.Report, u Unique, list []T, key func(*T) K) {
	if len(list) < 2 {
		return
	}
	seen := make(map[K]bool, len(list))
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			// The path is made where it is needed: a cluster has thousands of items, and none is wrong as a rule.
			p := u.Path.Index(i)
			if u.Below != "" {
				p = p.Child(u.Below)
			}
			out.Duplicate(u.By, p, fmt.Sprint(k), u.Remedy)
		}
		seen[k] = true
	}
}

// ProtocolPort is the key of lists of ports.
type ProtocolPort struct {
	port     int32
	protocol corev1.Protocol
}

// String is how people write it.
func (p ProtocolPort) String() string { return fmt.Sprintf("%d/%s", p.port, p.protocol) }

// PortKey is the key of a port. No protocol means TCP.
func PortKey(port int32, protocol corev1.Protocol) ProtocolPort {
	if protocol == "" {
		protocol = corev1.ProtocolTCP
	}
	return ProtocolPort{port, protocol}
}

// Remedies for repeated keys.
const (
	OncePerPort  = "list each port and protocol once"
	oncePerClaim = "list each claim once"
	ownName      = "give each container a name of its own"
)

func claimName(c *corev1.ResourceClaim) string { return c.Name }

// checkPodLists checks the lists of a Pod except those of its containers.
func checkPodLists(out *rule.Report, spec *corev1.PodSpec, path *field.Path) {
	Repeats(out, Unique{By: rc017, Path: path.Child("volumes"), Below: "name", Remedy: "list each volume once"}, spec.Volumes, func(v *corev1.Volume) string { return v.Name })
	Repeats(out, Unique{By: rc017, Path: path.Child("imagePullSecrets"), Below: "name", Remedy: "list each Secret once"}, spec.ImagePullSecrets, func(s *corev1.LocalObjectReference) string { return s.Name })
	Repeats(out, Unique{By: rc017, Path: path.Child("hostAliases"), Below: "ip", Remedy: "give all names of an address in one entry"}, spec.HostAliases, func(a *corev1.HostAlias) string { return a.IP })
	Repeats(out, Unique{By: rc017, Path: path.Child("resourceClaims"), Below: "name", Remedy: oncePerClaim}, spec.ResourceClaims, func(c *corev1.PodResourceClaim) string { return c.Name })
	Repeats(out, Unique{By: rc017, Path: path.Child("schedulingGates"), Below: "name", Remedy: "list each gate once"}, spec.SchedulingGates, func(g *corev1.PodSchedulingGate) string { return g.Name })
	Repeats(out, Unique{By: rc017, Path: path.Child("ephemeralContainers"), Below: "name", Remedy: ownName}, spec.EphemeralContainers, func(c *corev1.EphemeralContainer) string { return c.Name })
	Repeats(out, Unique{By: rc017, Path: path.Child("topologySpreadConstraints"), Remedy: "give one constraint for each topologyKey and whenUnsatisfiable"}, spec.TopologySpreadConstraints, func(c *corev1.TopologySpreadConstraint) string {
		return c.TopologyKey + ", " + string(c.WhenUnsatisfiable)
	})
	if r := spec.Resources; r != nil {
		Repeats(out, Unique{By: rc017, Path: path.Child("resources", "claims"), Below: "name", Remedy: oncePerClaim}, r.Claims, claimName)
	}
}

var rc016 = rule.New(rule.Rule{ID: "RC-016", Field: "containers[j].name, env[k].name of Pod templates", Condition: "empty", Tier: rule.Kubernetes,
	Policies: cel.Templates(cel.NamesGiven)})

// checkContainerLists checks the lists of one container.
func checkContainerLists(out *rule.Report, c *corev1.Container, path *field.Path) {
	for i := range c.Env {
		if c.Env[i].Name == "" {
			out.Required(rc016, path.Child("env").Index(i).Child("name"), "give the variable a name")
		}
	}
	Repeats(out, Unique{By: rc017, Path: path.Child("env"), Below: "name", Remedy: "set each variable once"}, c.Env, func(e *corev1.EnvVar) string { return e.Name })
	Repeats(out, Unique{By: rc017, Path: path.Child("ports"), Remedy: OncePerPort}, c.Ports, func(p *corev1.ContainerPort) ProtocolPort { return PortKey(p.ContainerPort, p.Protocol) })
	Repeats(out, Unique{By: rc017, Path: path.Child("volumeMounts"), Below: "mountPath", Remedy: "mount one volume at each path"}, c.VolumeMounts, func(m *corev1.VolumeMount) string { return m.MountPath })
	Repeats(out, Unique{By: rc017, Path: path.Child("volumeDevices"), Below: "devicePath", Remedy: "map one volume to each path"}, c.VolumeDevices, func(d *corev1.VolumeDevice) string { return d.DevicePath })
	Repeats(out, Unique{By: rc017, Path: path.Child("resources", "claims"), Below: "name", Remedy: oncePerClaim}, c.Resources.Claims, claimName)
	for i := range c.RestartPolicyRules {
		if codes := c.RestartPolicyRules[i].ExitCodes; codes != nil {
			Repeats(out, Unique{By: rc017, Path: path.Child("restartPolicyRules").Index(i).Child("exitCodes", "values"), Remedy: "list each exit code once"}, codes.Values, func(v *int32) int32 { return *v })
		}
	}
}
