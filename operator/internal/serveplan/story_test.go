package serveplan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
)

// story is a service and all around it, without an API server. Whatever is asked for happens a moment later.
type story struct {
	t        *testing.T
	rs       *rayv1.RayService
	now      time.Time
	gates    Gates
	clusters map[string]*made
	head     string // the Services lead there
	serve    string
	weights  map[string]int32
	settles  time.Time // when the Gateway has accepted the HTTPRoute
	missing  bool
	left     bool   // a Gateway was made and is not deleted
	sticky   bool   // it cannot be deleted
	refused  string // why the Gateway does not accept the route
	invalid  string // the rule that the spec breaks
	next     int
	asks     *Measurement // to Prometheus
	away     string       // why Prometheus does not answer
	crashes  bool         // before the status is saved
	log      []string
	plans    int
}

// made is a cluster that was made.
type made struct {
	rc       *rayv1.RayCluster
	born     time.Time
	text     string // deployed
	known    bool
	apps     map[string]rayv1.AppStatus
	capacity int32
	at       time.Time          // of the last deployment
	first    time.Time          // of the first one
	broken   string             // state that its applications stay in
	dead     bool               // no Pod, no dashboard
	values   map[string]float64 // in Prometheus
	waits    bool               // for a node
	lame     bool               // a dashboard, but no Pod that takes requests
	after    time.Time
}

const config1, config2 = "applications: [{name: shop, import_path: 'a:b'}]", "applications: [{name: shop, import_path: 'a:c'}]"

func newStory(t *testing.T, change func(*rayv1.RayServiceSpec)) *story {
	t.Helper()
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", Generation: 1, UID: "u"}}
	rs.Spec = rayv1.RayServiceSpec{ServeConfigV2: config1, RayClusterSpec: raytest.RayCluster("x/y", raytest.Workers("cpu", 1)).Spec}
	change(&rs.Spec)
	return &story{t: t, rs: rs, now: raytest.Epoch.Time, gates: Gates{IncrementalUpgrade: true}, clusters: map[string]*made{}}
}

func inSteps(surge, step, interval int32) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) {
		s.RayClusterSpec.EnableInTreeAutoscaling = new(true)
		s.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{
			Type: new(rayv1.RayServiceNewClusterWithIncrementalUpgrade),
			ClusterUpgradeOptions: &rayv1.ClusterUpgradeOptions{
				MaxSurgePercent: &surge, StepSizePercent: &step, IntervalSeconds: &interval, GatewayClassName: "istio",
			},
		}
	}
}

func strategy(kind rayv1.RayServiceUpgradeType) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) { s.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: &kind} }
}

func (s *story) edit(do func(*rayv1.RayServiceSpec)) {
	do(&s.rs.Spec)
	s.rs.Generation++
}

func image(name string) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) { s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image = name }
}

// input is what the operator sees.
func (s *story) input() Input {
	in := Input{
		Service: s.rs, Invalid: s.invalid, Now: s.now, Strategy: StrategyOf(&s.rs.Spec, s.gates), Clusters: map[string]Cluster{},
		HeadService: s.head, ServeService: s.serve, Suffix: func() string { s.next++; return fmt.Sprint("c", s.next) },
	}
	in.Config, _ = ParseConfig(s.rs.Spec.ServeConfigV2)
	if s.head != "" {
		in.Children = 2
	}
	in.Routing = Routing{
		Missing: s.missing, Left: s.left,
		GatewayState: rayservice.GatewayState{GatewayReady: !s.missing && s.left, Addresses: []string{"10.0.0.1"}},
		RouteState:   rayservice.RouteState{RouteReady: !s.now.Before(s.settles) && s.refused == "", RouteRefused: s.refused, Weights: maps.Clone(s.weights)},
	}
	if s.left {
		in.Children++
	}
	for name, m := range s.clusters {
		up := !m.dead && s.now.Sub(m.born) >= 2*time.Second
		c := Cluster{
			Match: rayservice.Compare(&s.rs.Spec.RayClusterSpec, m.rc, "v1"), Resize: rayservice.Resized(&s.rs.Spec.RayClusterSpec, m.rc) != nil, HeadReady: up, DeleteAfter: m.after, Made: m.born,
		}
		if m.waits {
			c.Status.Conditions = []metav1.Condition{{Type: rayv1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: rayv1.ReasonUnschedulable}}
		}
		if up {
			v := Serve{AskedAt: s.now, Applications: map[string]rayv1.AppStatus{}, Capacity: m.capacity, Known: m.known, Settled: true}
			if m.known { // an operator that was restarted has sent nothing yet
				v.Text = m.text
			}
			for app := range m.apps {
				st := rayv1.ApplicationRunning
				if s.now.Sub(m.at) < 2*time.Second {
					st, v.Settled = rayv1.ApplicationDeploying, false
				}
				if m.broken != "" {
					st = m.broken
				}
				v.Applications[app] = rayv1.AppStatus{Status: st}
			}
			if len(m.apps) > 0 && !m.lame && s.now.Sub(m.first) >= 2*time.Second {
				c.Pods, c.ServingSince = 1, m.first.Add(2*time.Second)
			}
			v.Deployed = m.text == s.rs.Spec.ServeConfigV2
			c.Serve = v
		}
		if s.asks != nil && s.asks.Cluster == name {
			c.Measured = Measured{AskedAt: s.now, Values: m.values, Failure: s.away}
		}
		in.Clusters[name] = c
		if name == s.serve {
			in.Endpoints += int32(c.Pods)
		}
	}
	return in
}

func (s *story) note(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

// pass plans and carries it out.
func (s *story) pass() Plan {
	s.t.Helper()
	p := Next(s.input())
	if p.Create != "" {
		s.note("create %s", p.Create)
		s.clusters[p.Create] = &made{rc: rayservice.Cluster(s.rs, p.Create, rayservice.Options{Version: "v1", FromMinimum: p.FromMinimum}), born: s.now, capacity: 100}
	}
	if p.Update != "" {
		s.note("update %s", p.Update)
		m := s.clusters[p.Update]
		m.rc = rayservice.Updated(s.rs, m.rc, rayservice.Options{Version: "v1"})
	}
	for _, name := range p.Resize {
		s.note("resize %s", name)
		s.clusters[name].rc = rayservice.Resized(&s.rs.Spec.RayClusterSpec, s.clusters[name].rc)
	}
	for name, at := range p.Schedule {
		s.clusters[name].after = at
	}
	for _, name := range p.Delete {
		s.note("delete %s", name)
		delete(s.clusters, name)
	}
	s.left = s.left || p.Gateway && !s.missing
	// As the controller, which looks for a Gateway only where one may be.
	routed := s.rs.Status.ActiveServiceStatus.TrafficRoutedPercent != nil || StrategyOf(&s.rs.Spec, s.gates).Steps
	for _, name := range []*rayv1.RayServiceStatus{&s.rs.Status.ActiveServiceStatus, &s.rs.Status.PendingServiceStatus} {
		routed = routed || name.TargetCapacity != nil
	}
	if p.DeleteChildren {
		s.head, s.serve = "", ""
	}
	if (p.DeleteChildren || p.DeleteRouting) && routed && !s.sticky {
		if s.weights != nil && p.DeleteRouting {
			s.note("no route")
		}
		s.weights, s.left = nil, false
	}
	if p.Services != "" {
		serve := cmp.Or(p.Serve, p.Services)
		switch {
		case s.serve != serve:
			s.note("serve %s", serve)
		case s.head != p.Services:
			s.note("head %s", p.Services)
		}
		s.head, s.serve = p.Services, serve
	}
	s.route(p.Route)
	for _, d := range p.Deploy {
		s.deploy(d)
	}
	if s.asks = p.Measure; !s.crashes {
		s.rs.Status = p.Status
	}
	s.plans++
	s.now = s.now.Add(time.Second)
	return p
}

func (s *story) route(backends []Backend) {
	if backends == nil {
		return
	}
	weights := map[string]int32{}
	var text []string
	for _, b := range backends {
		weights[b.Cluster] = b.Weight
		text = append(text, fmt.Sprintf("%s=%d", b.Cluster, b.Weight))
	}
	if !maps.Equal(weights, s.weights) {
		s.note("route %s", strings.Join(text, " "))
		s.weights, s.settles = weights, s.now.Add(2*time.Second)
	}
}

func (s *story) deploy(d Deployment) {
	m := s.clusters[d.Cluster]
	what := "new"
	if d.Keep {
		what = "kept"
	} else if m.text == s.rs.Spec.ServeConfigV2 {
		what = "same"
	} else {
		m.text, m.known = s.rs.Spec.ServeConfigV2, true
	}
	m.start(m.text)
	if m.first.IsZero() {
		m.first = s.now
	}
	own, _ := ParseConfig(m.text)
	m.at, m.capacity = s.now, ptr.Deref(d.Capacity, own.Capacity())
	s.note("deploy %s %s %d", d.Cluster, what, m.capacity)
}

// start makes the applications of a configuration.
func (m *made) start(text string) {
	c, _ := ParseConfig(text)
	m.apps = map[string]rayv1.AppStatus{}
	for name := range c.applications {
		m.apps[name] = rayv1.AppStatus{}
	}
}

// forget is a new head without fault tolerance, whose operator knows what it sent, or does not.
func (m *made) forget(known bool) { m.apps, m.capacity, m.known = nil, 0, known }

func (s *story) is(kind string) bool { return meta.IsStatusConditionTrue(s.rs.Status.Conditions, kind) }

// until plays on until something is so.
func (s *story) until(what string, ok func() bool) {
	s.t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		s.pass()
	}
	s.t.Fatalf("never %s:\n%s\n%+v", what, strings.Join(s.log, "\n"), s.rs.Status)
}

// settled is a service that is ready, without an upgrade and with one cluster.
func (s *story) settled() bool {
	return s.is(rayv1.RayServiceReady) && s.rs.Status.PendingServiceStatus.RayClusterName == "" && len(s.clusters) == 1
}

func (s *story) expect(want ...string) {
	s.t.Helper()
	if diff := gocmp.Diff(want, s.log); diff != "" {
		s.t.Errorf("what happened (-want +got):\n%s", diff)
	}
	s.log = nil
}

func TestFirstStart(t *testing.T) {
	s := newStory(t, func(*rayv1.RayServiceSpec) {})
	p := s.pass()
	st := s.rs.Status
	if st.PendingServiceStatus.RayClusterName != "demo-c1" || len(s.log) != 0 || len(st.Conditions) != 2 || p.After == 0 {
		t.Errorf("the first pass names a cluster and makes nothing: %+v, %v", st, s.log)
	}
	for i, c := range st.Conditions {
		if c.Type != []string{"Ready", "UpgradeInProgress"}[i] || c.Status != metav1.ConditionFalse || c.Reason != "Initializing" {
			t.Errorf("condition %+v", c)
		}
	}
	s.until("ready", s.settled)
	s.expect("create demo-c1", "deploy demo-c1 new 100", "serve demo-c1")
	if s.rs.Status.ServiceStatus != rayv1.ServiceRunning || s.rs.Status.NumServeEndpoints != 1 {
		t.Errorf("status %+v", s.rs.Status)
	}
	before := s.rs.Status
	for range 100 {
		if p := s.pass(); Differs(&before, &p.Status) || !p.Steady {
			t.Fatalf("steady %t, status (-before +after):\n%s", p.Steady, gocmp.Diff(before, p.Status))
		}
	}
	s.expect()
}

func TestEdits(t *testing.T) {
	appended := func(s *rayv1.RayServiceSpec) {
		g := *s.RayClusterSpec.WorkerGroupSpecs[0].DeepCopy()
		g.GroupName = "more"
		s.RayClusterSpec.WorkerGroupSpecs = append(s.RayClusterSpec.WorkerGroupSpecs, g)
	}
	replicas := func(s *rayv1.RayServiceSpec) { s.RayClusterSpec.WorkerGroupSpecs[0].Replicas = new(int32(7)) }
	config := func(s *rayv1.RayServiceSpec) { s.ServeConfigV2 = config2 }
	both := func(s *rayv1.RayServiceSpec) { image("b")(s); config(s) }
	always := func(*rayv1.RayServiceSpec) {}
	cases := map[string]struct {
		strategy func(*rayv1.RayServiceSpec)
		edit     func(*rayv1.RayServiceSpec)
		want     []string
	}{
		"the configuration":             {always, config, []string{"deploy demo-c1 new 100"}},
		"replicas":                      {always, replicas, []string{"resize demo-c1"}},
		"replicas without upgrades":     {strategy(rayv1.RayServiceUpgradeNone), func(s *rayv1.RayServiceSpec) { image("b")(s); replicas(s) }, []string{"resize demo-c1"}},
		"replicas and the image":        {always, func(s *rayv1.RayServiceSpec) { image("b")(s); replicas(s) }, []string{"create demo-c2", "deploy demo-c2 new 100", "serve demo-c2", "delete demo-c1"}},
		"a group at the end":            {always, appended, []string{"update demo-c1"}},
		"the image":                     {always, image("b"), []string{"create demo-c2", "deploy demo-c2 new 100", "serve demo-c2", "delete demo-c1"}},
		"a group goes":                  {always, func(s *rayv1.RayServiceSpec) { s.RayClusterSpec.WorkerGroupSpecs = nil }, []string{"create demo-c2", "deploy demo-c2 new 100", "serve demo-c2", "delete demo-c1"}},
		"the image without upgrades":    {strategy(rayv1.RayServiceUpgradeNone), image("b"), nil},
		"both without upgrades":         {strategy(rayv1.RayServiceUpgradeNone), both, []string{"deploy demo-c1 new 100"}},
		"a group without upgrades":      {strategy(rayv1.RayServiceUpgradeNone), appended, []string{"update demo-c1"}},
		"the configuration with steps":  {inSteps(50, 25, 5), config, []string{"deploy demo-c1 new 100"}},
		"a group at the end with steps": {inSteps(50, 25, 5), appended, []string{"update demo-c1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, tc.strategy)
			s.until("ready", s.settled)
			for range 20 { // until the route is there
				s.pass()
			}
			s.log = nil
			s.edit(tc.edit)
			for range 120 {
				s.pass()
			}
			if !s.settled() {
				t.Errorf("not settled: %+v", s.rs.Status)
			}
			if diff := gocmp.Diff(tc.want, s.log); diff != "" {
				t.Errorf("what happened (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDelay deletes an old cluster in time, and not before.
func TestDelay(t *testing.T) {
	for seconds, name := range map[int32]string{0: "none", 10: "ten seconds", -1: "a minute by default"} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, func(spec *rayv1.RayServiceSpec) {
				if seconds >= 0 {
					spec.RayClusterDeletionDelaySeconds = &seconds
				}
			})
			s.until("ready", s.settled)
			s.edit(image("b"))
			s.until("switched", func() bool { return s.serve == "demo-c2" })
			switched := s.now
			s.until("deleted", func() bool { return len(s.clusters) == 1 })
			want := time.Duration(seconds) * time.Second
			if seconds < 0 {
				want = time.Minute
			}
			if d := s.now.Sub(switched); d < want || d > want+5*time.Second {
				t.Errorf("deleted after %s, want %s", d, want)
			}
		})
	}
}

// TestUpgradeInSteps is the trace of the two shares, with what Ray and the Gateway are asked for.
func TestUpgradeInSteps(t *testing.T) {
	s := newStory(t, inSteps(50, 25, 5))
	s.until("ready", s.settled)
	s.expect("create demo-c1", "deploy demo-c1 new 100", "serve demo-c1", "route demo-c1=100")
	s.edit(func(spec *rayv1.RayServiceSpec) { image("b")(spec); spec.ServeConfigV2 = config2 })
	var last int32
	var shifted time.Time
	s.until("upgraded", func() bool {
		st := s.rs.Status
		if m := s.clusters[s.serve]; m.capacity == 0 {
			t.Error("clients of the serve Service meet a cluster without capacity")
		}
		if tr := st.PendingServiceStatus.TrafficRoutedPercent; tr != nil {
			if *tr > last && last > 0 && s.now.Sub(shifted) < 5*time.Second {
				t.Errorf("from %d to %d after %s", last, *tr, s.now.Sub(shifted))
			}
			if *tr != last {
				last, shifted = *tr, s.now
			}
			if *tr+*st.ActiveServiceStatus.TrafficRoutedPercent != 100 {
				t.Errorf("shares %d and %d", *tr, *st.ActiveServiceStatus.TrafficRoutedPercent)
			}
		}
		return s.settled() && st.ActiveServiceStatus.RayClusterName == "demo-c2"
	})
	s.expect("create demo-c2", "route demo-c1=100 demo-c2=0", "deploy demo-c2 new 0", "deploy demo-c2 same 50",
		"route demo-c1=75 demo-c2=25", "route demo-c1=50 demo-c2=50", "deploy demo-c1 kept 50", "deploy demo-c2 same 100",
		"route demo-c1=25 demo-c2=75", "route demo-c1=0 demo-c2=100", "serve demo-c2", "deploy demo-c1 kept 0", "head demo-c2", "route demo-c2=100", "delete demo-c1")
	if a := s.rs.Status.ActiveServiceStatus; *a.TargetCapacity != 100 || *a.TrafficRoutedPercent != 100 || s.is(rayv1.RayServiceRollbackInProgress) {
		t.Errorf("active %+v", a)
	}
}

// TestRollbackFromAnywhere goes back to the first spec, or on to a third, at every moment of an upgrade, and once back to the second.
func TestRollbackFromAnywhere(t *testing.T) {
	for name, dies := range map[string]bool{"alive": false, "dead": true} {
		t.Run(name, func(t *testing.T) {
			for at := 0; at < 60; at += 3 {
				for _, third := range []string{"a", "c", "b"} {
					s := newStory(t, inSteps(50, 25, 2))
					image("a")(&s.rs.Spec)
					s.until("ready", s.settled)
					s.edit(image("b"))
					for range at {
						s.pass()
					}
					half := s.rs.Status.PendingServiceStatus.RayClusterName
					began := s.rs.Status.ActiveServiceStatus.RayClusterName == "demo-c1"
					s.edit(image("a"))
					for range 5 {
						s.pass()
					}
					if m := s.clusters[half]; dies && m != nil && third == "a" {
						m.dead = true
					}
					s.edit(image(third))
					s.until("settled", func() bool {
						return s.settled() && rayservice.Compare(&s.rs.Spec.RayClusterSpec, s.clusters[s.rs.Status.ActiveServiceStatus.RayClusterName].rc, "v1") == rayservice.Same
					})
					st := s.rs.Status
					if st.ActiveServiceStatus.RayClusterName != s.serve || s.weights[s.serve] != 100 || len(s.weights) != 1 || s.is(rayv1.RayServiceRollbackInProgress) ||
						*st.ActiveServiceStatus.TargetCapacity != 100 || s.clusters[s.serve].capacity != 100 {
						t.Fatalf("at %d to %s: %+v, weights %v", at, third, st, s.weights)
					}
					if began && third == "a" && at < 10 && st.ActiveServiceStatus.RayClusterName != "demo-c1" {
						t.Fatalf("at %d: the first cluster is gone:\n%s", at, strings.Join(s.log, "\n"))
					}
				}
			}
		})
	}
}

// TestRequestsAreServed whatever happens to clusters.
func TestRequestsAreServed(t *testing.T) {
	ready := func(kind func(*rayv1.RayServiceSpec)) *story {
		s := newStory(t, kind)
		s.until("ready", s.settled)
		s.log = nil
		return s
	}
	t.Run("no switch to a cluster without a Pod that takes requests", func(t *testing.T) {
		s := ready(strategy(rayv1.RayServiceNewCluster))
		s.edit(image("b"))
		s.until("deployed", func() bool { return slices.Contains(s.log, "deploy demo-c2 new 100") })
		in := func() Input {
			in := s.input()
			c := in.Clusters["demo-c2"]
			c.Pods, c.Serve.Applications = 0, map[string]rayv1.AppStatus{"shop": {Status: rayv1.ApplicationRunning}}
			in.Clusters["demo-c2"] = c
			return in
		}
		if p := Next(in()); p.Services != "demo-c1" {
			t.Errorf("the Services lead to %s", p.Services)
		}
		lost := in()
		old := lost.Clusters["demo-c1"]
		old.Pods = 0
		lost.Clusters["demo-c1"] = old
		if p := Next(lost); p.Services != "demo-c2" {
			t.Errorf("nothing is lost, but the Services lead to %s", p.Services)
		}
	})
	t.Run("no switch to Pods that the controllers of endpoints may not know yet", func(t *testing.T) {
		for name, kind := range map[string]func(*rayv1.RayServiceSpec){"at once": strategy(rayv1.RayServiceNewCluster), "in steps": inSteps(50, 25, 1)} {
			s := ready(kind)
			s.edit(image("b"))
			begun := func() bool { return s.input().Clusters["demo-c2"].Pods > 0 }
			s.until("taking requests", begun)
			since := s.input().Clusters["demo-c2"].ServingSince
			s.until("used", func() bool { return s.serve == "demo-c2" || s.weights["demo-c2"] > 0 })
			if d := s.now.Sub(since); d < EndpointLag {
				t.Errorf("%s: requests after %s", name, d)
			}
		}
	})
	t.Run("the old cluster goes in the middle of steps", func(t *testing.T) {
		s := ready(inSteps(50, 25, 2))
		s.edit(image("b"))
		s.until("half way", func() bool { return s.weights["demo-c2"] == 25 })
		delete(s.clusters, "demo-c1")
		s.until("upgraded", func() bool {
			return s.settled() && s.serve == "demo-c2" && s.weights["demo-c2"] == 100 && s.clusters["demo-c2"].capacity == 100
		})
	})
	t.Run("the new cluster goes in the middle of steps", func(t *testing.T) {
		s := ready(inSteps(50, 25, 2))
		s.edit(image("b"))
		s.until("half way", func() bool { return s.clusters["demo-c1"].capacity == 50 })
		delete(s.clusters, "demo-c2")
		s.until("the old one has all", func() bool { return s.weights["demo-c1"] == 100 && s.clusters["demo-c1"].capacity == 100 })
		s.until("upgraded", func() bool { return s.settled() && s.serve == "demo-c2" })
	})
	t.Run("steps are left in the middle", func(t *testing.T) {
		for at := range 30 {
			s := ready(inSteps(50, 25, 2))
			s.edit(image("b"))
			for range at {
				s.pass()
			}
			s.edit(strategy(rayv1.RayServiceNewCluster))
			s.until("upgraded", func() bool {
				if v := s.input().Clusters["demo-c2"].Serve; s.head == "demo-c2" && !v.Settled {
					t.Fatalf("at %d: the Services lead to a cluster without all replicas", at)
				}
				a := s.rs.Status.ActiveServiceStatus
				return s.settled() && s.serve == "demo-c2" && s.clusters["demo-c2"].capacity == 100 && a.TargetCapacity == nil && a.TrafficRoutedPercent == nil && s.weights == nil && !s.left
			})
		}
	})
	t.Run("the head of the old cluster starts anew in the middle of steps", func(t *testing.T) {
		for _, known := range []bool{true, false} {
			s := ready(inSteps(50, 25, 2))
			s.edit(image("b"))
			s.until("half way", func() bool { return s.clusters["demo-c1"].capacity == 50 })
			s.clusters["demo-c1"].forget(known)
			s.log = nil
			s.until("upgraded", func() bool { return s.settled() && s.serve == "demo-c2" && s.weights["demo-c2"] == 100 })
			if kept := slices.ContainsFunc(s.log, func(line string) bool { return line == "deploy demo-c1 kept 50" }); kept != known {
				t.Errorf("known %t:\n%s", known, strings.Join(s.log, "\n"))
			}
		}
	})
	t.Run("the old cluster dies in the middle of steps", func(t *testing.T) {
		for _, third := range []string{"b", "c"} {
			s := ready(inSteps(50, 25, 2))
			s.edit(image("b"))
			s.until("half way", func() bool { return s.weights["demo-c2"] == 25 })
			s.clusters["demo-c1"].dead = true
			s.until("the new one has all", func() bool { return s.weights["demo-c2"] == 100 })
			s.edit(image(third))
			s.until("upgraded", func() bool { return s.settled() && s.weights[s.serve] == 100 && s.clusters["demo-c1"] == nil })
		}
	})
	t.Run("a rollback from a cluster that never serves", func(t *testing.T) {
		s := ready(inSteps(50, 25, 2))
		s.edit(image("b"))
		s.until("made", func() bool { return s.clusters["demo-c2"] != nil })
		s.clusters["demo-c2"].lame = true
		s.until("deployed", func() bool { return slices.Contains(s.log, "deploy demo-c2 new 0") })
		for range 5 {
			s.pass()
		}
		s.edit(image("ray"))
		s.rs.Spec.RayClusterSpec = *s.clusters["demo-c1"].rc.Spec.DeepCopy()
		s.until("back", func() bool { return s.settled() && s.serve == "demo-c1" && !s.is(rayv1.RayServiceRollbackInProgress) })
	})
	t.Run("both heads start anew during a rollback", func(t *testing.T) {
		for _, known := range []bool{true, false} {
			s := ready(inSteps(50, 25, 2))
			s.edit(image("b"))
			s.until("half way", func() bool { return s.weights["demo-c2"] == 25 })
			s.edit(image("c"))
			s.until("back", func() bool { return s.is(rayv1.RayServiceRollbackInProgress) })
			s.clusters["demo-c1"].forget(known)
			s.clusters["demo-c2"].forget(known)
			s.until("upgraded", func() bool { return s.settled() && s.serve == "demo-c3" && s.weights["demo-c3"] == 100 })
		}
	})
	t.Run("the head in use starts anew while another cluster comes up", func(t *testing.T) {
		for name, spoil := range map[string]func(*story){
			"an upgrade":      func(s *story) { s.edit(image("b")) },
			"an invalid spec": func(s *story) { s.invalid = "a rule is broken" },
		} {
			s := ready(strategy(rayv1.RayServiceNewCluster))
			spoil(s)
			s.pass()
			s.clusters["demo-c1"].forget(true)
			s.log = nil
			s.pass()
			if !slices.Contains(s.log, "deploy demo-c1 kept 100") {
				t.Errorf("%s: %v", name, s.log)
			}
		}
	})
	t.Run("the Gateway API is missing", func(t *testing.T) {
		s := ready(inSteps(50, 25, 2))
		s.missing = true
		s.edit(image("b"))
		for range 30 {
			s.pass()
		}
		c := meta.FindStatusCondition(s.rs.Status.Conditions, rayv1.RayServiceStalled)
		if c == nil || c.Reason != rayv1.ReasonGatewayAPIMissing || s.serve != "demo-c1" {
			t.Errorf("condition %+v", c)
		}
	})
}

func TestSuspension(t *testing.T) {
	s := newStory(t, func(*rayv1.RayServiceSpec) {})
	s.until("ready", s.settled)
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = true })
	s.pass()
	if st := s.rs.Status; !s.is(rayv1.RayServiceSuspending) || st.ActiveServiceStatus.RayClusterName != "" || len(s.clusters) != 1 {
		t.Errorf("nothing is deleted before the status says so: %+v", st)
	}
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = false }) // too late
	s.until("suspended", func() bool { return s.is(rayv1.RayServiceSuspended) })
	if len(s.clusters) != 0 || s.head != "" || s.is(rayv1.RayServiceSuspending) {
		t.Errorf("left are %v", s.clusters)
	}
	s.until("ready again", s.settled)
	if s.serve != "demo-c2" || s.is(rayv1.RayServiceSuspended) {
		t.Errorf("status %+v", s.rs.Status)
	}
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = true })
	s.until("suspended", func() bool { return s.is(rayv1.RayServiceSuspended) })
	if p := s.pass(); p.After != 0 || len(p.Watch)+len(p.Deploy) > 0 {
		t.Errorf("plan of a suspended service: %+v", p)
	}
}
