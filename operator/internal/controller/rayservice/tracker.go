package rayservice

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/pkg/dashboard"
)

// Pace is how often dashboards and proxies are asked. Zero values mean the defaults.
type Pace struct {
	// Changing is the time between two questions about a cluster while something is expected to change, and Steady otherwise. Defaults
	// are 2.2 and 10.6 seconds: pauses vary by a twentieth.
	Changing, Steady time.Duration
	// Both and Other are the same for the two clusters of an upgrade: the new one, and the one that is used, so that the service as a
	// whole asks no more often. Defaults are 2.8 and 12 seconds.
	Both, Other time.Duration
	// Probe is the time between two questions about the health of a proxy. Default 2 seconds.
	Probe time.Duration
	// Retry is the time to the second attempt at a configuration that was not accepted; it doubles up to ten times that. Default 3 seconds.
	Retry time.Duration
}

func (p Pace) orDefault() Pace {
	for _, d := range []struct {
		value     *time.Duration
		byDefault time.Duration
	}{
		{&p.Changing, 2200 * time.Millisecond}, {&p.Steady, 10600 * time.Millisecond}, {&p.Both, 2800 * time.Millisecond},
		{&p.Other, 12 * time.Second}, {&p.Probe, 2 * time.Second}, {&p.Retry, 3 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.byDefault
		}
	}
	return p
}

const (
	// readTimeout limits a question to a dashboard, deployTimeout the hand-over of a configuration. All leave room for the client to
	// give up first.
	readTimeout   = 7 * time.Second
	deployTimeout = 32 * time.Second
	// probeTimeout is the same for a question to a proxy.
	probeTimeout = dashboard.ProxiedProbeTimeout + time.Second
	// maxProbePause keeps a proxy that comes back from waiting for requests.
	maxProbePause = 4 * time.Second
	maxReadPause  = 10 * time.Second
)

// probed is a proxy on a head. Another Pod of the same cluster inherits no answers.
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

// tracker asks Ray Serve on the clusters of RayServices, in the background, and hands configurations to it.
type tracker struct {
	dashboards *dashboards.Dashboards
	probe      dashboards.Probe
	serves     *poll.Poller[types.UID, *dashboard.ServeDetails]
	probes     *poll.Poller[probed, bool]
	clock      clock.PassiveClock
	pace       Pace
	wake       func(types.NamespacedName)

	mu       sync.Mutex // never held while a poller is called
	services map[types.UID]map[types.UID]*tracked
}

// tracked is what is known of a cluster of a service.
type tracked struct {
	// text is that of the last configuration which this process sent there and Ray accepted; known says that there is one.
	text  string
	known bool
	// command is the configuration that is under way, and outcome what became of it.
	command *deployment
	// doneAt is when the last one ended: answers from before say nothing about it.
	doneAt time.Time
	// failures counts those in a row that were not accepted; refused is what Ray said about the last one.
	failures int
	refused  string
	probed   *probed
	// servingSince is since when Pods of it take requests; zero while none does.
	servingSince time.Time
}

// deployment is a configuration on its way to a cluster.
type deployment struct {
	name string
	// text is that of the spec, and keep says that the cluster keeps what it has instead.
	text string
	keep bool
	// resized says that the capacity is all that changes, to percent.
	resized bool
	percent int32
}

func newTracker(c Config, wake func(types.NamespacedName)) *tracker {
	return &tracker{
		dashboards: dashboards.New(c.Connect, c.Live, c.Clock), probe: c.Probe, clock: c.Clock, pace: c.Pace, wake: wake,
		serves:   poll.New[types.UID, *dashboard.ServeDetails](poll.Options{Clock: c.Clock, MaxBackoff: maxReadPause}),
		probes:   poll.New[probed, bool](poll.Options{Clock: c.Clock, MaxBackoff: maxProbePause}),
		services: map[types.UID]map[types.UID]*tracked{},
	}
}

// with calls do with what is known of a cluster.
func (t *tracker) with(service, cluster types.UID, do func(*tracked)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.services[service] == nil {
		t.services[service] = map[types.UID]*tracked{}
	}
	k := t.services[service][cluster]
	if k == nil {
		k = &tracked{}
		t.services[service][cluster] = k
	}
	do(k)
}

// known is a copy of what is known of a cluster.
func (t *tracker) known(service, cluster types.UID) (k tracked) {
	t.with(service, cluster, func(found *tracked) { k = *found })
	return k
}

// serving notes whether Pods of a cluster take requests, and returns since when they do.
func (t *tracker) serving(service, cluster types.UID, is bool) (since time.Time) {
	t.with(service, cluster, func(k *tracked) {
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

// watch has Serve on a cluster asked from now on. It reports whether the answer has changed since the decision.
func (t *tracker) watch(rs types.NamespacedName, service, cluster types.UID, site dashboards.Site, every time.Duration, decided serveAnswer) (changed bool) {
	got := t.serves.Observe(cluster, string(service), poll.Query[*dashboard.ServeDetails]{
		Interval: every, Timeout: readTimeout, Revision: site.Revision(),
		Ask: func(ctx context.Context) (d *dashboard.ServeDetails, err error) {
			err = t.dashboards.Call(ctx, site, func(c dashboard.Client) error {
				d, err = c.ServeDetails(ctx)
				return err
			})
			return d, err
		},
	}, poll.Observer[*dashboard.ServeDetails]{Changed: serveChanged, Wake: func() { t.wake(rs) }})
	return serveChanged(decided, got)
}

// serveChanged drops answers that say nothing new.
func serveChanged(before, after serveAnswer) bool {
	return before.AskedAt.IsZero() != after.AskedAt.IsZero() || before.FailingSince.IsZero() != after.FailingSince.IsZero() ||
		!reflect.DeepEqual(before.Value, after.Value)
}

// unwatch has Serve on a cluster no longer asked. What it runs stays known.
func (t *tracker) unwatch(service, cluster types.UID) { t.serves.Unobserve(cluster, string(service)) }

// label has the proxy on a head asked from now on, and returns the last answer.
func (t *tracker) label(rs types.NamespacedName, service, cluster types.UID, p probed, pod dashboards.Pod) probeAnswer {
	var old *probed
	t.with(service, cluster, func(k *tracked) { old, k.probed = k.probed, &p })
	if old != nil && *old != p {
		t.probes.Unobserve(*old, string(cluster))
	}
	return t.probes.Observe(p, string(cluster), poll.Query[bool]{
		Interval: t.pace.Probe, Timeout: probeTimeout, Revision: p.ip,
		Ask: func(ctx context.Context) (bool, error) { return t.probe(ctx, pod) },
	}, poll.Observer[bool]{Changed: probeChanged, Wake: func() { t.wake(rs) }})
}

func probeChanged(before, after probeAnswer) bool {
	return before.AskedAt.IsZero() != after.AskedAt.IsZero() || before.Value != after.Value ||
		before.FailingSince.IsZero() != after.FailingSince.IsZero() ||
		before.FailedAt.After(before.FailingSince) != after.FailedAt.After(after.FailingSince)
}

// unlabel has a proxy no longer asked.
func (t *tracker) unlabel(service, cluster types.UID) {
	var old *probed
	t.with(service, cluster, func(k *tracked) { old, k.probed = k.probed, nil })
	if old != nil {
		t.probes.Unobserve(*old, string(cluster))
	}
}

// deploy hands a configuration to Ray, unless one is under way, or the last attempt was not long ago: then it returns how long to wait.
func (t *tracker) deploy(rs types.NamespacedName, service, cluster types.UID, site dashboards.Site, d deployment, body json.RawMessage) time.Duration {
	var wait time.Duration
	busy := false
	t.with(service, cluster, func(k *tracked) {
		if busy = k.command != nil; busy {
			return
		}
		if k.failures > 0 {
			wait = k.doneAt.Add(t.pace.Retry << min(k.failures-1, 3)).Sub(t.clock.Now())
		}
		if wait <= 0 {
			k.command = &d
		}
	})
	if busy || wait > 0 {
		return max(wait, 0)
	}
	t.serves.Do(cluster, d.name, poll.Command{Timeout: deployTimeout, Wake: func() { t.wake(rs) }, Run: func(ctx context.Context) error {
		return t.dashboards.Call(ctx, site, func(c dashboard.Client) error { return c.DeployServe(ctx, body) })
	}})
	return 0
}

// settle takes the outcome of the configuration that was under way, once; nil for none.
func (t *tracker) settle(service, cluster types.UID) (ended *deployment, failures int, failure error) {
	k := t.known(service, cluster)
	if k.command == nil {
		return nil, 0, nil
	}
	o, there := t.serves.Outcome(cluster, k.command.name)
	if there && !o.Done {
		return nil, 0, nil
	}
	t.serves.Forget(cluster, k.command.name)
	t.with(service, cluster, func(k *tracked) {
		ended, k.command = k.command, nil
		k.doneAt = o.DoneAt
		switch {
		case !there: // nobody knows
			k.doneAt = t.clock.Now()
		case o.Err != nil:
			k.failures++
			if k.refused = ""; errors.Is(o.Err, dashboard.ErrInvalid) {
				k.refused = o.Err.Error()
			}
		default:
			k.failures, k.refused = 0, ""
			if ended != nil && !ended.keep {
				k.text, k.known = ended.text, true
			}
		}
		failures = k.failures
	})
	return ended, failures, o.Err
}

// adopt notes that a cluster runs the configuration of a text although this process has not sent it.
func (t *tracker) adopt(service, cluster types.UID, text string) {
	t.with(service, cluster, func(k *tracked) {
		if !k.known {
			k.text, k.known = text, true
		}
	})
}

// keep forgets the clusters of a service but these, and returns which it has forgotten.
func (t *tracker) keep(service types.UID, clusters map[types.UID]bool) []types.UID {
	t.mu.Lock()
	gone := map[types.UID]*tracked{}
	for uid, k := range t.services[service] {
		if !clusters[uid] {
			gone[uid] = k
		}
	}
	for uid := range gone {
		delete(t.services[service], uid)
	}
	t.mu.Unlock()
	t.drop(service, gone)
	return slices.Collect(maps.Keys(gone))
}

// forget drops all about a RayService.
func (t *tracker) forget(service types.UID) {
	t.mu.Lock()
	gone := maps.Clone(t.services[service])
	delete(t.services, service)
	t.mu.Unlock()
	t.drop(service, gone)
}

func (t *tracker) drop(service types.UID, gone map[types.UID]*tracked) {
	for uid, k := range gone {
		t.serves.Unobserve(uid, string(service))
		t.serves.Remove(uid)
		if k.probed != nil {
			t.probes.Unobserve(*k.probed, string(uid))
		}
	}
}

// Start implements manager.Runnable: it runs both pollers.
func (t *tracker) Start(ctx context.Context) error {
	var both sync.WaitGroup
	var errs [2]error
	both.Go(func() { errs[0] = t.serves.Start(ctx) })
	both.Go(func() { errs[1] = t.probes.Start(ctx) })
	both.Wait()
	return errors.Join(errs[:]...)
}
