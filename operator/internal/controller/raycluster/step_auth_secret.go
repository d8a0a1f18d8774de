package raycluster

import (
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/secret"
)

// authSecret makes the token that guards the Ray APIs of the cluster. The token is made once and never looked at again; a Secret
// of the name that nothing controls is taken for one that the user made.
type authSecret struct {
	children *children
	random   io.Reader
}

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete

// Run implements step.
func (a *authSecret) Run(ctx context.Context, s *scope) (outcome, error) {
	rc := s.cluster
	inUse := slices.ContainsFunc(s.pods, func(p *corev1.Pod) bool { return usesToken(p, names.AuthSecret(rc.Name)) })
	if !secret.Needed(rc) {
		if !inUse {
			// A container that restarts would not find it.
			a.children.remove(ctx, s, secret.Token(rc, nil), "FailedToDeleteSecret")
		}
		return outcome{}, nil
	}
	random := make([]byte, secret.TokenBytes)
	if _, err := io.ReadFull(a.random, random); err != nil {
		s.errs = append(s.errs, fmt.Errorf("making a token: %w", err))
		return outcome{}, nil
	}
	events := len(s.events)
	a.children.ensure(ctx, s, child{
		desired: secret.Token(rc, random), created: "CreatedSecret", failed: "FailedToCreateSecret", users: true,
	})
	if made := s.events[events:]; inUse && len(made) > 0 && made[0].reason == "CreatedSecret" {
		made[0] = newEvent(corev1.EventTypeWarning, made[0].reason, actionCreate, fmt.Sprintf(
			"Secret %s was gone and has a new token now; Pods that run know the old one only, so new workers cannot join them: "+
				"restart all Pods, for example by suspending the cluster", names.AuthSecret(rc.Name)))
	}
	return outcome{}, nil
}

// usesToken reports whether a container of the Pod takes its token from the Secret.
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
