package apiserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var kindBudget = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget").GroupKind()

// Evict deletes a Pod if its budgets allow that. They have minAvailable as a number, and let go Pods that are not ready.
func (s *Store) Evict(actor string, o client.Object, opts client.DeleteOptions) error {
	if err := s.evictable(o); err != nil || len(opts.DryRun) > 0 {
		return err
	}
	return s.Delete(actor, o, opts)
}

func (s *Store) evictable(o client.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pods := s.kind(&corev1.Pod{})
	found, err := s.find(pods, client.ObjectKeyFromObject(o))
	if err != nil {
		return err
	}
	if !available(found.(*corev1.Pod)) {
		return nil
	}
	for _, b := range s.all(kindBudget) {
		spec := b.(*policyv1.PodDisruptionBudget).Spec
		selector := labels.SelectorFromSet(spec.Selector.MatchLabels)
		healthy := 0
		for _, p := range s.all(pods) {
			if selector.Matches(labels.Set(p.GetLabels())) && available(p.(*corev1.Pod)) {
				healthy++
			}
		}
		if selector.Matches(labels.Set(found.GetLabels())) && healthy <= spec.MinAvailable.IntValue() {
			refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
			refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{
				Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf("The disruption budget %s needs %s healthy pods and has %d currently", b.GetName(), spec.MinAvailable, healthy),
			}}
			return refusal
		}
	}
	return nil
}

// available reports whether a Pod is ready and stays.
func available(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return p.DeletionTimestamp == nil
		}
	}
	return false
}
