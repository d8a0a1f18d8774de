package raydevices

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// Group are Pods that one template makes.
type Group struct {
	// Name is the name of the group, as in the label ray.io/group.
	Name string
	// Path is the path of the group, TemplatePath that of its template.
	Path, TemplatePath *field.Path
	Template           *corev1.PodTemplateSpec
	// Namespace is that of the object, or empty if the object has none.
	Namespace string
	// Labels are those of the template and those that the operator adds to all Pods of the group, independent of the owner of the cluster.
	// Labels from the configuration of the operator are not known here.
	Labels map[string]string
	// Pods is the minimum number of Pods.
	Pods int64
	// Ray reports whether Ray runs in the first container. StartParams and Resources are for it.
	Ray                    bool
	StartParams, Resources map[string]string
	// Autoscaled reports whether an autoscaler makes Pods of the group.
	Autoscaled bool
}

// Groups returns the groups of a Ray object, the head first; none for another kind of object.
func Groups(object runtime.Object) []Group {
	groups := groupsOf(object)
	if m, ok := object.(metav1.Object); ok {
		for i := range groups {
			groups[i].Namespace = m.GetNamespace()
		}
	}
	return groups
}

func groupsOf(object runtime.Object) []Group {
	spec := field.NewPath("spec")
	switch o := object.(type) {
	case *rayv1.RayCluster:
		groups := ofCluster(&o.Spec, spec)
		for _, g := range groups {
			g.Labels[rayv1.LabelCluster] = o.Name
		}
		return groups
	case *rayv1.RayService:
		return ofCluster(&o.Spec.RayClusterSpec, spec.Child("rayClusterConfig"))
	case *rayv1.RayJob:
		return ofJob(&o.Spec, spec)
	case *rayv1.RayCronJob:
		return ofJob(&o.Spec.JobTemplate, spec.Child("jobTemplate"))
	}
	return nil
}

func ofJob(s *rayv1.RayJobSpec, path *field.Path) []Group {
	var groups []Group
	if s.RayClusterSpec != nil {
		groups = ofCluster(s.RayClusterSpec, path.Child("rayClusterSpec"))
	}
	if s.SubmitterPodTemplate != nil {
		p := path.Child("submitterPodTemplate")
		groups = append(groups, Group{Name: rayv1.SubmitterGroupName, Path: p, TemplatePath: p, Template: s.SubmitterPodTemplate, Labels: s.SubmitterPodTemplate.Labels, Pods: 1})
	}
	return groups
}

func ofCluster(s *rayv1.RayClusterSpec, path *field.Path) []Group {
	autoscaled := s.EnableInTreeAutoscaling != nil && *s.EnableInTreeAutoscaling
	h, at := &s.HeadGroupSpec, path.Child("headGroupSpec")
	groups := []Group{{
		Name: rayv1.HeadGroupName, Path: at, TemplatePath: at.Child("template"), Template: &h.Template, Pods: 1,
		Labels: podLabels(&h.Template, h.Labels, rayv1.HeadNode, rayv1.HeadGroupName),
		Ray:    true, StartParams: h.RayStartParams, Resources: h.Resources,
	}}
	for i := range s.WorkerGroupSpecs {
		g, at := &s.WorkerGroupSpecs[i], path.Child("workerGroupSpecs").Index(i)
		pods := int64(0)
		if g.MinReplicas != nil {
			pods = max(0, int64(*g.MinReplicas)) * max(1, int64(g.NumOfHosts))
		}
		groups = append(groups, Group{
			Name: g.GroupName, Path: at, TemplatePath: at.Child("template"), Template: &g.Template, Pods: pods,
			Labels: podLabels(&g.Template, g.Labels, rayv1.WorkerNode, g.GroupName),
			Ray:    true, StartParams: g.RayStartParams, Resources: g.Resources, Autoscaled: autoscaled,
		})
	}
	return groups
}

func podLabels(t *corev1.PodTemplateSpec, ofGroup map[string]string, kind rayv1.RayNodeType, group string) map[string]string {
	l := map[string]string{rayv1.LabelIsRayNode: rayv1.LabelIsRayNodeValue, rayv1.LabelAppName: rayv1.AppName, rayv1.LabelCreatedBy: rayv1.ControllerName}
	maps.Copy(l, t.Labels)
	maps.Copy(l, ofGroup)
	l[rayv1.LabelNodeType], l[rayv1.LabelGroup] = string(kind), group
	return l
}

// Plan returns the changes that device admission makes to Pods of the group.
func (g *Group) Plan(p *plan.Program) *plan.Result {
	return p.Plan(plan.FromPod(g.Template.Annotations, &g.Template.Spec).WithLabels(g.Labels))
}

// ForbiddenOptOut returns the reason why Pods of the group may not opt out of changes by their label; empty if they may, or do not. r is
// the plan of these Pods.
func (g *Group) ForbiddenOptOut(p *plan.Program, r *plan.Result) string {
	if len(r.Devices) == 0 {
		return ""
	}
	return p.ForbidsOptOut(g.Namespace, g.Labels)
}
