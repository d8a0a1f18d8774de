package v1

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// Tree returns the JSON of an object that was made from a message, as it is written: without a status and without nulls.
func Tree(object any) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encoding an object: %w", err)
	}
	delete(tree, "status")
	manifest.DropNulls(tree)
	return tree, nil
}

// UpdateService changes the JSON of a stored RayService to the wanted message. A message contains all that V1 has of a RayService, so parts
// that it lacks are removed; parts of the stored object that V1 cannot show stay. templates has those that the message names, and the
// existing ones that the stored object names. Problems have the paths of the message.
func UpdateService(stored map[string]any, wanted *kuberay.RayService, templates Templates, now time.Time) (field.ErrorList, error) {
	var rs rayv1.RayService
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored, &rs); err != nil {
		return nil, fmt.Errorf("reading a stored RayService: %w", err)
	}
	seen := ServiceFromRay(&rs)
	from, _ := ServiceToRay(seen, templates, now) // its errors are not about the request
	to, errs := ServiceToRay(wanted, templates, now)
	if len(errs) > 0 {
		return errs, nil
	}
	align(&rs.Spec.RayClusterSpec, &from.Spec.RayClusterSpec, &to.Spec.RayClusterSpec)
	alignReplicas(seen.GetClusterSpec(), wanted.GetClusterSpec(), &from.Spec.RayClusterSpec, &to.Spec.RayClusterSpec)
	before, err := Tree(from)
	if err != nil {
		return nil, err
	}
	after, err := Tree(to)
	if err != nil {
		return nil, err
	}
	annotations := after["metadata"].(map[string]any)["annotations"].(map[string]any)
	delete(annotations, annotationCreated)
	delete(before["metadata"].(map[string]any)["annotations"].(map[string]any), annotationCreated)
	annotations[annotationUpdated] = now.UTC().String()
	for _, part := range []string{"metadata", "spec"} {
		stored[part] = merge(stored[part], before[part], after[part])
	}
	return nil, nil
}

// align gives the Ray containers the names that they are stored with, and has the sizes of compute templates written again: a template may have changed
// since the object was written.
func align(stored, before, after *rayv1.RayClusterSpec) {
	alignPod("ray-head", &stored.HeadGroupSpec.Template, &before.HeadGroupSpec.Template, &after.HeadGroupSpec.Template)
	groups, wanted := workersOf(stored), workersOf(after)
	for name, worker := range workersOf(before) {
		if wanted[name] != nil && groups[name] != nil {
			alignPod("ray-worker", groups[name], worker, wanted[name])
		}
	}
}

// workersOf returns the Pod templates of the worker groups by name.
func workersOf(spec *rayv1.RayClusterSpec) map[string]*corev1.PodTemplateSpec {
	all := map[string]*corev1.PodTemplateSpec{}
	for i := range spec.WorkerGroupSpecs {
		all[spec.WorkerGroupSpecs[i].GroupName] = &spec.WorkerGroupSpecs[i].Template
	}
	return all
}

func alignPod(name string, stored, before, after *corev1.PodTemplateSpec) {
	was, to := &before.Spec.Containers[0], &after.Spec.Containers[0]
	if c := rayContainer(&stored.Spec, name); c != nil {
		was.Name, to.Name = c.Name, c.Name
	}
	for resource := range to.Resources.Limits {
		delete(was.Resources.Limits, resource)
		delete(was.Resources.Requests, resource)
	}
	before.Spec.Tolerations = slices.DeleteFunc(before.Spec.Tolerations, func(t corev1.Toleration) bool { return slices.Contains(after.Spec.Tolerations, t) })
}

// alignReplicas keeps the lower bound of a worker group that is shown as zero and returned as zero: for a new group zero means the number
// of replicas, for a stored one the stored value.
func alignReplicas(seen, wanted *kuberay.ClusterSpec, before, after *rayv1.RayClusterSpec) {
	bounds := map[string]int32{}
	for i, g := range seen.GetWorkerGroupSpec() {
		if g.GetMinReplicas() == 0 {
			bounds[g.GetGroupName()] = 0
			before.WorkerGroupSpecs[i].MinReplicas = nil
		}
	}
	for i, g := range wanted.GetWorkerGroupSpec() {
		if _, zero := bounds[g.GetGroupName()]; zero && g.GetMinReplicas() == 0 {
			after.WorkerGroupSpecs[i].MinReplicas = nil
		}
	}
}
