package v1

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// specOptions are the differences between the callers that make a cluster's spec.
type specOptions struct {
	version string
	// shared are the variables of all groups.
	shared *kuberay.EnvironmentVariables
	// serve adds the ports of Ray Serve to the head.
	serve     bool
	templates Templates
}

var specPath = field.NewPath("clusterSpec")

// TemplateNames returns the names of the compute templates of a spec, each once.
func TemplateNames(spec *kuberay.ClusterSpec) []string {
	names := []string{spec.GetHeadGroupSpec().GetComputeTemplate()}
	for _, g := range spec.GetWorkerGroupSpec() {
		names = append(names, g.GetComputeTemplate())
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// specToRay returns nil for no spec.
func specToRay(spec *kuberay.ClusterSpec, o specOptions) (*rayv1.RayClusterSpec, field.ErrorList) {
	if spec == nil {
		return nil, nil
	}
	head, path := spec.GetHeadGroupSpec(), specPath.Child("headGroupSpec")
	template, errs := headPod(head, o, path)
	out := &rayv1.RayClusterSpec{
		RayVersion: o.version, HeadServiceAnnotations: spec.GetHeadServiceAnnotations(),
		HeadGroupSpec: rayv1.HeadGroupSpec{ServiceType: corev1.ServiceType(head.GetServiceType()), RayStartParams: notNil(head.GetRayStartParams()), Template: template},
	}
	out.HeadGroupSpec.EnableIngress = nonZero(head.GetEnableIngress())
	for i, g := range spec.GetWorkerGroupSpec() {
		template, more := workerPod(g, o, specPath.Child("workerGroupSpec").Index(i))
		errs = append(errs, more...)
		out.WorkerGroupSpecs = append(out.WorkerGroupSpecs, rayv1.WorkerGroupSpec{
			// Zero as a bound means the number of replicas.
			GroupName: g.GetGroupName(), Replicas: new(g.GetReplicas()),
			MinReplicas: new(cmp.Or(g.GetMinReplicas(), g.GetReplicas())), MaxReplicas: new(cmp.Or(g.GetMaxReplicas(), g.GetReplicas())),
			RayStartParams: notNil(g.GetRayStartParams()), Template: template,
		})
	}
	if spec.GetEnableInTreeAutoscaling() {
		out.EnableInTreeAutoscaling = new(true)
		var more field.ErrorList
		out.AutoscalerOptions, more = autoscalerToRay(spec.GetAutoscalerOptions(), specPath.Child("autoscalerOptions"))
		errs = append(errs, more...)
	}
	return out, errs
}

// nonZero returns nil for the zero value, which means that a field is not set.
func nonZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// notNil keeps required maps from being written as null.
func notNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func specFromRay(spec *rayv1.RayClusterSpec) *kuberay.ClusterSpec {
	head := &spec.HeadGroupSpec
	pod := podFromRay(&head.Template, "ray-head", reservedHead, spec.RayVersion)
	out := &kuberay.ClusterSpec{
		EnableInTreeAutoscaling: ptr.Deref(spec.EnableInTreeAutoscaling, false), HeadServiceAnnotations: spec.HeadServiceAnnotations,
		HeadGroupSpec: &kuberay.HeadGroupSpec{
			ServiceType: string(head.ServiceType), RayStartParams: head.RayStartParams, EnableIngress: ptr.Deref(head.EnableIngress, false),
			ComputeTemplate: pod.GetComputeTemplate(), Image: pod.GetImage(), Volumes: pod.GetVolumes(), ServiceAccount: pod.GetServiceAccount(),
			ImagePullSecret: pod.GetImagePullSecret(), Environment: pod.GetEnvironment(), Annotations: pod.GetAnnotations(), Labels: pod.GetLabels(),
			ImagePullPolicy: pod.GetImagePullPolicy(), SecurityContext: pod.GetSecurityContext(),
		},
	}
	for i := range spec.WorkerGroupSpecs {
		w := &spec.WorkerGroupSpecs[i]
		g := podFromRay(&w.Template, "ray-worker", reservedWorker, spec.RayVersion)
		g.GroupName, g.RayStartParams = w.GroupName, w.RayStartParams
		g.Replicas, g.MinReplicas, g.MaxReplicas = ptr.Deref(w.Replicas, 0), ptr.Deref(w.MinReplicas, 0), ptr.Deref(w.MaxReplicas, 0)
		out.WorkerGroupSpec = append(out.WorkerGroupSpec, g)
	}
	if out.GetEnableInTreeAutoscaling() {
		out.AutoscalerOptions = autoscalerFromRay(spec.AutoscalerOptions)
	}
	return out
}
