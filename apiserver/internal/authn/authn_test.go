package authn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestParseBearer(t *testing.T) {
	for header, want := range map[string]error{
		"":                       ErrNoCredentials,
		"Bearer abc":             nil,
		"bearer  abc ":           nil,
		"Basic dXNlcjpwYXNz":     ErrBadCredentials,
		"Bearer":                 ErrBadCredentials,
		"Bearer ":                ErrBadCredentials,
		"Bearer a b":             ErrBadCredentials,
		"Bearer a\r\nX-Other: b": ErrBadCredentials,
		"Bearer é":               ErrBadCredentials,
		"Bearer " + strings.Repeat("x", maxTokenLength+1): ErrBadCredentials,
	} {
		c, err := ParseBearer(header)
		if !errors.Is(err, want) {
			t.Errorf("ParseBearer(%.40q) = %v, want %v", header, err, want)
		}
		if text := fmt.Sprintf("%v %+v %#v %s", c, c, c, c); strings.Contains(text, "abc") {
			t.Errorf("printing shows the token: %s", text)
		}
	}
}

// asker counts reviews and answers by name.
type asker struct{ asked atomic.Int32 }

func (a *asker) review(_ context.Context, access Access) (bool, string, error) {
	a.asked.Add(1)
	switch access.Name {
	case "broken":
		return false, "", apierrors.NewServiceUnavailable("later")
	case "denied":
		return false, "no rule", nil
	}
	return true, "", nil
}

func TestReviewsAreRemembered(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	ask := &asker{}
	r := NewReviews(ask.review, now)
	as := func(token string) context.Context { return WithCaller(t.Context(), NewCaller(token)) }
	step := func(what string, ctx context.Context, name string, check func(error) bool, asked int32) {
		t.Helper()
		if err := r.Authorize(ctx, Access{Verb: "get", Name: name}); !check(err) {
			t.Errorf("%s: unexpected %v", what, err)
		}
		if got := ask.asked.Load(); got != asked {
			t.Errorf("%s: %d reviews so far, want %d", what, got, asked)
		}
	}
	ok := func(err error) bool { return err == nil }
	step("first", as("a"), "x", ok, 1)
	step("remembered", as("a"), "x", ok, 1)
	step("another caller", as("b"), "x", ok, 2)
	step("another object", as("a"), "y", ok, 3)
	now.SetTime(now.Now().Add(allowedLife + time.Second))
	step("expired", as("a"), "x", ok, 4)
	step("denied", as("a"), "denied", apierrors.IsForbidden, 5)
	step("denial remembered", as("a"), "denied", apierrors.IsForbidden, 5)
	now.SetTime(now.Now().Add(deniedLife + time.Second))
	step("denial expired", as("a"), "denied", apierrors.IsForbidden, 6)
	step("failure", as("a"), "broken", apierrors.IsServiceUnavailable, 7)
	step("failure is not remembered", as("a"), "broken", apierrors.IsServiceUnavailable, 8)
	step("nobody", t.Context(), "x", func(err error) bool { return errors.Is(err, ErrNoCredentials) }, 8)
}

func TestReviewsAskOnceAndStayBounded(t *testing.T) {
	ask := &asker{}
	release := make(chan struct{})
	r := NewReviews(func(ctx context.Context, a Access) (bool, string, error) {
		<-release
		return ask.review(ctx, a)
	}, nil)
	ctx := WithCaller(t.Context(), NewCaller("a"))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := r.Authorize(ctx, Access{Verb: "list"}); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	close(release)
	wg.Wait()
	if got := ask.asked.Load(); got > 2 {
		t.Errorf("%d reviews for one question asked at once", got)
	}
	for i := range maxAnswers + 100 {
		r.remember(&answer{key: answerKey{access: Access{Name: fmt.Sprint(i)}}})
	}
	if len(r.entries) != maxAnswers || r.recent.Len() != maxAnswers {
		t.Errorf("%d answers kept, want %d", len(r.entries), maxAnswers)
	}
}
