package v2

import (
	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// maxBasicAnnotation is the size in bytes up to which the BASIC view keeps the value of an annotation.
const maxBasicAnnotation = 1024

// ClusterBasic returns the BASIC view of in: metadata without large annotations, the spec fields people list by (Ray version,
// suspend, autoscaling, names and sizes of groups), all of status. It converts no Pod template and so costs little; nil for nil.
func ClusterBasic(in *rayv1.RayCluster) *raygatev2.RayCluster {
	if in == nil {
		return nil
	}
	meta := metadataFromKube(&in.ObjectMeta)
	for key, value := range meta.Annotations {
		if len(value) > maxBasicAnnotation {
			delete(meta.Annotations, key)
		}
	}
	return &raygatev2.RayCluster{
		ApiVersion: rayv1.GroupVersion.String(),
		Kind:       ClusterKind,
		Metadata:   meta,
		Spec: &raygatev2.RayClusterSpec{
			RayVersion:              in.Spec.RayVersion,
			EnableInTreeAutoscaling: copyOf(in.Spec.EnableInTreeAutoscaling),
			Suspend:                 copyOf(in.Spec.Suspend),
			ManagedBy:               copyOf(in.Spec.ManagedBy),
			WorkerGroupSpecs:        mapped(in.Spec.WorkerGroupSpecs, workerGroupBasic),
		},
		Status: clusterStatusFromRay(&in.Status),
	}
}

func workerGroupBasic(in *rayv1.WorkerGroupSpec) *raygatev2.WorkerGroupSpec {
	return &raygatev2.WorkerGroupSpec{
		GroupName:   in.GroupName,
		Replicas:    copyOf(in.Replicas),
		MinReplicas: copyOf(in.MinReplicas),
		MaxReplicas: copyOf(in.MaxReplicas),
		NumOfHosts:  in.NumOfHosts,
		Suspend:     copyOf(in.Suspend),
	}
}
