package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// The schema says which lists of a Pod template have keys. What follows says it again, for entry points before the API server.

// repeats reports the items of the list called name whose key an earlier item has, at the field below the item, or at the
// item when the key is more than one field.
func repeats[T any, K comparable](out *rule.Report, by *rule.Rule, path *field.Path, name string, list []T, key func(*T) K, below, remedy string) {
	if len(list) < 2 {
		return
	}
	seen := make(map[K]bool, len(list))
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			// The path is made where it is needed: a cluster has thousands of items, and none is wrong as a rule.
			p := path.Child(name).Index(i)
			if below != "" {
				p = p.Child(below)
			}
			out.Duplicate(by, p, fmt.Sprint(k), remedy)
		}
		seen[k] = true
	}
}

// protocolPort is the key of lists of ports.
type protocolPort struct {
	port     int32
	protocol corev1.Protocol
}

// String is how people write it.
func (p protocolPort) String() string { return fmt.Sprintf("%d/%s", p.port, p.protocol) }

func portKey(port int32, protocol corev1.Protocol) protocolPort {
	if protocol == "" {
		protocol = corev1.ProtocolTCP
	}
	return protocolPort{port, protocol}
}

const (
	oncePerPort  = "list each port and protocol once"
	oncePerClaim = "list each claim once"
	ownName      = "give each container a name of its own"
)

func claimName(c *corev1.ResourceClaim) string { return c.Name }

func containerName(c *corev1.Container) string { return c.Name }

// checkPodLists checks the lists of a Pod but those of its containers.
func checkPodLists(out *rule.Report, spec *corev1.PodSpec, path *field.Path) {
	repeats(out, rc017, path, "volumes", spec.Volumes, func(v *corev1.Volume) string { return v.Name }, "name", "list each volume once")
	repeats(out, rc017, path, "imagePullSecrets", spec.ImagePullSecrets, func(s *corev1.LocalObjectReference) string { return s.Name }, "name", "list each Secret once")
	repeats(out, rc017, path, "hostAliases", spec.HostAliases, func(a *corev1.HostAlias) string { return a.IP }, "ip", "give all names of an address in one entry")
	repeats(out, rc017, path, "resourceClaims", spec.ResourceClaims, func(c *corev1.PodResourceClaim) string { return c.Name }, "name", oncePerClaim)
	repeats(out, rc017, path, "schedulingGates", spec.SchedulingGates, func(g *corev1.PodSchedulingGate) string { return g.Name }, "name", "list each gate once")
	repeats(out, rc017, path, "ephemeralContainers", spec.EphemeralContainers, func(c *corev1.EphemeralContainer) string { return c.Name }, "name", ownName)
	repeats(out, rc017, path, "topologySpreadConstraints", spec.TopologySpreadConstraints, func(c *corev1.TopologySpreadConstraint) string {
		return c.TopologyKey + ", " + string(c.WhenUnsatisfiable)
	}, "", "give one constraint for each topologyKey and whenUnsatisfiable")
	if r := spec.Resources; r != nil {
		repeats(out, rc017, path.Child("resources"), "claims", r.Claims, claimName, "name", oncePerClaim)
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
	repeats(out, rc017, path, "env", c.Env, func(e *corev1.EnvVar) string { return e.Name }, "name", "set each variable once")
	repeats(out, rc017, path, "ports", c.Ports, func(p *corev1.ContainerPort) protocolPort { return portKey(p.ContainerPort, p.Protocol) }, "", oncePerPort)
	repeats(out, rc017, path, "volumeMounts", c.VolumeMounts, func(m *corev1.VolumeMount) string { return m.MountPath }, "mountPath", "mount one volume at each path")
	repeats(out, rc017, path, "volumeDevices", c.VolumeDevices, func(d *corev1.VolumeDevice) string { return d.DevicePath }, "devicePath", "map one volume to each path")
	if len(c.Resources.Claims) > 0 {
		repeats(out, rc017, path.Child("resources"), "claims", c.Resources.Claims, claimName, "name", oncePerClaim)
	}
	for i := range c.RestartPolicyRules {
		if codes := c.RestartPolicyRules[i].ExitCodes; codes != nil {
			repeats(out, rc017, path.Child("restartPolicyRules").Index(i).Child("exitCodes"), "values", codes.Values,
				func(v *int32) int32 { return *v }, "", "list each exit code once")
		}
	}
}
