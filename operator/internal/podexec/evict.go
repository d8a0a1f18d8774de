package podexec

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// HeldRetry is the interval at which a Pod is tried again that a PodDisruptionBudget holds.
	HeldRetry = 5 * time.Second
	// evictionLimit limits an eviction: the client waits and repeats it while Kubernetes processes a budget that has just changed.
	evictionLimit = 2 * time.Second
)

// Evictable reports whether all PodDisruptionBudgets allow to evict the Pod now.
func (x *Executor) Evictable(ctx context.Context, p *corev1.Pod) (bool, error) {
	err := x.evict(ctx, p, metav1.DryRunAll)
	switch {
	case held(err):
		return false, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone
		return true, nil
	default:
		return err == nil, err
	}
}

func (x *Executor) evict(ctx context.Context, p *corev1.Pod, dryRun ...string) error {
	within, cancel := context.WithTimeout(ctx, evictionLimit)
	defer cancel()
	meta := metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}
	err := x.client.SubResource("eviction").Create(within, &corev1.Pod{ObjectMeta: meta}, &policyv1.Eviction{
		ObjectMeta: meta, DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}, DryRun: dryRun},
	})
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return errHeld
	}
	return err
}

var errHeld = errors.New("the eviction takes too long")

// held reports whether a PodDisruptionBudget refuses an eviction for now.
func held(err error) bool {
	return errors.Is(err, errHeld) || apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}
