package rayservice

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Kind of the owners.
const kind = "RayService"

// Options is what the children of a RayService depend on besides it.
type Options struct {
	// Version is the version of the operator, which is written on clusters next to the hash.
	Version string
	// FromMinimum starts the worker groups of a cluster at their minimum: in an upgrade in steps the autoscaler adds workers as the
	// capacity goes up.
	FromMinimum bool
}

// Cluster builds the RayCluster of the name.
func Cluster(rs *rayv1.RayService, name string, o Options) *rayv1.RayCluster {
	rc := &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Namespace:       rs.Namespace,
			Labels:          over(maps.Clone(rs.Labels), origin(rs.Name)),
			Annotations:     clusterAnnotations(rs),
			OwnerReferences: []metav1.OwnerReference{controller(rs)},
		},
		Spec: *rs.Spec.RayClusterSpec.DeepCopy(),
	}
	maps.Copy(rc.Annotations, Baseline(&rs.Spec.RayClusterSpec, o.Version))
	if o.FromMinimum {
		for i := range rc.Spec.WorkerGroupSpecs {
			rc.Spec.WorkerGroupSpecs[i].Replicas = nil
		}
	}
	return rc
}

// Baseline are the annotations by which Compare finds out later whether another cluster is needed.
func Baseline(spec *rayv1.RayClusterSpec, version string) map[string]string {
	return map[string]string{
		rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete: Hash(spec),
		rayv1.AnnotationNumWorkerGroups:                       strconv.Itoa(len(spec.WorkerGroupSpecs)),
		rayv1.AnnotationKubeRayVersion:                        version,
		rayv1.AnnotationGroupSizes:                            encoded(sizesOf(spec)),
	}
}

// Updated is a live cluster brought up to date in place: with the worker groups that were appended, and the fields of the others that
// need no other cluster. What others have put there stays: suspend, metadata, and the replicas that the autoscaler has chosen. KubeRay
// overwrites all but suspend, which shrinks a cluster under load.
func Updated(rs *rayv1.RayService, live *rayv1.RayCluster, o Options) *rayv1.RayCluster {
	rc := live.DeepCopy()
	built := Cluster(rs, live.Name, o)
	rc.Labels, rc.Annotations = over(rc.Labels, built.Labels), over(rc.Annotations, built.Annotations)
	rc.Spec = built.Spec
	rc.Spec.Suspend = live.Spec.Suspend
	autoscaled := rs.Spec.RayClusterSpec.EnableInTreeAutoscaling != nil && *rs.Spec.RayClusterSpec.EnableInTreeAutoscaling
	found := map[string]*rayv1.WorkerGroupSpec{}
	for i := range live.Spec.WorkerGroupSpecs {
		found[live.Spec.WorkerGroupSpecs[i].GroupName] = &live.Spec.WorkerGroupSpecs[i]
	}
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		old := found[g.GroupName]
		if old == nil {
			continue
		}
		g.ScaleStrategy = *old.ScaleStrategy.DeepCopy()
		if autoscaled {
			g.Replicas = old.Replicas
		}
	}
	return rc
}

func over(under, top map[string]string) map[string]string {
	if under == nil {
		under = map[string]string{}
	}
	maps.Copy(under, top)
	return under
}

// clusterAnnotations leaves out what kubectl remembers for itself, and the annotation by which a plain cluster asks for a serve Service:
// that would have the name of the one that is made here, and select other Pods. KubeRay copies both.
func clusterAnnotations(rs *rayv1.RayService) map[string]string {
	a := map[string]string{}
	maps.Copy(a, rs.Annotations)
	delete(a, corev1.LastAppliedConfigAnnotation)
	delete(a, rayv1.AnnotationEnableServeService)
	return a
}

func controller(rs *rayv1.RayService) metav1.OwnerReference {
	return *metav1.NewControllerRef(rs, rayv1.GroupVersion.WithKind(kind))
}

// origin are the labels by which clusters and Services of a RayService are found.
func origin(name string) map[string]string {
	return map[string]string{rayv1.LabelOriginatedFromCRName: name, rayv1.LabelOriginatedFromCRD: kind}
}
