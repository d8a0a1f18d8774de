package reconcile

import (
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Limited returns o with a rate limiter, unless it has one. The default of controller-runtime waits for up to a quarter of an hour,
// which is too long after an outage.
func Limited(o controller.Options) controller.Options {
	if o.RateLimiter == nil {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](Soon, LastRetry)
	}
	return o
}
