package rayservice

import (
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/raygate/raygate/operator/internal/backoff"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/served"
)

// What events call the children.
const (
	whatCluster = "RayCluster"
	whatService = "Service"
	whatGateway = "Gateway"
	whatRoute   = "HTTPRoute"
)

// act carries out the plan. What fails keeps nothing else from being done.
type act struct {
	config   Config
	children *children.Writer
	tracker  *tracker
	optional *served.Watches
	said     *report.Once
	// refused is what the API server refuses of writes that are none of children.
	refused *backoff.Limiter[string]
}

// Run implements step.
func (a *act) Run(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	var errs []error
	for _, part := range []func(context.Context, *scope) error{
		a.createCluster, a.updateCluster, a.resizeClusters, a.rebaseline, a.scheduleDeletions, a.deleteClusters, // clusters
		a.clusterServices, a.gateway, a.route, a.services, a.deleteChildren, // where requests go
		a.labels, a.watches, a.deployments, // what Ray does
	} {
		errs = append(errs, part(ctx, s))
	}
	return reconcile.Outcome{}, errors.Join(errs...)
}

// write does what is not a write of children, and reports whether it was done. A refusal is tried again less and less often: its text may
// differ each time, and each text is a write of the status.
func (a *act) write(s *scope, subject string, warning func(why string) report.Event, do func() error) (done bool, err error) {
	key := backoff.Key{Owner: s.service.UID, Attempt: subject}
	if wait := a.refused.Wait(key, s.service.Generation); wait > 0 {
		why, _ := a.refused.Last(key, s.service.Generation)
		s.refuse(why)
		s.after(wait)
		return false, nil
	}
	switch err := do(); {
	case err == nil:
		a.refused.Succeeded(key)
		return true, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		s.after(reconcile.StaleTimeout) // the watch tells of changes earlier
		return false, nil
	case children.Lasting(err):
		why := err.Error()
		s.refuse(why)
		if a.said.News(s.service.UID, subject, why) {
			s.events = append(s.events, warning(why))
		}
		s.after(a.refused.Failed(key, s.service.Generation, why))
		return false, nil
	default:
		return false, err
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
