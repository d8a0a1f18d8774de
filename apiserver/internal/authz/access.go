package authz

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

// How long an answer is used; see the documentation of the package.
const (
	allowedFresh = 10 * time.Second
	deniedFresh  = 2 * time.Second
	stale        = 5 * time.Minute
)

// Access is an action on a resource, for authorization. An empty namespace or name means all.
type Access = authorizationv1.ResourceAttributes

// Authorizer decides whether the context's caller may read. The error is a Kubernetes status error: Forbidden or Unauthorized.
type Authorizer interface {
	Authorize(ctx context.Context, a Access) error
}

// AllowAll is the Authorizer of the mode none.
type AllowAll struct{}

// Authorize implements Authorizer.
func (AllowAll) Authorize(context.Context, Access) error { return nil }

// AccessReview creates a SelfSubjectAccessReview as the context's caller and returns it with its status.
type AccessReview func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) (*authorizationv1.SelfSubjectAccessReview, error)

// Reviews is an Authorizer that uses access reviews of Kubernetes.
type Reviews struct {
	review   AccessReview
	verdicts *authn.Verdicts[struct{}]
}

// NewReviews returns an Authorizer that calls review. A nil clock means the real one.
func NewReviews(review AccessReview, c clock.PassiveClock) *Reviews {
	return &Reviews{review: review, verdicts: authn.NewVerdicts[struct{}](c)}
}

// Authorize implements Authorizer.
func (r *Reviews) Authorize(ctx context.Context, a Access) error {
	caller := authn.CallerFrom(ctx)
	if caller == nil {
		return authn.ErrNoCredentials
	}
	if a.Name != "" { // most permissions cover all objects of a namespace, and one review then answers for all of them
		wide := a
		wide.Name = ""
		if err := r.Authorize(ctx, wide); !apierrors.IsForbidden(err) {
			return err
		}
	}
	key := strings.Join([]string{caller.Key(), a.Verb, a.Group, a.Resource, a.Subresource, a.Namespace, a.Name}, "\x00")
	_, err := r.verdicts.Get(ctx, key, func(ctx context.Context) (authn.Answer[struct{}], error) { return r.ask(ctx, a) })
	return err
}

func (r *Reviews) ask(ctx context.Context, a Access) (authn.Answer[struct{}], error) {
	got, err := r.review(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a}})
	switch {
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err): // the token has ended since the caller was identified
		return authn.Answer[struct{}]{Refusal: err, Fresh: deniedFresh, Stale: stale}, nil
	case err != nil:
		return authn.Answer[struct{}]{}, err
	case got.Status.Allowed && !got.Status.Denied:
		return authn.Answer[struct{}]{Fresh: allowedFresh, Stale: stale}, nil
	}
	refusal := apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name, errors.New(describe(a, got.Status.Reason)))
	return authn.Answer[struct{}]{Refusal: refusal, Fresh: deniedFresh, Stale: stale}, nil
}

func describe(a Access, reason string) string {
	what := a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	where := "all namespaces"
	if a.Namespace != "" {
		where = "namespace " + a.Namespace
	}
	text := "you may not " + a.Verb + " " + what + " in " + where
	if reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

// RulesReview returns all permissions of the context's caller in a namespace, by a SelfSubjectRulesReview.
type RulesReview func(ctx context.Context, namespace string) (*authorizationv1.SubjectRulesReviewStatus, error)

// Allow reports whether rules allow an access.
func Allow(rules []authorizationv1.ResourceRule, a Access) bool {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return slices.ContainsFunc(rules, func(r authorizationv1.ResourceRule) bool {
		return names(r.Verbs, a.Verb) && names(r.APIGroups, a.Group) && (names(r.Resources, resource) || a.Subresource != "" && slices.Contains(r.Resources, "*/"+a.Subresource)) &&
			(len(r.ResourceNames) == 0 || a.Name != "" && slices.Contains(r.ResourceNames, a.Name))
	})
}

// names reports whether a list of a rule has a name, or all names.
func names(list []string, name string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, name)
}
