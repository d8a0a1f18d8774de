package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	// servicesIdleFor is the time for measuring idle services, and servicesBusyFor that for services whose applications are being deployed.
	servicesIdleFor = time.Minute
	servicesBusyFor = 40 * time.Second
	// buildTime is the build time of the applications of busy services; it exceeds servicesBusyFor.
	buildTime = "120s"
	// whileChanging and whenSteady are the least times between two questions to the dashboards of a service while something changes, and in the steady state.
	whileChanging, whenSteady = 2 * time.Second, 10 * time.Second
)

// questions counts the requests for the state of Serve, by RayService.
type questions struct {
	mu     sync.Mutex
	counts map[string]int
}

// note counts a request of the operator.
func (q *questions) note(r *http.Request) {
	service := questioned(r)
	if service == "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counts == nil {
		q.counts = map[string]int{}
	}
	q.counts[service]++
}

// questioned is the RayService whose Serve state a request reads; empty for other requests.
func questioned(r *http.Request) string {
	_, rest, isService := strings.Cut(r.URL.Path, "/services/")
	head, path, isProxy := strings.Cut(rest, "/proxy")
	cluster, _, isHead := strings.Cut(head, "-head-svc:")
	if r.Method != http.MethodGet || !isService || !isProxy || !isHead || path != "/api/serve/applications/" {
		return ""
	}
	return cluster[:max(0, strings.LastIndexByte(cluster, '-'))] // a cluster is called as its service, and five letters
}

func (q *questions) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counts = nil
}

// most is the largest number of requests to one service, per two seconds of the time since the reset.
func (q *questions) most(d time.Duration) float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	most := 0
	for _, n := range q.counts {
		most = max(most, n)
	}
	return float64(most) / d.Seconds() * whileChanging.Seconds()
}

// idleServices makes services, lets all of them deploy for some time, and then measures the cost of idle ones.
func (s *session) idleServices(ctx context.Context, namespace string, proxy *countingProxy, q *questions) error {
	var list []*rayv1.RayService
	var objects []client.Object
	for i := range s.opts.Services {
		rs := benchService(namespace, fmt.Sprintf("idle-%d", i), 1)
		list, objects = append(list, rs), append(objects, rs)
	}
	seconds, err := s.createAndWait(ctx, objects, func() error { return s.allServing(ctx, list) })
	if err != nil {
		return err
	}
	s.logf("%d RayServices are ready after %.1f s", len(list), seconds)

	if err := s.configure(ctx, list, benchConfig(1, buildTime)); err != nil {
		return err
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	q.reset()
	if err := pause(ctx, servicesBusyFor); err != nil {
		return err
	}
	busy := q.most(servicesBusyFor)
	if err := s.configure(ctx, list, benchConfig(1, "")); err != nil { // applications that were built before are not built again
		return err
	}
	if err := s.allServing(ctx, list); err != nil {
		return err
	}
	if err := pause(ctx, 2*eventsSettle); err != nil {
		return err
	}
	proxy.reset()
	q.reset()
	if err := pause(ctx, servicesIdleFor); err != nil {
		return err
	}
	s.reportIdleServices(seconds, busy, q.most(servicesIdleFor)*whenSteady.Seconds()/whileChanging.Seconds(), proxy.reset())
	return nil
}

// configure gives all services a configuration.
func (s *session) configure(ctx context.Context, list []*rayv1.RayService, config string) error {
	for _, rs := range list {
		if err := s.edit(ctx, rs, func(spec *rayv1.RayServiceSpec) { spec.ServeConfigV2 = config }); err != nil {
			return err
		}
	}
	return nil
}

// allServing waits until all services are ready, and all their applications run.
func (s *session) allServing(ctx context.Context, list []*rayv1.RayService) error {
	for _, rs := range list {
		err := s.serviceIs(ctx, rs, "ready", func(rs *rayv1.RayService) bool {
			return serving(rs) && rs.Status.ActiveServiceStatus.Applications[shop].Status == rayv1.ApplicationRunning
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) reportIdleServices(seconds, busy, steady float64, counts map[request]int) {
	writes, probes, others := 0, 0, 0
	for q, n := range counts {
		switch {
		case strings.HasSuffix(q.resource, "/proxy") && q.verb != "get":
			s.logf("%d times %s %s", n, q.verb, q.resource)
			writes += n // a configuration
		case q.resource == "services/proxy", q.verb == "watch":
		case q.resource == "pods/proxy":
			probes += n
		case q.isWrite():
			s.logf("%d times %s %s", n, q.verb, q.resource)
			writes += n
		default:
			s.logf("%d times %s %s", n, q.verb, q.resource)
			others += n
		}
	}
	one := func(v float64) []float64 { return []float64{v} }
	all := fmt.Sprintf("%d RayServices", s.opts.Services)
	s.add(all+" at once until ready", "s", one(seconds), nil, nil)
	s.add(all+" that deploy: questions to the dashboards of one in 2 s, at most", "", one(busy), nil, atMost(1))
	s.add(all+", idle: questions to the dashboard of one in 10 s, at most", "", one(steady), nil, atMost(1))
	s.add(all+", idle: API writes and configurations for Ray in a minute", "", one(float64(writes)), nil, atMost(0))
	s.add("  API reads besides watches", "", one(float64(others)), nil, nil)
	s.add("  health checks of proxies on heads", "", one(float64(probes)), nil, nil)
}
