package authz

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

// kubernetes counts reviews and answers by the name asked for, or not at all. Nobody may do anything to all objects unless wide is set.
type kubernetes struct {
	asked atomic.Int32
	away  atomic.Bool
	wide  bool
}

func (k *kubernetes) review(_ context.Context, r *authorizationv1.SelfSubjectAccessReview) (*authorizationv1.SelfSubjectAccessReview, error) {
	k.asked.Add(1)
	if k.away.Load() {
		return nil, apierrors.NewServiceUnavailable("away")
	}
	switch r.Spec.ResourceAttributes.Name {
	case "broken":
		return nil, apierrors.NewServiceUnavailable("later")
	case "ended":
		return nil, apierrors.NewUnauthorized("ended")
	case "denied":
		r.Status.Reason = "no rule"
	case "":
		r.Status.Allowed = k.wide
	default:
		r.Status.Allowed = true
	}
	return r, nil
}

func as(t *testing.T, token string) context.Context {
	return authn.WithCaller(t.Context(), authn.NewCaller(user.DefaultInfo{Name: token}, token))
}

func TestReviewsAreRemembered(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	k := &kubernetes{}
	r := NewReviews(k.review, now)
	step := func(what string, ctx context.Context, name string, check func(error) bool, asked int32) {
		t.Helper()
		if err := r.Authorize(ctx, Access{Verb: "get", Name: name}); !check(err) {
			t.Errorf("%s: unexpected %v", what, err)
		}
		if got := k.asked.Load(); got != asked {
			t.Errorf("%s: %d reviews so far, want %d", what, got, asked)
		}
	}
	ok := func(err error) bool { return err == nil }
	// The first question is about all objects, and its answer is remembered, too.
	step("first", as(t, "a"), "x", ok, 2)
	step("remembered", as(t, "a"), "x", ok, 2)
	step("another caller", as(t, "b"), "x", ok, 4)
	step("another object", as(t, "a"), "y", ok, 5)
	now.SetTime(now.Now().Add(allowedFresh + time.Second))
	step("expired", as(t, "a"), "x", ok, 7)
	step("denied", as(t, "a"), "denied", apierrors.IsForbidden, 8)
	step("denial remembered", as(t, "a"), "denied", apierrors.IsForbidden, 8)
	now.SetTime(now.Now().Add(deniedFresh + time.Second))
	step("denial expired", as(t, "a"), "denied", apierrors.IsForbidden, 10)
	step("the token ended", as(t, "a"), "ended", apierrors.IsUnauthorized, 11)
	step("nobody", t.Context(), "x", func(err error) bool { return errors.Is(err, authn.ErrNoCredentials) }, 11)
	step("failure", as(t, "a"), "broken", apierrors.IsServiceUnavailable, 12)
	now.SetTime(now.Now().Add(time.Minute))
	step("failure is not remembered", as(t, "a"), "broken", apierrors.IsServiceUnavailable, 14)
}

// A caller with a right on all objects of a namespace is asked about once, and not for each of their names.
func TestRightOnAllObjects(t *testing.T) {
	k := &kubernetes{wide: true}
	r := NewReviews(k.review, nil)
	for _, name := range []string{"x", "y", "", "z"} {
		if err := r.Authorize(as(t, "a"), Access{Verb: "get", Namespace: "team", Name: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := k.asked.Load(); got != 1 {
		t.Errorf("%d reviews, want 1", got)
	}
}

func TestAllow(t *testing.T) {
	rule := func(verbs, groups, resources string, names ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{Verbs: strings.Fields(verbs), APIGroups: []string{groups}, Resources: strings.Fields(resources), ResourceNames: names}
	}
	rules := []authorizationv1.ResourceRule{rule("get list", "ray.io", "rayclusters"), rule("get", "ray.io", "rayjobs", "mine"), rule("create", "", "*/proxy"), rule("*", "batch", "*")}
	for want, all := range map[bool][]Access{
		true: {
			{Verb: "get", Group: "ray.io", Resource: "rayclusters"}, {Verb: "list", Group: "ray.io", Resource: "rayclusters", Name: "x"}, {Verb: "get", Group: "ray.io", Resource: "rayjobs", Name: "mine"},
			{Verb: "create", Resource: "services", Subresource: "proxy"}, {Verb: "x", Group: "batch", Resource: "jobs", Subresource: "status"},
		},
		false: {
			{Verb: "watch", Group: "ray.io", Resource: "rayclusters"}, {Verb: "get", Resource: "rayclusters"}, {Verb: "get", Group: "ray.io", Resource: "rayjobs"},
			{Verb: "get", Group: "ray.io", Resource: "rayjobs", Name: "other"}, {Verb: "create", Resource: "services"}, {Verb: "get", Group: "ray.io", Resource: "rayclusters", Subresource: "status"},
		},
	} {
		for _, a := range all {
			if got := Allow(rules, a); got != want {
				t.Errorf("%+v: %t", a, got)
			}
		}
	}
}

// Reads and watches ended 10 s after the API server did, because their access review had expired.
func TestVerdictsStandWhileTheAPIServerIsAway(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	k := &kubernetes{}
	r := NewReviews(k.review, now)
	allowed, denied := Access{Verb: "get", Name: "x"}, Access{Verb: "get", Name: "denied"}
	check := func(when string, wantAllowed bool) {
		t.Helper()
		if err := r.Authorize(as(t, "a"), allowed); (err == nil) != wantAllowed {
			t.Errorf("%s: allowed access gives %v", when, err)
		}
		if err := r.Authorize(as(t, "a"), denied); err == nil {
			t.Errorf("%s: denied access is allowed", when)
		}
	}
	check("before", true)
	k.away.Store(true)
	for range 5 {
		now.SetTime(now.Now().Add(59 * time.Second))
		check("away", true)
	}
	if err := r.Authorize(as(t, "a"), Access{Verb: "get", Name: "other"}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("what was never allowed: %v", err)
	}
	now.SetTime(now.Now().Add(stale))
	check("away for too long", false)
	k.away.Store(false)
	now.SetTime(now.Now().Add(time.Minute))
	check("back", true)
}

// A revoked right ends when its verdict is no longer fresh, also when it would still stand for an API server that is away.
func TestRevokedRightEnds(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	allowed := true
	r := NewReviews(func(_ context.Context, review *authorizationv1.SelfSubjectAccessReview) (*authorizationv1.SelfSubjectAccessReview, error) {
		review.Status.Allowed = allowed
		return review, nil
	}, now)
	a := Access{Verb: "watch", Resource: "rayclusters", Namespace: "team"}
	if err := r.Authorize(as(t, "a"), a); err != nil {
		t.Fatal(err)
	}
	allowed = false
	now.SetTime(now.Now().Add(allowedFresh + time.Second))
	err := r.Authorize(as(t, "a"), a)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "you may not watch rayclusters in namespace team") {
		t.Errorf("got %v", err)
	}
}
