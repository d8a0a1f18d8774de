// Package pods holds the rules on the containers and lists of any Pod template.
package pods

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// EachContainer calls a check for the containers and init containers of a Pod.
func EachContainer(spec *corev1.PodSpec, path *field.Path, check func(*corev1.Container, *field.Path)) {
	for i := range spec.Containers {
		check(&spec.Containers[i], path.Child("containers").Index(i))
	}
	for i := range spec.InitContainers {
		check(&spec.InitContainers[i], path.Child("initContainers").Index(i))
	}
}

// CheckContainer looks at one container of a Pod that has the volumes.
func CheckContainer(out *rule.Report, c *corev1.Container, volumes sets.Set[string], path *field.Path) {
	CheckContainerLists(out, c, path)
	checkPorts(out, c.Ports, path.Child("ports"))
	CheckMountedVolumes(out, c.VolumeMounts, volumes, path.Child("volumeMounts"))
	CheckResourceRequirements(out, &c.Resources, path.Child("resources"))
}

var rc541 = rule.New(rule.Rule{ID: "RC-541", Field: "containers[j].ports of Pod templates", Condition: "port name repeated in a container or malformed, number outside 1..65535, unknown protocol", Tier: rule.Kubernetes,
	CEL: []rule.CEL{{Node: "headGroupSpec.template", Field: ".spec.containers", Partly: true, Valid: "!self.?spec.?containers[?0].?ports.hasValue() || self.spec.containers[0].ports.all(p, p.containerPort >= 1 && p.containerPort <= 65535)",
		Says: "must be from 1 to 65535"}},
	Policies: cel.Templates(cel.PortForms, cel.PortNames)})

func checkPorts(out *rule.Report, ports []corev1.ContainerPort, path *field.Path) {
	names := make(map[string]bool, len(ports))
	for i := range ports {
		port, p := &ports[i], path.Index(i)
		if len(validation.IsValidPortNum(int(port.ContainerPort))) > 0 {
			out.Invalid(rc541, p.Child("containerPort"), port.ContainerPort, "must be from 1 to 65535")
		}
		if port.Protocol != "" {
			rule.OneOf(out, rc541, p.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		}
		if port.Name == "" {
			continue
		}
		if msgs := validation.IsValidPortName(port.Name); len(msgs) > 0 {
			out.Invalid(rc541, p.Child("name"), port.Name, strings.Join(msgs, "; "))
		}
		if names[port.Name] {
			out.Duplicate(rc541, p.Child("name"), port.Name, "give each port of a container a name of its own")
		}
		names[port.Name] = true
	}
}

var rc549 = rule.New(rule.Rule{ID: "RC-549", Field: "volumeMounts[k].name of Pod templates and autoscalerOptions", Condition: "no such volume in the Pod",
	Remedy: "must be the name of an entry of volumes of the Pod template"})

// CheckMountedVolumes finds mounts of volumes that the Pod does not have.
func CheckMountedVolumes(out *rule.Report, mounts []corev1.VolumeMount, volumes sets.Set[string], path *field.Path) {
	for i := range mounts {
		if !volumes.Has(mounts[i].Name) {
			out.Invalid(rc549, path.Index(i).Child("name"), mounts[i].Name)
		}
	}
}

var rc587 = rule.New(rule.Rule{ID: "RC-587", Field: "containers[j].resources.requests of Pod templates", Tier: rule.Kubernetes, Mixed: true,
	Condition: "of an extended resource or huge pages, other than the limit (error), or without one (warning, since a LimitRange may give it)"})

// overcommits reports whether the request of a resource may be less than its limit.
func overcommits(name corev1.ResourceName) bool {
	native := !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
	return native && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

var rc565 = rule.New(rule.Rule{ID: "RC-565", Field: "containers[j].resources of Pod templates", Condition: "request above limit, negative quantity", Tier: rule.Kubernetes,
	Policies: cel.Templates(cel.ResourcesInOrder)})

// CheckResourceRequirements finds resources that the API server always refuses.
func CheckResourceRequirements(out *rule.Report, r *corev1.ResourceRequirements, path *field.Path) {
	if len(r.Limits) == 0 && len(r.Requests) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		if limit := r.Limits[name]; limit.Sign() < 0 {
			out.Invalid(rc565, path.Child("limits").Key(string(name)), limit.String(), "must be at least 0")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, p := r.Requests[name], path.Child("requests").Key(string(name))
		if request.Sign() < 0 {
			out.Invalid(rc565, p, request.String(), "must be at least 0")
		}
		switch limit, limited := r.Limits[name]; {
		case limited && request.Cmp(limit) > 0:
			out.Invalid(rc565, p, request.String(), "must not exceed the limit, which is "+limit.String())
		case limited && !overcommits(name) && !request.Equal(limit):
			out.Invalid(rc587, p, request.String(), "must equal the limit of a resource that cannot be overcommitted, which is "+limit.String())
		case !limited && !overcommits(name):
			out.Maybe().Invalid(rc587, p, request.String(), "has no limit, which a resource that cannot be overcommitted needs; give the same limit")
		}
	}
}
