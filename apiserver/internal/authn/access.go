package authn

import (
	"container/list"
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// How long an answer is believed. A right that was taken away works on for at most allowedLife; one just given
// works after at most deniedLife.
const (
	allowedLife = 10 * time.Second
	deniedLife  = 2 * time.Second
	// maxAnswers bounds the memory, about 200 bytes each.
	maxAnswers = 20000
)

// Access is something a caller may want to do.
type Access struct {
	Verb      string
	Group     string
	Resource  string
	Namespace string // empty means all
	Name      string // empty means all
}

// Authorizer decides whether the context's caller may read. The error is a Kubernetes status error: Forbidden or Unauthorized.
type Authorizer interface {
	Authorize(ctx context.Context, a Access) error
}

// AllowAll is the Authorizer of the mode none.
type AllowAll struct{}

// Authorize implements Authorizer.
func (AllowAll) Authorize(context.Context, Access) error { return nil }

// Review makes a SelfSubjectAccessReview with the caller's token and returns its verdict.
type Review func(ctx context.Context, a Access) (allowed bool, reason string, err error)

// Reviews is an Authorizer that asks Kubernetes and remembers the answers for a few seconds.
type Reviews struct {
	review Review
	clock  clock.PassiveClock
	flight singleflight.Group

	mu      sync.Mutex
	entries map[answerKey]*list.Element
	recent  list.List // of *answer, the latest used in front
}

type answerKey struct {
	caller [sha256.Size]byte
	access Access
}

type answer struct {
	key     answerKey
	allowed bool
	reason  string
	until   time.Time
}

// NewReviews returns an Authorizer on top of review. A nil clock means the real one.
func NewReviews(review Review, c clock.PassiveClock) *Reviews {
	if c == nil {
		c = clock.RealClock{}
	}
	return &Reviews{review: review, clock: c, entries: map[answerKey]*list.Element{}}
}

// Authorize implements Authorizer.
func (r *Reviews) Authorize(ctx context.Context, a Access) error {
	c, ok := ctx.Value(callerKey{}).(*Caller)
	if !ok || c == nil {
		return ErrNoCredentials
	}
	key := answerKey{caller: c.hash, access: a}
	if known := r.lookup(key); known != nil {
		return known.verdict()
	}
	ch := r.flight.DoChan(string(c.hash[:])+"\x00"+a.Verb+"\x00"+a.Group+"\x00"+a.Resource+"\x00"+a.Namespace+"\x00"+a.Name, func() (any, error) {
		// Not the context of the first asker, whose going away is no answer for the others; the values (the caller) are the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		allowed, reason, err := r.review(ctx, a)
		if err != nil {
			return nil, err
		}
		life := allowedLife
		if !allowed {
			life = deniedLife
		}
		fresh := &answer{key: key, allowed: allowed, reason: reason, until: r.clock.Now().Add(life)}
		r.remember(fresh)
		return fresh, nil
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case got := <-ch:
		if got.Err != nil {
			return got.Err
		}
		return got.Val.(*answer).verdict()
	}
}

func (a *answer) verdict() error {
	if a.allowed {
		return nil
	}
	gr := schema.GroupResource{Group: a.key.access.Group, Resource: a.key.access.Resource}
	return apierrors.NewForbidden(gr, a.key.access.Name, deniedError(a.describe()))
}

type deniedError string

// Error implements error.
func (e deniedError) Error() string { return string(e) }

func (a *answer) describe() string {
	text := "you may not " + a.key.access.Verb + " " + a.key.access.Resource
	if ns := a.key.access.Namespace; ns != "" {
		text += " in namespace " + ns
	} else {
		text += " in all namespaces"
	}
	if a.reason != "" {
		text += " (" + a.reason + ")"
	}
	return text
}

func (r *Reviews) lookup(key answerKey) *answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[key]
	if !ok {
		return nil
	}
	known := e.Value.(*answer)
	if r.clock.Now().After(known.until) {
		r.recent.Remove(e)
		delete(r.entries, key)
		return nil
	}
	r.recent.MoveToFront(e)
	return known
}

func (r *Reviews) remember(a *answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.entries[a.key]; ok {
		r.recent.Remove(e)
	}
	r.entries[a.key] = r.recent.PushFront(a)
	for len(r.entries) > maxAnswers {
		oldest := r.recent.Back()
		r.recent.Remove(oldest)
		delete(r.entries, oldest.Value.(*answer).key)
	}
}

// Poster sends an access review and fills in its status; in production a REST client of authorization.k8s.io/v1.
type Poster func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) (*authorizationv1.SelfSubjectAccessReview, error)

// SelfSubjectReview returns the Review that asks with post.
func SelfSubjectReview(post Poster) Review {
	return func(ctx context.Context, a Access) (bool, string, error) {
		answer, err := post(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: a.Verb, Group: a.Group, Resource: a.Resource, Namespace: a.Namespace, Name: a.Name,
			}},
		})
		if err != nil {
			return false, "", err
		}
		return answer.Status.Allowed && !answer.Status.Denied, answer.Status.Reason, nil
	}
}
