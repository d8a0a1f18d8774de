package pods

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// The schema says which lists of a Pod template have keys. What follows says it again, for entry points before the API server.

var rc017 = rule.New(rule.Rule{ID: "RC-017", Field: "lists inside Pod templates", Condition: "repeated key: name of a container, variable, volume, claim, pull secret or scheduling gate; port with protocol; mountPath; devicePath; ip of hostAliases; topologyKey with whenUnsatisfiable; exit code", Peer: rule.BySchema,
	Marker: rule.InSchema})

// Repeats reports the items of the list at the path whose key an earlier item has, at the field below the item, or at the item when the
// key is more than one field. Without a remedy, that of the rule counts.
func Repeats[T any, K comparable](out *rule.Report, by *rule.Rule, path *field.Path, list []T, key func(*T) K, below string, remedy ...string) {
	if len(list) < 2 {
		return
	}
	seen := make(map[K]bool, len(list))
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			// The path is made where it is needed: a cluster has thousands of items, and none is wrong as a rule.
			p := path.Index(i)
			if below != "" {
				p = p.Child(below)
			}
			out.Duplicate(by, p, fmt.Sprint(k), remedy...)
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

// checkPodLists checks the lists of a Pod but those of its containers.
func checkPodLists(out *rule.Report, spec *corev1.PodSpec, path *field.Path) {
	Repeats(out, rc017, path.Child("volumes"), spec.Volumes, func(v *corev1.Volume) string { return v.Name }, "name", "list each volume once")
	Repeats(out, rc017, path.Child("imagePullSecrets"), spec.ImagePullSecrets, func(s *corev1.LocalObjectReference) string { return s.Name }, "name", "list each Secret once")
	Repeats(out, rc017, path.Child("hostAliases"), spec.HostAliases, func(a *corev1.HostAlias) string { return a.IP }, "ip", "give all names of an address in one entry")
	Repeats(out, rc017, path.Child("resourceClaims"), spec.ResourceClaims, func(c *corev1.PodResourceClaim) string { return c.Name }, "name", oncePerClaim)
	Repeats(out, rc017, path.Child("schedulingGates"), spec.SchedulingGates, func(g *corev1.PodSchedulingGate) string { return g.Name }, "name", "list each gate once")
	Repeats(out, rc017, path.Child("ephemeralContainers"), spec.EphemeralContainers, func(c *corev1.EphemeralContainer) string { return c.Name }, "name", ownName)
	Repeats(out, rc017, path.Child("topologySpreadConstraints"), spec.TopologySpreadConstraints, func(c *corev1.TopologySpreadConstraint) string {
		return c.TopologyKey + ", " + string(c.WhenUnsatisfiable)
	}, "", "give one constraint for each topologyKey and whenUnsatisfiable")
	if r := spec.Resources; r != nil {
		Repeats(out, rc017, path.Child("resources", "claims"), r.Claims, claimName, "name", oncePerClaim)
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
	Repeats(out, rc017, path.Child("env"), c.Env, func(e *corev1.EnvVar) string { return e.Name }, "name", "set each variable once")
	Repeats(out, rc017, path.Child("ports"), c.Ports, func(p *corev1.ContainerPort) ProtocolPort { return PortKey(p.ContainerPort, p.Protocol) }, "", OncePerPort)
	Repeats(out, rc017, path.Child("volumeMounts"), c.VolumeMounts, func(m *corev1.VolumeMount) string { return m.MountPath }, "mountPath", "mount one volume at each path")
	Repeats(out, rc017, path.Child("volumeDevices"), c.VolumeDevices, func(d *corev1.VolumeDevice) string { return d.DevicePath }, "devicePath", "map one volume to each path")
	Repeats(out, rc017, path.Child("resources", "claims"), c.Resources.Claims, claimName, "name", oncePerClaim)
	for i := range c.RestartPolicyRules {
		if codes := c.RestartPolicyRules[i].ExitCodes; codes != nil {
			Repeats(out, rc017, path.Child("restartPolicyRules").Index(i).Child("exitCodes", "values"), codes.Values, func(v *int32) int32 { return *v }, "", "list each exit code once")
		}
	}
}
