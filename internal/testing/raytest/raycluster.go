package raytest

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	// Version is the Ray version of a cluster without RayVersion.
	Version = "2.52.0"
	// Image is the image of all containers.
	Image = "rayproject/ray:" + Version
)

// ClusterOption changes a RayCluster that is being built.
type ClusterOption func(*rayv1.RayCluster)

// RayCluster returns a valid RayCluster named "namespace/name" (or "name" in namespace default) with a head of 1 CPU and 2Gi, no workers,
// generation 1 and a UID derived from its name. Options apply in order; defaults are filled in last.
func RayCluster(key string, opts ...ClusterOption) *rayv1.RayCluster {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "default", key
	}
	rc := &rayv1.RayCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayCluster"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:  namespace,
			Name:       name,
			UID:        types.UID("uid-of-" + namespace + "-" + name),
			Generation: 1,
		},
		Spec: rayv1.RayClusterSpec{
			RayVersion:    Version,
			HeadGroupSpec: rayv1.HeadGroupSpec{Template: template("ray-head", "1", "2Gi")},
		},
	}
	for _, opt := range opts {
		opt(rc)
	}
	rayv1.SetRayClusterDefaults(rc)
	return rc
}

func template(container, cpu, memory string) corev1.PodTemplateSpec {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name:      container,
		Image:     Image,
		Resources: corev1.ResourceRequirements{Requests: amounts, Limits: amounts.DeepCopy()},
	}}}}
}

// Labels adds labels to the cluster.
func Labels(kv map[string]string) ClusterOption {
	return func(rc *rayv1.RayCluster) { rc.Labels = merged(rc.Labels, kv) }
}

// Annotations adds annotations to the cluster.
func Annotations(kv map[string]string) ClusterOption {
	return func(rc *rayv1.RayCluster) { rc.Annotations = merged(rc.Annotations, kv) }
}

// UID sets the UID, to distinguish two clusters of one name.
func UID(uid types.UID) ClusterOption {
	return func(rc *rayv1.RayCluster) { rc.UID = uid }
}

// RayVersion sets spec.rayVersion; the images stay.
func RayVersion(v string) ClusterOption {
	return func(rc *rayv1.RayCluster) { rc.Spec.RayVersion = v }
}

// Suspend sets spec.suspend.
func Suspend(on bool) ClusterOption {
	return func(rc *rayv1.RayCluster) { rc.Spec.Suspend = &on }
}

// Recreate sets the upgrade strategy to Recreate.
func Recreate() ClusterOption {
	return func(rc *rayv1.RayCluster) {
		rc.Spec.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterRecreate)}
	}
}

// ManagedBy sets spec.managedBy.
func ManagedBy(controller string) ClusterOption {
	return func(rc *rayv1.RayCluster) { rc.Spec.ManagedBy = &controller }
}

// Autoscaling turns on the autoscaler in the head Pod.
func Autoscaling() ClusterOption {
	return func(rc *rayv1.RayCluster) { rc.Spec.EnableInTreeAutoscaling = new(true) }
}

// Condition sets a condition of the status, with its type as the reason.
func Condition(conditionType string, status metav1.ConditionStatus) ClusterOption {
	return func(rc *rayv1.RayCluster) {
		rc.Status.Conditions = append(rc.Status.Conditions, metav1.Condition{Type: conditionType, Status: status, Reason: conditionType})
	}
}

// Head changes the head group.
func Head(change func(*rayv1.HeadGroupSpec)) ClusterOption {
	return func(rc *rayv1.RayCluster) { change(&rc.Spec.HeadGroupSpec) }
}

// HeadParams adds start parameters to the head.
func HeadParams(kv map[string]string) ClusterOption {
	return Head(func(h *rayv1.HeadGroupSpec) { h.RayStartParams = merged(h.RayStartParams, kv) })
}

// HeadContainer changes the Ray container of the head.
func HeadContainer(change func(*corev1.Container)) ClusterOption {
	return Head(func(h *rayv1.HeadGroupSpec) { change(&h.Template.Spec.Containers[0]) })
}

// Spec changes the spec in a way that no other option does.
func Spec(change func(*rayv1.RayClusterSpec)) ClusterOption {
	return func(rc *rayv1.RayCluster) { change(&rc.Spec) }
}

// GroupOption changes a worker group that is being built.
type GroupOption func(*rayv1.WorkerGroupSpec)

// Workers appends a worker group with this number of replicas between the bounds 0 and 10, or replicas if that is more;
// each worker has 1 CPU and 1Gi.
func Workers(name string, replicas int32, opts ...GroupOption) ClusterOption {
	return func(rc *rayv1.RayCluster) {
		g := rayv1.WorkerGroupSpec{
			GroupName:   name,
			Replicas:    new(replicas),
			MinReplicas: new(int32(0)),
			MaxReplicas: new(max(replicas, 10)),
			NumOfHosts:  1,
			Template:    template("ray-worker", "1", "1Gi"),
		}
		for _, opt := range opts {
			opt(&g)
		}
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, g)
	}
}

// Bounds sets minReplicas and maxReplicas.
func Bounds(minReplicas, maxReplicas int32) GroupOption {
	return func(g *rayv1.WorkerGroupSpec) { g.MinReplicas, g.MaxReplicas = &minReplicas, &maxReplicas }
}

// Hosts sets numOfHosts.
func Hosts(n int32) GroupOption {
	return func(g *rayv1.WorkerGroupSpec) { g.NumOfHosts = n }
}

// SuspendGroup suspends the group.
func SuspendGroup() GroupOption {
	return func(g *rayv1.WorkerGroupSpec) { g.Suspend = new(true) }
}

// WorkersToDelete names Pods in the scale strategy.
func WorkersToDelete(names ...string) GroupOption {
	return func(g *rayv1.WorkerGroupSpec) { g.ScaleStrategy.WorkersToDelete = names }
}

// GroupParams adds start parameters.
func GroupParams(kv map[string]string) GroupOption {
	return func(g *rayv1.WorkerGroupSpec) { g.RayStartParams = merged(g.RayStartParams, kv) }
}

// GroupContainer changes the Ray container of the group.
func GroupContainer(change func(*corev1.Container)) GroupOption {
	return func(g *rayv1.WorkerGroupSpec) { change(&g.Template.Spec.Containers[0]) }
}

// Group changes the group in a way that no other option does.
func Group(change func(*rayv1.WorkerGroupSpec)) GroupOption { return change }

func merged(into, from map[string]string) map[string]string {
	if into == nil {
		into = make(map[string]string, len(from))
	}
	maps.Copy(into, from)
	return into
}
