// Package disruption builds the PodDisruptionBudgets of a RayCluster: one for the head and one per worker group.
package disruption

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Head builds the budget by which the head is not evicted.
func Head(rc *rayv1.RayCluster) *policyv1.PodDisruptionBudget {
	return budget(rc, names.HeadDisruptionBudget(rc.Name), rayv1.HeadGroupName, rayv1.HeadNode, 1)
}

// Group builds the budget by which so many workers of a group stay. It is at least 1.
func Group(rc *rayv1.RayCluster, group string, stay int) *policyv1.PodDisruptionBudget {
	return budget(rc, names.WorkersDisruptionBudget(rc.Name, group), group, rayv1.WorkerNode, stay)
}

// budget uses minAvailable with a number: for Pods of a controller without the subresource scale, Kubernetes accepts nothing else. A Pod that is
// not ready may be evicted at any time.
func budget(rc *rayv1.RayCluster, name, group string, kind rayv1.RayNodeType, stay int) *policyv1.PodDisruptionBudget {
	labels := child.Labels(rc)
	labels[rayv1.LabelGroup] = group
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: child.Meta(rc, name, labels),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               new(intstr.FromInt(stay)),
			Selector:                   &metav1.LabelSelector{MatchLabels: map[string]string{rayv1.LabelCluster: rc.Name, rayv1.LabelNodeType: string(kind), rayv1.LabelGroup: group}},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}
