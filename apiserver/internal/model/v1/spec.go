package v1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// specOptions are what the makers of a cluster's spec differ in.
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
	if head.GetEnableIngress() {
		out.HeadGroupSpec.EnableIngress = new(true)
	}
	for i, g := range spec.GetWorkerGroupSpec() {
		template, more := workerPod(g, o, specPath.Child("workerGroupSpec").Index(i))
		errs = append(errs, more...)
		out.WorkerGroupSpecs = append(out.WorkerGroupSpecs, rayv1.WorkerGroupSpec{
			GroupName: g.GetGroupName(), Replicas: new(g.GetReplicas()), MinReplicas: new(orReplicas(g.GetMinReplicas(), g)), MaxReplicas: new(orReplicas(g.GetMaxReplicas(), g)),
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

// orReplicas is a bound of a worker group, for which zero means the number of replicas.
func orReplicas(bound int32, g *kuberay.WorkerGroupSpec) int32 {
	if bound == 0 {
		return g.GetReplicas()
	}
	return bound
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
		EnableInTreeAutoscaling: isTrue(spec.EnableInTreeAutoscaling), HeadServiceAnnotations: spec.HeadServiceAnnotations,
		HeadGroupSpec: &kuberay.HeadGroupSpec{
			ServiceType: string(head.ServiceType), RayStartParams: head.RayStartParams, EnableIngress: isTrue(head.EnableIngress),
			ComputeTemplate: pod.computeTemplate, Image: pod.image, Volumes: pod.volumes, ServiceAccount: pod.serviceAccount, ImagePullSecret: pod.pullSecret,
			Environment: pod.environment, Annotations: pod.annotations, Labels: pod.labels, ImagePullPolicy: pod.pullPolicy, SecurityContext: pod.security,
		},
	}
	for i := range spec.WorkerGroupSpecs {
		g := &spec.WorkerGroupSpecs[i]
		pod := podFromRay(&g.Template, "ray-worker", reservedWorker, spec.RayVersion)
		out.WorkerGroupSpec = append(out.WorkerGroupSpec, &kuberay.WorkerGroupSpec{
			GroupName: g.GroupName, Replicas: number(g.Replicas), MinReplicas: number(g.MinReplicas), MaxReplicas: number(g.MaxReplicas), RayStartParams: g.RayStartParams,
			ComputeTemplate: pod.computeTemplate, Image: pod.image, Volumes: pod.volumes, ServiceAccount: pod.serviceAccount, ImagePullSecret: pod.pullSecret,
			Environment: pod.environment, Annotations: pod.annotations, Labels: pod.labels, ImagePullPolicy: pod.pullPolicy, SecurityContext: pod.security,
		})
	}
	if out.GetEnableInTreeAutoscaling() {
		out.AutoscalerOptions = autoscalerFromRay(spec.AutoscalerOptions)
	}
	return out
}

func isTrue(b *bool) bool { return b != nil && *b }

func number(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}
