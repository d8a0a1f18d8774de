package rayservice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/objectmap"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/pkg/dashboard"
)

// PollIntervals sets the poll intervals of dashboards and proxies. Zero values mean the defaults.
type PollIntervals struct {
	// Changing is the interval while a change is expected, and between two attempts at a rejected configuration. Steady is the
	// interval otherwise, and for the active cluster during an upgrade. The defaults are 2.2 and 10.6 seconds; intervals vary by 5
	// %.
	Changing, Steady time.Duration
}

func (p PollIntervals) orDefault() PollIntervals {
	return PollIntervals{Changing: cmp.Or(p.Changing, 2200*time.Millisecond), Steady: cmp.Or(p.Steady, 10600*time.Millisecond)}
}

const (
	// readTimeout limits a read from a dashboard, deployTimeout the sending of a configuration. Both exceed the timeouts of the
	// client.
	readTimeout   = 7 * time.Second
	deployTimeout = 32 * time.Second
	// probeTimeout limits a request to a proxy.
	probeTimeout = dashboard.ProxiedProbeTimeout + time.Second
	// maxProbePause limits how late a recovered proxy receives requests.
	maxProbePause = 4 * time.Second
	maxReadPause  = 10 * time.Second
	// maxMetricRequests limits the requests to Prometheus, which many users share.
	maxMetricRequests = 8
)

// probed is a proxy on a head. Another Pod of the cluster does not inherit its answers.
type probed struct {
	pod  types.UID
	ip   string
	port int32
	http dashboard.ServeHTTPOptions
}

type (
	serveAnswer = poll.Answer[*dashboard.ServeDetails]
	probeAnswer = poll.Answer[bool]
)

// tracker polls Ray Serve on the clusters of RayServices in the background and sends configurations. It is safe for concurrent use
// by several goroutines, but by only one per service.
type tracker struct {
	dashboards *dashboards.Dashboards
	probe      dashboards.Probe
	serves     *poll.Poller[types.UID, *dashboard.ServeDetails]
	probes     *poll.Poller[probed, bool]
	metrics    *poll.Poller[types.UID, map[string]float64] // by cluster
	clock      clock.PassiveClock
	pace       PollIntervals
	archive    *archive.Archive // gets the answers about Serve; nil for none
	wake       func(types.NamespacedName)
	clusters   objectmap.Map[types.UID, tracked] // key: service and cluster
}

// tracked is the state of a cluster of a service, besides that of the pollers.
type tracked struct {
	// text is the last configuration from this process that Ray accepted; empty for none. known means that Ray has no later one.
	text  string
	known bool
	// command is the configuration that is being sent; nil for none.
	command *deployment
	// doneAt is when the last one was sent; earlier answers do not reflect it.
	doneAt time.Time
	// failures counts consecutive failed attempts; refused is Ray's error for the last one.
	failures int
	refused  string
	// probed is the polled proxy; nil for none.
	probed *probed
	// servingSince is since when Pods of the cluster serve requests; zero if none does.
	servingSince time.Time
}

// deployment is a configuration that is sent to a cluster.
type deployment struct {
	// text is the configuration in the spec. keep means that the cluster keeps its current one instead.
	text string
	keep bool
	// resized means that only the capacity changes, to percent.
	resized bool
	percent int32
}

func newTracker(c Config, wake func(types.NamespacedName)) *tracker {
	return &tracker{
		dashboards: dashboards.New(c.Connect, c.Live, c.Clock), probe: c.Probe, clock: c.Clock, pace: c.PollIntervals, archive: c.Archive, wake: wake,
		serves:  poll.New[types.UID, *dashboard.ServeDetails](poll.Options{Clock: c.Clock, Random: c.Jitter, MaxBackoff: maxReadPause}),
		probes:  poll.New[probed, bool](poll.Options{Clock: c.Clock, Random: c.Jitter, MaxBackoff: maxProbePause}),
		metrics: poll.New[types.UID, map[string]float64](poll.Options{Clock: c.Clock, Random: c.Jitter, MaxInFlight: maxMetricRequests}),
	}
}

// change modifies the state of a cluster.
func (t *tracker) change(service, cluster types.UID, do func(*tracked)) {
	k := t.known(service, cluster)
	do(&k)
	t.clusters.Set(service, cluster, k)
}

// known returns the state of a cluster.
func (t *tracker) known(service, cluster types.UID) tracked {
	k, _ := t.clusters.Get(service, cluster)
	return k
}

// serving records whether Pods of a cluster serve requests, and returns since when they do.
func (t *tracker) serving(service, cluster types.UID, is bool) (since time.Time) {
	t.change(service, cluster, func(k *tracked) {
		switch {
		case !is:
			k.servingSince = time.Time{}
		case k.servingSince.IsZero():
			k.servingSince = t.clock.Now()
		}
		since = k.servingSince
	})
	return since
}

// subject is a cluster of a service.
type subject struct {
	name             types.NamespacedName // of the service
	service, cluster types.UID
	clusterName      string
}

// watch starts to poll Serve on a cluster. It reports whether the answer has changed since the decision.
func (t *tracker) watch(o subject, site dashboards.Site, every time.Duration, decided serveAnswer) (changed bool) {
	got := t.serves.Observe(o.cluster, string(o.service), poll.Query[*dashboard.ServeDetails]{
		Interval: every, Timeout: readTimeout, Revision: site.Revision(),
		Ask: func(ctx context.Context) (d *dashboard.ServeDetails, err error) {
			err = t.dashboards.Call(ctx, site, func(c dashboard.Client) error {
				d, err = c.ServeDetails(ctx)
				return err
			})
			if err == nil {
				t.archive.Serve(o.service, o.clusterName, d.Answer)
				d.Answer = nil // it changes all the time
			}
			return d, err
		},
	}, poll.Observer[*dashboard.ServeDetails]{Changed: serveChanged, Wake: func() { t.wake(o.name) }})
	return serveChanged(decided, got)
}

// serveChanged reports whether the answers differ.
func serveChanged(before, after serveAnswer) bool {
	return before.AskedAt.IsZero() != after.AskedAt.IsZero() || before.FailingSince.IsZero() != after.FailingSince.IsZero() ||
		!reflect.DeepEqual(before.Value, after.Value)
}

// unwatch stops polling Serve on a cluster. The known configuration stays.
func (t *tracker) unwatch(service, cluster types.UID) { t.serves.Unobserve(cluster, string(service)) }

// label starts to poll the proxy on a head and returns the last answer. A nil p stops polling.
func (t *tracker) label(o subject, p *probed, pod dashboards.Pod) probeAnswer {
	if old := t.known(o.service, o.cluster).probed; old != nil && (p == nil || *old != *p) {
		t.probes.Unobserve(*old, string(o.cluster))
	}
	t.change(o.service, o.cluster, func(k *tracked) { k.probed = p })
	if p == nil {
		return probeAnswer{}
	}
	return t.probes.Observe(*p, string(o.cluster), poll.Query[bool]{
		Interval: t.pace.Changing, Timeout: probeTimeout, Revision: p.ip,
		Ask: func(ctx context.Context) (bool, error) { return t.probe(ctx, pod) },
	}, poll.Observer[bool]{Changed: probeChanged, Wake: func() { t.wake(o.name) }})
}

func probeChanged(before, after probeAnswer) bool {
	return before.AskedAt.IsZero() != after.AskedAt.IsZero() || before.Value != after.Value ||
		before.FailingSince.IsZero() != after.FailingSince.IsZero() ||
		before.FailedAt.After(before.FailingSince) != after.FailedAt.After(after.FailingSince)
}

// commandDeploy is the name of the command that sends a configuration; a cluster has one at a time.
const commandDeploy = "deploy"

// deploy sends a configuration to Ray unless one is being sent. After a failure it returns the remaining back-off.
func (t *tracker) deploy(o subject, site dashboards.Site, d deployment, body json.RawMessage) time.Duration {
	k := t.known(o.service, o.cluster)
	if k.command != nil {
		return 0
	}
	if k.failures > 0 {
		if wait := k.doneAt.Add(t.pace.Changing << min(k.failures-1, 3)).Sub(t.clock.Now()); wait > 0 {
			return wait
		}
	}
	t.change(o.service, o.cluster, func(k *tracked) { k.command = &d })
	t.serves.Do(o.cluster, commandDeploy, poll.Command{Timeout: deployTimeout, Wake: func() { t.wake(o.name) }, Run: func(ctx context.Context) error {
		return t.dashboards.Call(ctx, site, func(c dashboard.Client) error { return c.DeployServe(ctx, body) })
	}})
	return 0
}

// settle returns the result of the configuration that was sent, once; nil for none.
func (t *tracker) settle(service, cluster types.UID) (ended *deployment, failures int, failure error) {
	k := t.known(service, cluster)
	o, there := t.serves.Outcome(cluster, commandDeploy)
	if k.command == nil || there && !o.Done {
		return nil, 0, nil
	}
	t.serves.Forget(cluster, commandDeploy)
	ended, k.command, k.doneAt = k.command, nil, o.DoneAt
	switch {
	case !there: // the result is unknown
		k.doneAt = t.clock.Now()
	case o.Err != nil:
		k.failures++
		if k.refused = ""; errors.Is(o.Err, dashboard.ErrInvalid) {
			k.refused = o.Err.Error()
		} else if !ended.keep {
			k.known = false // Ray may have it nevertheless; its next answer shows that
		}
	default:
		k.failures, k.refused = 0, ""
		if !ended.keep {
			k.text, k.known = ended.text, true
		}
	}
	t.clusters.Set(service, cluster, k)
	return ended, k.failures, o.Err
}

// adopt records that a cluster runs the configuration in text although this process did not send it.
func (t *tracker) adopt(service, cluster types.UID, text string) {
	t.change(service, cluster, func(k *tracked) { k.text, k.known = text, true })
}

// keep drops the state of a service's other clusters and returns their UIDs.
func (t *tracker) keep(service types.UID, clusters map[types.UID]bool) (gone []types.UID) {
	for cluster, k := range t.clusters.All(service) {
		if clusters[cluster] {
			continue
		}
		t.serves.Unobserve(cluster, string(service))
		t.metrics.Unobserve(cluster, string(service))
		t.serves.Forget(cluster, commandDeploy)
		if k.probed != nil {
			t.probes.Unobserve(*k.probed, string(cluster))
		}
		t.clusters.Delete(service, cluster)
		gone = append(gone, cluster)
	}
	return gone
}

// forget drops all state of a RayService.
func (t *tracker) forget(service types.UID) { t.keep(service, nil) }

// Start implements manager.Runnable: it runs the pollers.
func (t *tracker) Start(ctx context.Context) error {
	var all errgroup.Group
	all.Go(func() error { return t.serves.Start(ctx) })
	all.Go(func() error { return t.probes.Start(ctx) })
	all.Go(func() error { return t.metrics.Start(ctx) })
	return all.Wait()
}
