package reconcile

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

func TestFailuresAreRetriedWithinTheLimit(t *testing.T) {
	limiter := Limited(controller.Options{}).RateLimiter
	first := limiter.When(ctrl.Request{})
	last := first
	for range 50 {
		last = limiter.When(ctrl.Request{})
	}
	if first != Soon || last != LastRetry {
		t.Errorf("waits from %s to %s, want from %s to %s", first, last, Soon, LastRetry)
	}
}
