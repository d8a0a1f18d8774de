package raycluster

import (
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/secret"
	"github.com/raygate/raygate/operator/internal/children"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;patch;delete,roleName=raygate-operator-token-auth

// authSecret creates the token for the cluster's Ray APIs. The token is created once and never read or changed. A Secret with this
// name and no controller counts as user-provided.
func (r *Reconciler) authSecret(ctx context.Context, s *scope) {
	rc := s.cluster
	inUse := slices.ContainsFunc(s.pods, func(p *corev1.Pod) bool { return usesToken(p, names.AuthSecret(rc.Name)) })
	r.lookForUsersToken(ctx, s)
	if !secret.Needed(rc) {
		if !inUse {
			// A container that restarts would not find the Secret.
			s.dependent(r.children.Remove(ctx, rc, secret.Token(rc, nil)))
		}
		return
	}
	random := make([]byte, secret.TokenBytes)
	if _, err := io.ReadFull(r.config.Random, random); err != nil {
		s.errs = append(s.errs, fmt.Errorf("making a token: %w", err))
		return
	}
	desired := secret.Token(rc, random)
	if inUse {
		desired.Annotations = map[string]string{rayv1.AnnotationTokenReplaced: "true"}
	}
	result := r.children.Ensure(ctx, rc, children.Child{
		Desired: desired, MayBeUsers: true,
		Keep: func(current client.Object) {
			if current.GetAnnotations()[rayv1.AnnotationTokenReplaced] == "" {
				desired.Annotations = nil // not a replacement, or the user has restored the old token
			}
		},
	})
	s.dependent(result)
	if made := result.Object; made != nil && made.GetAnnotations()[rayv1.AnnotationTokenReplaced] == "true" {
		noteLostToken(s, made)
	}
}

// noteLostToken reports containers that still use the token of an earlier Secret, and what to do. KubeRay creates a new token
// without a message. The old token cannot be restored: only those containers have it.
func noteLostToken(s *scope, made client.Object) {
	since := made.GetCreationTimestamp()
	holdsOld := func(p *corev1.Pod) bool { return usesToken(p, made.GetName()) && startedBefore(p, since) }
	if since.IsZero() || !slices.ContainsFunc(s.pods, holdsOld) {
		return
	}
	s.children = append(s.children, childFailure{reason: "AuthTokenReplaced", action: actionCreate, message: fmt.Sprintf(
		"Secret %s was lost and has a new token. Pods that started before do not know it, so clients and new Pods cannot talk to them. "+
			"Suspend and resume the cluster to restart all Pods, or restore the old token in the Secret and remove its annotation %s",
		made.GetName(), rayv1.AnnotationTokenReplaced)})
}

// startedBefore reports whether the Ray container started before t. Times in the same second do not count.
func startedBefore(p *corev1.Pod, t metav1.Time) bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == p.Spec.Containers[0].Name {
			return c.State.Running != nil && c.State.Running.StartedAt.Before(&t)
		}
	}
	return false
}

// lookForUsersToken records whether the user-provided Secret or its token is missing. It reads from the API server, because
// contents of Secrets are not cached, and does not store them.
func (r *Reconciler) lookForUsersToken(ctx context.Context, s *scope) {
	name := secret.UserProvided(s.cluster)
	if name == "" {
		return
	}
	s.facts.AuthSecretMissing = s.missing(r.children.Missing(ctx, s.cluster, children.Look{ID: "Secret " + name, Find: func(ctx context.Context) (bool, error) {
		found := &corev1.Secret{}
		err := r.config.Live.Get(ctx, client.ObjectKey{Namespace: s.cluster.Namespace, Name: name}, found)
		return err == nil && len(found.Data[rayv1.AuthTokenSecretKey]) > 0, client.IgnoreNotFound(err)
	}}))
}

// usesToken reports whether a container of the Pod reads its token from the Secret.
func usesToken(p *corev1.Pod, secret string) bool {
	for i := range p.Spec.Containers {
		for _, e := range p.Spec.Containers[i].Env {
			if e.Name == pod.EnvAuthToken && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == secret {
				return true
			}
		}
	}
	return false
}
