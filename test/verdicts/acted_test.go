package verdicts

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// acted waits until the operator has made what the object asks for first, and returns an error if it does not act on it, or if the API server
// refuses the Pods. RayCronJobs make nothing before their time; see cronRefusals.
func (c *corpusCase) acted(ctx context.Context, namespace string) error {
	switch c.Kind {
	case "RayCluster":
		return c.clusterActed(ctx, namespace, c.names[namespace])
	case "RayJob":
		return c.jobActed(ctx, namespace)
	case "RayService":
		return c.serviceActed(ctx, namespace)
	}
	return nil
}

func get[T any](ctx context.Context, kind, namespace, name string) (*T, error) {
	u, err := kindOf(kind).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	object := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
		return nil, stop(err)
	}
	return object, nil
}

// jobActed is acted for a RayJob: it has a cluster, which has a head Pod.
func (c *corpusCase) jobActed(ctx context.Context, namespace string) error {
	cluster := ""
	err := eventually(ctx, "the operator to look at "+c.Name, func(ctx context.Context) error {
		j, err := get[rayv1.RayJob](ctx, c.Kind, namespace, c.names[namespace])
		if err != nil || validation.ManagedElsewhere(j) {
			return err
		}
		switch j.Status.JobDeploymentStatus {
		case rayv1.JobDeploymentStatusValidationFailed:
			return stop(fmt.Errorf("the operator does not act: %s", j.Status.Message))
		case rayv1.JobDeploymentStatusNew:
			return fmt.Errorf("it has not: %+v", j.Status)
		case rayv1.JobDeploymentStatusInitializing, rayv1.JobDeploymentStatusWaiting, rayv1.JobDeploymentStatusRunning:
			if len(j.Spec.ClusterSelector) == 0 && !j.Spec.Suspend {
				cluster = j.Status.RayClusterName
			}
		}
		return nil
	})
	if err != nil || cluster == "" {
		return err
	}
	return c.clusterActed(ctx, namespace, cluster)
}

// serviceActed is acted for a RayService: it has a cluster, which has a head Pod.
func (c *corpusCase) serviceActed(ctx context.Context, namespace string) error {
	cluster := ""
	err := eventually(ctx, "the operator to look at "+c.Name, func(ctx context.Context) error {
		rs, err := get[rayv1.RayService](ctx, c.Kind, namespace, c.names[namespace])
		if err != nil || validation.ManagedElsewhere(rs) {
			return err
		}
		if ready := meta.FindStatusCondition(rs.Status.Conditions, string(rayv1.RayServiceReady)); ready != nil && ready.Reason == rayv1.ReasonRayServiceValidationFailed {
			return stop(fmt.Errorf("the operator does not act: %s", ready.Message))
		}
		if rs.Status.ObservedGeneration != rs.Generation {
			return errors.New("it has not")
		}
		cluster = cmp.Or(rs.Status.PendingServiceStatus.RayClusterName, rs.Status.ActiveServiceStatus.RayClusterName)
		if cluster == "" && !rs.Spec.Suspend {
			return errors.New("there is no cluster")
		}
		return nil
	})
	if err != nil || cluster == "" {
		return err
	}
	return c.clusterActed(ctx, namespace, cluster)
}

func (c *corpusCase) clusterActed(ctx context.Context, namespace, name string) error {
	return eventually(ctx, "the operator to look at "+c.Name, func(ctx context.Context) error {
		rc, err := get[rayv1.RayCluster](ctx, "RayCluster", namespace, name)
		if err != nil || validation.ManagedElsewhere(rc) {
			return err
		}
		if rc.Status.ObservedGeneration != rc.Generation {
			return errors.New("it has not")
		}
		wrong := meta.FindStatusCondition(rc.Status.Conditions, rayv1.RayClusterInvalidSpec)
		if wrong != nil && wrong.Status == metav1.ConditionTrue && wrong.Reason != rayv1.ReasonToleratedRayClusterSpec {
			return stop(fmt.Errorf("the operator does not act: %s", wrong.Message))
		}
		if failure := meta.FindStatusCondition(rc.Status.Conditions, rayv1.RayClusterReplicaFailure); failure != nil && failure.Status == metav1.ConditionTrue && !c.skips("pods") {
			return stop(fmt.Errorf("the API server does not take the Pods: %s", failure.Message))
		}
		if suspended := rc.Spec.Suspend != nil && *rc.Spec.Suspend; suspended || c.skips("pods") {
			return nil
		}
		heads, err := lab.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: rayv1.LabelCluster + "=" + rc.Name + "," + rayv1.LabelNodeType + "=head"})
		if err == nil && len(heads.Items) == 0 {
			err = errors.New("there is no head Pod")
		}
		return err
	})
}
