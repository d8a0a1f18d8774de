package pod

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Worker builds a worker Pod of the group g of the cluster.
func Worker(rc *rayv1.RayCluster, g *rayv1.WorkerGroupSpec, o Options) *corev1.Pod {
	p := workerNode(rc, g, o).build()
	p.Name, p.GenerateName = "", names.WorkerPodPrefix(rc.Name, g.GroupName)
	return p
}

func workerNode(rc *rayv1.RayCluster, g *rayv1.WorkerGroupSpec, o Options) *node {
	return &node{
		rc:          rc,
		o:           o.For(rc),
		kind:        rayv1.WorkerNode,
		group:       g.GroupName,
		template:    &g.Template,
		startParams: g.RayStartParams,
		resources:   g.Resources,
		labels:      g.Labels,
	}
}

// Replica is the place of a worker within its group. The operator writes it as labels if the feature gate RayMultiHostIndexing is
// on.
type Replica struct {
	// Index is the index of the replica within the group, from 0.
	Index int
	// Name is the name of the replica, equal on all its Pods. It is empty for groups with one host per replica.
	Name string
	// Host is the index of the Pod within the replica, from 0. It is used only with a Name.
	Host int
	// Slice describes the slice of TPUs that the replica is; nil for none.
	Slice *Slice
}

// Label writes the labels on p and overrides those of the user. It completes a Pod of a slice of TPUs.
func (r Replica) Label(p *corev1.Pod) {
	metav1.SetMetaDataLabel(&p.ObjectMeta, rayv1.LabelWorkerGroupReplicaIndex, strconv.Itoa(r.Index))
	if r.Name != "" {
		metav1.SetMetaDataLabel(&p.ObjectMeta, rayv1.LabelWorkerGroupReplicaName, r.Name)
		metav1.SetMetaDataLabel(&p.ObjectMeta, rayv1.LabelReplicaHostIndex, strconv.Itoa(r.Host))
	}
	if r.Slice != nil && len(p.Spec.Containers) > 0 {
		r.Slice.complete(p, r)
	}
}
