package reconcile

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Step is one part of a reconcile. S is what the steps of one run share.
type Step[S any] struct {
	// Name is what Progress knows the step by.
	Name string
	// Run does the work. The first error ends the list.
	Run func(context.Context, S) (Outcome, error)
}

// Outcome is what a step says about the steps after it. The zero value says go on.
type Outcome struct {
	// Stop ends the list.
	Stop bool
	// After asks for another reconcile after this time; zero asks for none.
	After time.Duration
}

// Progress is how far a run came.
type Progress struct {
	// After is the shortest time that a step asked for; zero for none.
	After time.Duration
	done  map[string]struct{}
}

// Done reports whether the step ran to its end. Otherwise the part of the status that depends on it stays as it was.
func (p Progress) Done(step string) bool {
	_, ok := p.done[step]
	return ok
}

// Run runs the steps in their order until one fails or says stop.
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

// Sooner returns the shorter of two times after which to look again, where zero is never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Soon is the delay before a reconcile that follows from a write of this one, such as the next state of a life cycle.
const Soon = 10 * time.Millisecond

// LastRetry is the longest wait between two attempts at what fails, of a reconcile or of a write. Deadlines are looked at in between.
const LastRetry = 30 * time.Second

// Limited returns o with a rate limiter, unless it has one. The default of controller-runtime waits for up to a quarter of an hour.
func Limited(o controller.Options) controller.Options {
	if o.RateLimiter == nil {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](Soon, LastRetry)
	}
	return o
}
