package pod

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// autoscalerCommand starts the autoscaler. Kubernetes, not a shell, replaces the two variables.
const autoscalerCommand = "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"

func (n *node) autoscaling() bool { return ptr.Deref(n.rc.Spec.EnableInTreeAutoscaling, false) }

// autoscalerVersion returns the version in the spec; empty leaves the choice to the Ray image.
func (n *node) autoscalerVersion() rayv1.AutoscalerVersion {
	if o := n.rc.Spec.AutoscalerOptions; n.autoscaling() && o != nil {
		return ptr.Deref(o.Version, "")
	}
	return ""
}

// addAutoscalerVersion sets the autoscaler version for the processes of the head.
func (n *node) addAutoscalerVersion(ray *corev1.Container) {
	if !n.isHead() {
		return
	}
	const name = "RAY_enable_autoscaler_v2"
	switch n.autoscalerVersion() {
	case rayv1.AutoscalerVersionV1:
		environment{&ray.Env}.set(text(name, "false"))
	case rayv1.AutoscalerVersionV2:
		environment{&ray.Env}.set(text(name, "true"))
	}
}

// newAutoscaler returns the autoscaler container without options, or nil on workers and without autoscaling. It uses the image of
// the Ray container, because the versions must match.
func (n *node) newAutoscaler(ray *corev1.Container) *corev1.Container {
	if !n.isHead() || !n.autoscaling() {
		return nil
	}
	return &corev1.Container{
		Name:            rayv1.ContainerAutoscaler,
		Image:           ray.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         Shell(n.o.LoginShell),
		Args:            []string{autoscalerCommand},
		Resources:       FixedResources("500m", "512Mi"),
		Env: []corev1.EnvVar{
			clusterName(),
			clusterNamespace(),
			field("RAY_HEAD_POD_NAME", "metadata.name"),
			text("KUBERAY_CRD_VER", rayv1.GroupVersion.Version),
			text("KUBERAY_GEN_AUTOSCALER_START_CMD", autoscalerCommand),
		},
	}
}

// addAutoscalerOptions overrides the autoscaler container with the options in the spec; c may be nil.
func (n *node) addAutoscalerOptions(c *corev1.Container) {
	if c == nil || n.rc.Spec.AutoscalerOptions == nil {
		return
	}
	o := n.rc.Spec.AutoscalerOptions.DeepCopy()
	c.Image = cmp.Or(ptr.Deref(o.Image, ""), c.Image)
	c.ImagePullPolicy = cmp.Or(ptr.Deref(o.ImagePullPolicy, ""), c.ImagePullPolicy)
	if len(o.Command) > 0 {
		c.Command = o.Command
	}
	if len(o.Args) > 0 {
		c.Args = o.Args
	}
	c.Resources = ptr.Deref(o.Resources, c.Resources)
	c.SecurityContext = o.SecurityContext
	c.Env = Override(c.Env, o.Env)
	c.EnvFrom = o.EnvFrom
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return mountAt(o.VolumeMounts, m.MountPath) != nil
	})
	c.VolumeMounts = append(c.VolumeMounts, o.VolumeMounts...)
}

// FixedResources returns equal requests and limits.
func FixedResources(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: Amounts(cpu, memory), Limits: Amounts(cpu, memory)}
}

// Amounts returns a resource list with CPU and memory.
func Amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
}
