package pod

import (
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Head builds the head Pod of the cluster.
func Head(rc *rayv1.RayCluster, o Options) *corev1.Pod {
	p := headNode(rc, o).build()
	if o.DeterministicHeadName {
		p.Name = names.HeadPod(rc.Name)
	} else {
		// As in KubeRay, a name in the template takes precedence: existing clusters rely on it.
		p.GenerateName = names.HeadPodPrefix(rc.Name)
	}
	p.Annotations[rayv1.AnnotationUpgradeStrategyRecreateHash] = SpecHash(&rc.Spec)
	p.Annotations[rayv1.AnnotationKubeRayVersion] = o.OperatorVersion
	return p
}

func headNode(rc *rayv1.RayCluster, o Options) *node {
	h := &rc.Spec.HeadGroupSpec
	return &node{
		rc:          rc,
		o:           o.For(rc),
		kind:        rayv1.HeadNode,
		group:       rayv1.HeadGroupName,
		template:    &h.Template,
		startParams: h.RayStartParams,
		resources:   h.Resources,
		labels:      h.Labels,
	}
}
