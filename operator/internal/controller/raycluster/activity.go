package raycluster

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/expiryplan"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/pkg/dashboard"
)

// activityTimeout limits a question to a dashboard, which is up to six requests.
const activityTimeout = 20 * time.Second

type activityAnswer = poll.Answer[dashboard.Activity]

// activities polls in the background whether clusters are in use. It asks only about clusters with an idle timeout or disruption budgets.
type activities struct {
	poller     *poll.Poller[types.UID, dashboard.Activity]
	dashboards *dashboards.Dashboards
	waker      ownerref.Waker
	domain     string
}

// newActivities returns nil without a way to connect to dashboards. It is then never known whether a cluster is in use.
func newActivities(c Config) *activities {
	if c.Connect == nil {
		return nil
	}
	return &activities{
		poller:     poll.New[types.UID, dashboard.Activity](poll.Options{Clock: c.Clock, Random: c.Jitter}),
		dashboards: dashboards.New(c.Connect, c.Live, c.Clock), domain: c.Pod.ClusterDomain,
	}
}

// known returns the last answer.
func (a *activities) known(cluster types.UID) activityAnswer {
	if a == nil {
		return activityAnswer{}
	}
	return a.poller.Answer(cluster)
}

// observer is the name of the only observer of a cluster.
const observer = "expiry"

// watch polls a cluster with this head as the plan says, and stops if it says so. A cluster is woken if its answer differs in something that
// matters, or with each answer if the plan needs a new one. It reports whether the answer has changed since the decision.
func (a *activities) watch(rc *rayv1.RayCluster, head *corev1.Pod, svc *corev1.Service, plan expiryplan.Plan, decided activityAnswer) (changed bool) {
	if a == nil {
		return false
	}
	if plan.Interval == 0 || head == nil {
		a.forget(rc.UID)
		return false
	}
	port := cmp.Or(service.DashboardPortOf(svc), service.DashboardPort(rc))
	site := dashboards.SiteOf(rc, net.JoinHostPort(names.HeadHost(rc, a.domain), strconv.Itoa(int(port))))
	o := poll.Observer[dashboard.Activity]{Changed: activityChanged, Wake: func() { a.waker.Wake(key(rc)) }}
	if plan.Ask {
		o.Changed = nil
	}
	got := a.poller.Observe(rc.UID, observer, poll.Query[dashboard.Activity]{
		Interval: plan.Interval, Timeout: activityTimeout, Revision: site.Revision() + " " + string(head.UID),
		Ask: func(ctx context.Context) (found dashboard.Activity, err error) {
			err = a.dashboards.Call(ctx, site, func(c dashboard.Client) error {
				found, err = c.Activity(ctx)
				return err
			})
			return found, err
		},
	}, o)
	if plan.Ask {
		a.poller.Refresh(rc.UID)
	}
	return activityChanged(decided, got)
}

// activityChanged reports whether the answers differ in something on which a decision depends.
func activityChanged(before, after activityAnswer) bool {
	return before.AskedAt.IsZero() != after.AskedAt.IsZero() || before.FailingSince.IsZero() != after.FailingSince.IsZero() || before.Value != after.Value
}

// forget stops to poll a cluster.
func (a *activities) forget(cluster types.UID) {
	if a != nil {
		a.poller.Unobserve(cluster, observer)
	}
}
