package v1

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// group is the common part of the messages of head and workers.
type group interface {
	GetComputeTemplate() string
	GetImage() string
	GetServiceAccount() string
	GetImagePullSecret() string
	GetImagePullPolicy() string
	GetVolumes() []*kuberay.Volume
	GetEnvironment() *kuberay.EnvironmentVariables
	GetAnnotations() map[string]string
	GetLabels() map[string]string
	GetSecurityContext() *kuberay.SecurityContext
}

func headPod(g *kuberay.HeadGroupSpec, o specOptions, path *field.Path) (corev1.PodTemplateSpec, field.ErrorList) {
	c := corev1.Container{
		Name: "ray-head", Env: []corev1.EnvVar{fromField("MY_POD_IP", "status.podIP")},
		Ports: []corev1.ContainerPort{
			{Name: "redis", ContainerPort: 6379}, {Name: "head", ContainerPort: 10001}, {Name: "dashboard", ContainerPort: 8265}, {Name: "metrics", ContainerPort: 8080},
		},
	}
	if o.serve {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: "dashboard-agent", ContainerPort: 52365}, corev1.ContainerPort{Name: "serve", ContainerPort: 8000})
	}
	return podToRay(g, c, o, path)
}

func workerPod(g *kuberay.WorkerGroupSpec, o specOptions, path *field.Path) (corev1.PodTemplateSpec, field.ErrorList) {
	ofContainer := func(name, resource string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "ray-worker", Resource: resource}}}
	}
	c := corev1.Container{
		Name: "ray-worker", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
		Env: []corev1.EnvVar{
			{Name: "RAY_DISABLE_DOCKER_CPU_WARNING", Value: "1"}, {Name: "TYPE", Value: "worker"},
			ofContainer("CPU_REQUEST", "requests.cpu"), ofContainer("CPU_LIMITS", "limits.cpu"),
			ofContainer("MEMORY_REQUESTS", "requests.memory"), ofContainer("MEMORY_LIMITS", "limits.memory"),
			fromField("MY_POD_NAME", "metadata.name"), fromField("MY_POD_IP", "status.podIP"),
		},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "ray stop"}}}},
	}
	return podToRay(g, c, o, path)
}

// podToRay completes a Pod template. Its container already has the parts that only the head or workers have.
func podToRay(g group, c corev1.Container, o specOptions, path *field.Path) (corev1.PodTemplateSpec, field.ErrorList) {
	var errs field.ErrorList
	c.Image = g.GetImage()
	if c.Image == "" {
		c.Image = defaultImage(o.version)
		if o.version == "" {
			errs = append(errs, field.Required(path.Child("image"), "give the image, or the version of Ray that makes it"))
		}
	}
	c.ImagePullPolicy = corev1.PullIfNotPresent
	if strings.EqualFold(g.GetImagePullPolicy(), string(corev1.PullAlways)) {
		c.ImagePullPolicy = corev1.PullAlways
	}
	c.Env = append(append(c.Env, environmentToRay(o.shared)...), environmentToRay(g.GetEnvironment())...)
	c.SecurityContext = securityToRay(g.GetSecurityContext())
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      maps.Clone(g.GetLabels()),
			Annotations: map[string]string{annotationComputeTemplate: g.GetComputeTemplate(), annotationComputeImage: g.GetImage()},
		},
	}
	maps.Copy(pod.Annotations, g.GetAnnotations())
	var more field.ErrorList
	pod.Spec.Volumes, c.VolumeMounts, more = volumesToRay(g.GetVolumes(), path.Child("volumes"))
	errs = append(errs, more...)
	if name := g.GetComputeTemplate(); name != "" {
		c.Resources, pod.Spec.Tolerations, more = o.templates.expand(name, path.Child("computeTemplate"))
		errs = append(errs, more...)
	}
	if name := g.GetServiceAccount(); len(name) > 1 {
		pod.Spec.ServiceAccountName = name
	}
	if name := g.GetImagePullSecret(); len(name) > 1 {
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: name}}
	}
	pod.Spec.Containers = []corev1.Container{c}
	return pod, errs
}

func defaultImage(version string) string { return "rayproject/ray:" + version }

// podFromRay returns the V1 form of a Pod template, in a message with only the fields of the group interface. reserved are the variables
// that are left out.
func podFromRay(t *corev1.PodTemplateSpec, container string, reserved []string, version string) *kuberay.WorkerGroupSpec {
	g := &kuberay.WorkerGroupSpec{
		ComputeTemplate: t.Annotations[annotationComputeTemplate], Volumes: volumesFromRay(&t.Spec),
		Annotations: without(t.Annotations, hiddenPodAnnotations...), Labels: without(t.Labels, hiddenPodLabels...),
	}
	if name := t.Spec.ServiceAccountName; len(name) > 1 {
		g.ServiceAccount = name
	}
	if len(t.Spec.ImagePullSecrets) > 0 {
		g.ImagePullSecret = t.Spec.ImagePullSecrets[0].Name
	}
	if c := rayContainer(&t.Spec, container); c != nil {
		g.Image = imageFromRay(t, c, version)
		if c.ImagePullPolicy == corev1.PullAlways {
			g.ImagePullPolicy = string(corev1.PullAlways)
		}
		g.Environment, g.SecurityContext = environmentFromRay(c.Env, reserved), securityFromRay(c.SecurityContext)
	}
	return g
}

// rayContainer returns the container that runs Ray: the one with V1's name, or else the first one; nil if there is none.
func rayContainer(spec *corev1.PodSpec, name string) *corev1.Container {
	at := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	switch {
	case at >= 0:
		return &spec.Containers[at]
	case len(spec.Containers) > 0:
		return &spec.Containers[0]
	}
	return nil
}

// imageFromRay returns the image as requested: an image that was derived from the version is not shown. An annotation that others have
// outdated does not count.
func imageFromRay(t *corev1.PodTemplateSpec, c *corev1.Container, version string) string {
	if asked, ok := t.Annotations[annotationComputeImage]; ok && asked == "" && c.Image == defaultImage(version) {
		return ""
	}
	return c.Image
}

func securityToRay(s *kuberay.SecurityContext) *corev1.SecurityContext {
	if s == nil {
		return nil
	}
	c := s.GetCapabilities()
	return &corev1.SecurityContext{Privileged: s.Privileged, Capabilities: &corev1.Capabilities{
		Add: renamed[corev1.Capability](c.GetAdd()), Drop: renamed[corev1.Capability](c.GetDrop()),
	}}
}

func securityFromRay(s *corev1.SecurityContext) *kuberay.SecurityContext {
	if s == nil {
		return nil
	}
	c := cmp.Or(s.Capabilities, &corev1.Capabilities{})
	return &kuberay.SecurityContext{Privileged: s.Privileged, Capabilities: &kuberay.Capabilities{Add: renamed[string](c.Add), Drop: renamed[string](c.Drop)}}
}

// renamed converts texts to another type of texts; nil for none.
func renamed[To, From ~string](all []From) []To {
	var out []To
	for _, one := range all {
		out = append(out, To(one))
	}
	return out
}

func unknownEnum(path *field.Path, value fmt.Stringer, known string) *field.Error {
	return field.Invalid(path, value.String(), "is not known: use "+known)
}
