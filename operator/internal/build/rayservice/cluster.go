// Package rayservice builds the children of a RayService: its RayClusters, the Services for the active cluster, and the Gateway
// and HTTPRoute for incremental upgrades. Like the other builders it is pure and never panics. It builds what KubeRay 1.7 builds;
// comments mark deliberate differences.
package rayservice

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
)

// kind is the kind of the owner.
const kind = "RayService"

// Options are the inputs of a RayService's children besides the RayService.
type Options struct {
	// Version is the version of the operator, which is stored on clusters next to the hash.
	Version string
	// FromMinimum starts the worker groups of a cluster at their minimum. In an incremental upgrade the autoscaler adds workers as
	// the capacity grows.
	FromMinimum bool
}

// Cluster builds the RayCluster with this name.
func Cluster(rs *rayv1.RayService, name string, o Options) *rayv1.RayCluster {
	rc := &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Namespace:       rs.Namespace,
			Labels:          labels.Merge(rs.Labels, origin(rs.Name)),
			Annotations:     labels.Merge(clusterAnnotations(rs), Baseline(&rs.Spec.RayClusterSpec, o.Version)),
			OwnerReferences: []metav1.OwnerReference{controller(rs)},
		},
		Spec: *rs.Spec.RayClusterSpec.DeepCopy(),
	}
	if o.FromMinimum {
		for i := range rc.Spec.WorkerGroupSpecs {
			rc.Spec.WorkerGroupSpecs[i].Replicas = nil
		}
	}
	return rc
}

// Baseline returns the annotations with which Compare later decides whether a new cluster is needed.
func Baseline(spec *rayv1.RayClusterSpec, version string) map[string]string {
	return map[string]string{
		rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete: Hash(spec),
		rayv1.AnnotationNumWorkerGroups:                       strconv.Itoa(len(spec.WorkerGroupSpecs)),
		rayv1.AnnotationKubeRayVersion:                        version,
		rayv1.AnnotationGroupSizes:                            encoded(sizesOf(spec)),
	}
}

// Updated returns a live cluster updated in place: with appended worker groups, and with changed fields that need no new cluster.
// It keeps values of other clients: suspend, metadata, and the replicas that the autoscaler has chosen. KubeRay overwrites all
// except suspend, which shrinks a cluster under load.
func Updated(rs *rayv1.RayService, live *rayv1.RayCluster, o Options) *rayv1.RayCluster {
	rc := live.DeepCopy()
	built := Cluster(rs, live.Name, o)
	rc.Labels, rc.Annotations = labels.Merge(rc.Labels, built.Labels), labels.Merge(rc.Annotations, built.Annotations)
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

// clusterAnnotations returns the annotations for clusters. It omits the last-applied annotation of kubectl, and the one that
// requests a serve Service for a plain cluster: that Service would have the same name as the RayService's and select other Pods.
// KubeRay copies both.
func clusterAnnotations(rs *rayv1.RayService) map[string]string {
	a := child.Annotations(rs)
	delete(a, rayv1.AnnotationEnableServeService)
	return a
}

func controller(rs *rayv1.RayService) metav1.OwnerReference {
	return *metav1.NewControllerRef(rs, rayv1.GroupVersion.WithKind(kind))
}

// origin returns the labels that select clusters and Services of a RayService.
func origin(name string) map[string]string {
	return map[string]string{rayv1.LabelOriginatedFromCRName: name, rayv1.LabelOriginatedFromCRD: kind}
}
