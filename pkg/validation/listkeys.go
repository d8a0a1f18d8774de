package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The schema says which lists of a Pod template have keys. What follows says it again, for doors before the API server.

// repeats reports the items of a list whose key an earlier item has, at the field below the item, or at the item when the
// key is more than one field. Paths are made where they are needed: a cluster has thousands of items, and none is wrong as a
// rule.
func repeats[T any, K comparable](id string, list []T, key func(*T) K, path func() *field.Path, name, remedy string) field.ErrorList {
	if len(list) < 2 {
		return nil
	}
	var errs field.ErrorList
	seen := make(map[K]bool, len(list))
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			p := path().Index(i)
			if name != "" {
				p = p.Child(name)
			}
			errs = append(errs, duplicate(id, p, fmt.Sprint(k), remedy))
		}
		seen[k] = true
	}
	return errs
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

const oncePerPort = "list each port and protocol once"

// validatePodLists checks the lists of a Pod but those of its containers.
func validatePodLists(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	at := func(name string) func() *field.Path { return func() *field.Path { return path.Child(name) } }
	errs := repeats("RC-017", spec.Volumes, func(v *corev1.Volume) string { return v.Name }, at("volumes"), "name", "list each volume once")
	errs = append(errs, repeats("RC-017", spec.ImagePullSecrets, func(s *corev1.LocalObjectReference) string { return s.Name }, at("imagePullSecrets"), "name", "list each Secret once")...)
	errs = append(errs, repeats("RC-017", spec.HostAliases, func(a *corev1.HostAlias) string { return a.IP }, at("hostAliases"), "ip", "give all names of an address in one entry")...)
	errs = append(errs, repeats("RC-017", spec.ResourceClaims, func(c *corev1.PodResourceClaim) string { return c.Name }, at("resourceClaims"), "name", "list each claim once")...)
	errs = append(errs, repeats("RC-017", spec.SchedulingGates, func(g *corev1.PodSchedulingGate) string { return g.Name }, at("schedulingGates"), "name", "list each gate once")...)
	errs = append(errs, repeats("RC-017", spec.EphemeralContainers, func(c *corev1.EphemeralContainer) string { return c.Name }, at("ephemeralContainers"), "name", "give each container a name of its own")...)
	errs = append(errs, repeats("RC-017", spec.TopologySpreadConstraints, func(c *corev1.TopologySpreadConstraint) string {
		return c.TopologyKey + ", " + string(c.WhenUnsatisfiable)
	}, at("topologySpreadConstraints"), "", "give one constraint for each topologyKey and whenUnsatisfiable")...)
	if r := spec.Resources; r != nil {
		errs = append(errs, repeats("RC-017", r.Claims, claimName, func() *field.Path { return path.Child("resources", "claims") }, "name", "list each claim once")...)
	}
	return errs
}

func claimName(c *corev1.ResourceClaim) string { return c.Name }

// validateContainerLists checks the lists of one container.
func validateContainerLists(c *corev1.Container, path *field.Path) field.ErrorList {
	at := func(name string) func() *field.Path { return func() *field.Path { return path.Child(name) } }
	var errs field.ErrorList
	for i := range c.Env {
		if c.Env[i].Name == "" {
			errs = append(errs, required("RC-016", path.Child("env").Index(i).Child("name"), "give the variable a name"))
		}
	}
	errs = append(errs, repeats("RC-017", c.Env, func(e *corev1.EnvVar) string { return e.Name }, at("env"), "name", "set each variable once")...)
	errs = append(errs, repeats("RC-017", c.Ports, func(p *corev1.ContainerPort) protocolPort { return portKey(p.ContainerPort, p.Protocol) }, at("ports"), "", oncePerPort)...)
	errs = append(errs, repeats("RC-017", c.VolumeMounts, func(m *corev1.VolumeMount) string { return m.MountPath }, at("volumeMounts"), "mountPath", "mount one volume at each path")...)
	errs = append(errs, repeats("RC-017", c.VolumeDevices, func(d *corev1.VolumeDevice) string { return d.DevicePath }, at("volumeDevices"), "devicePath", "map one volume to each path")...)
	errs = append(errs, repeats("RC-017", c.Resources.Claims, claimName, func() *field.Path { return path.Child("resources", "claims") }, "name", "list each claim once")...)
	for i := range c.RestartPolicyRules {
		if codes := c.RestartPolicyRules[i].ExitCodes; codes != nil {
			errs = append(errs, repeats("RC-017", codes.Values, func(v *int32) int32 { return *v }, func() *field.Path {
				return path.Child("restartPolicyRules").Index(i).Child("exitCodes", "values")
			}, "", "list each exit code once")...)
		}
	}
	return errs
}
