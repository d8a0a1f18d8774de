package rayservice

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// size contains the replicas of a group and their bounds.
type size struct {
	Replicas *int32 `json:"replicas,omitempty"`
	Min      *int32 `json:"minReplicas,omitempty"`
	Max      *int32 `json:"maxReplicas,omitempty"`
}

// sizesOf returns the sizes in a spec by group.
func sizesOf(spec *rayv1.RayClusterSpec) map[string]size {
	sizes := map[string]size{}
	for i := range spec.WorkerGroupSpecs {
		g := &spec.WorkerGroupSpecs[i]
		sizes[g.GroupName] = size{g.Replicas, g.MinReplicas, g.MaxReplicas}
	}
	return sizes
}

func encoded(sizes map[string]size) string {
	text, err := json.Marshal(sizes)
	if err != nil {
		return "" // not reached: it contains only numbers and strings
	}
	return string(text)
}

// Resized returns a live cluster with the numbers of workers that have changed in the RayService, or nil if none has. It keeps
// numbers that were changed in the cluster itself. It also keeps all numbers of a cluster without recorded sizes, such as one of
// KubeRay, which never resizes clusters. With autoscaling, replicas belong to the autoscaler, within the new bounds.
func Resized(wanted *rayv1.RayClusterSpec, live *rayv1.RayCluster) *rayv1.RayCluster {
	now := sizesOf(wanted)
	var before map[string]size
	known := json.Unmarshal([]byte(live.Annotations[rayv1.AnnotationGroupSizes]), &before) == nil
	if known && equality.Semantic.DeepEqual(before, now) {
		return nil
	}
	rc := live.DeepCopy()
	metav1.SetMetaDataAnnotation(&rc.ObjectMeta, rayv1.AnnotationGroupSizes, encoded(now))
	autoscaled := live.Spec.EnableInTreeAutoscaling != nil && *live.Spec.EnableInTreeAutoscaling
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		old, noted := before[g.GroupName]
		next, asked := now[g.GroupName]
		if !noted || !asked {
			continue
		}
		g.MinReplicas = changed(old.Min, next.Min, g.MinReplicas)
		g.MaxReplicas = changed(old.Max, next.Max, g.MaxReplicas)
		if autoscaled {
			g.Replicas = within(g.Replicas, g.MinReplicas, g.MaxReplicas)
			continue
		}
		g.Replicas = changed(old.Replicas, next.Replicas, g.Replicas)
	}
	return rc
}

// changed returns the new value if it was changed, else the found one.
func changed(before, now, found *int32) *int32 {
	if equality.Semantic.DeepEqual(before, now) {
		return found
	}
	return now
}

// within limits a number to the bounds.
func within(n, low, high *int32) *int32 {
	switch {
	case n == nil:
		return nil
	case high != nil && *n > *high:
		return high
	case low != nil && *n < *low:
		return low
	}
	return n
}
