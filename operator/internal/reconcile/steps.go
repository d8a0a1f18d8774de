package reconcile

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Step is one part of a reconcile. S is the state that the steps of one reconcile share.
type Step[S any] struct {
	// Name identifies the step in Progress.
	Name string
	// Run does the work. The first error ends the list.
	Run func(context.Context, S) (Outcome, error)
}

// Outcome is the result of a step. The zero value continues with the next step.
type Outcome struct {
	// Stop ends the list.
	Stop bool
	// After is the time until another reconcile; 0 requests none.
	After time.Duration
}

// Progress describes the steps that ran.
type Progress struct {
	// After is the shortest time that a step requested; 0 for none.
	After time.Duration
	done  map[string]struct{}
}

// Done reports whether the step completed. Otherwise the part of the status that depends on it stays unchanged.
func (p Progress) Done(step string) bool {
	_, ok := p.done[step]
	return ok
}

// Run runs the steps in order until one fails or stops the list.
func Run[S any](ctx context.Context, steps []Step[S], s S) (Progress, error) {
	p := Progress{done: make(map[string]struct{}, len(steps))}
	for _, step := range steps {
		o, err := step.Run(ctx, s)
		if err != nil {
			return p, err
		}
		p.done[step.Name] = struct{}{}
		p.After = Sooner(p.After, o.After)
		if o.Stop {
			break
		}
	}
	return p, nil
}

// Sooner returns the shorter of two delays, where 0 means never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Soon is the delay before a reconcile that follows a write of this one, such as the next state of a life cycle.
const Soon = 10 * time.Millisecond

// LastRetry is the longest back-off of a failing reconcile or write. Deadlines are checked in between.
const LastRetry = 30 * time.Second

// Limited returns o with a rate limiter, unless it has one. The default of controller-runtime waits up to about a quarter of an
// hour.
func Limited(o controller.Options) controller.Options {
	if o.RateLimiter == nil {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](Soon, LastRetry)
	}
	return o
}
