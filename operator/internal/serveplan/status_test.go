package serveplan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func (s *story) condition(kind string) metav1.Condition {
	if c := meta.FindStatusCondition(s.rs.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// TestCorrectedSpecHasAllItsTime: the time to come up does not include that in which a rule was broken.
func TestCorrectedSpecHasAllItsTime(t *testing.T) {
	s := newStory(t, func(*rayv1.RayServiceSpec) {})
	s.rs.Annotations = map[string]string{rayv1.AnnotationInitializingTimeout: "1m"}
	in := s.input()
	in.Invalid = "spec.x: is wrong"
	s.rs.Status = Next(in).Status
	s.now = s.now.Add(time.Hour)
	s.edit(func(*rayv1.RayServiceSpec) {})
	s.until("ready", s.settled)
}

// TestClientsOfTheServiceGoBackInSteps: the Service that knows nothing of the Gateway never leads to a cluster without capacity, also when an upgrade
// is taken back at its end.
func TestClientsOfTheServiceGoBackInSteps(t *testing.T) {
	s := newStory(t, inSteps(50, 25, 2))
	image("a")(&s.rs.Spec)
	s.until("ready", s.settled)
	s.edit(image("b"))
	turned := false
	s.until("done", func() bool {
		if m := s.clusters[s.serve]; m != nil && m.capacity == 0 {
			t.Fatalf("%s has no capacity:\n%s", s.serve, strings.Join(s.log, "\n"))
		}
		if m := s.clusters["demo-c1"]; !turned && m != nil && m.capacity == 0 {
			turned = true
			s.edit(image("a"))
		}
		return turned && s.settled() && s.rs.Status.ObservedGeneration == s.rs.Generation && s.head == s.serve && s.rs.Status.ActiveServiceStatus.RayClusterName == s.serve
	})
}

// TestNothingOfTheGatewayIsLeft when an upgrade strategy is left, whatever fails or happens meanwhile.
func TestNothingOfTheGatewayIsLeft(t *testing.T) {
	t.Run("what cannot be deleted is tried again", func(t *testing.T) {
		s := newStory(t, inSteps(50, 25, 2))
		s.until("routed", func() bool {
			return s.settled() && s.weights != nil && s.rs.Status.ActiveServiceStatus.TrafficRoutedPercent != nil
		})
		s.sticky = true
		s.edit(strategy(rayv1.RayServiceNewCluster))
		for range 10 {
			s.pass()
		}
		s.sticky = false
		s.until("rid of the route", func() bool { return !s.left && s.rs.Status.ActiveServiceStatus.TrafficRoutedPercent == nil })
		for range 10 {
			s.pass()
		}
		if a := s.rs.Status.ActiveServiceStatus; a.TargetCapacity != nil || s.condition(rayv1.RayServiceGatewayReady).Type != "" {
			t.Errorf("status %+v", s.rs.Status)
		}
	})
	for name, when := range map[string]int{"with the suspension": 0, "during the suspension": 1} {
		t.Run("the strategy is changed "+name, func(t *testing.T) {
			s := newStory(t, inSteps(50, 25, 2))
			s.until("routed", func() bool { return s.settled() && s.weights != nil })
			s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = true })
			for range when {
				s.pass()
			}
			s.edit(strategy(rayv1.RayServiceNewCluster))
			s.until("suspended", func() bool { return s.is(rayv1.RayServiceSuspended) })
			if a := s.rs.Status.ActiveServiceStatus; s.left || a.TrafficRoutedPercent != nil {
				t.Errorf("left is a Gateway %t, status %+v", s.left, a)
			}
		})
	}
}

// TestCapacityOfTheUserIsNoEndlessDeployment: a service that leaves the steps keeps the target_capacity of its configuration.
func TestCapacityOfTheUserIsNoEndlessDeployment(t *testing.T) {
	s := newStory(t, inSteps(50, 25, 2))
	s.rs.Spec.ServeConfigV2 = "{applications: [{name: shop, import_path: 'a:b'}], target_capacity: 40}"
	s.until("ready", s.settled)
	s.edit(strategy(rayv1.RayServiceNewCluster))
	s.log = nil
	for range 60 {
		s.pass()
	}
	if n := strings.Count(strings.Join(s.log, "\n"), "deploy"); n != 1 || s.clusters["demo-c1"].capacity != 40 || s.rs.Status.ActiveServiceStatus.TargetCapacity != nil {
		t.Errorf("%d deployments, capacity %d:\n%s", n, s.clusters["demo-c1"].capacity, strings.Join(s.log, "\n"))
	}
}

// TestGatewayReady says where requests enter, and does not flap while each step is accepted.
func TestGatewayReady(t *testing.T) {
	s := newStory(t, inSteps(50, 25, 2))
	s.pass()
	s.pass()
	if c := s.condition(rayv1.RayServiceGatewayReady); c.Status != metav1.ConditionFalse {
		t.Errorf("before there is a route: %+v", c)
	}
	s.until("routed", func() bool { return s.settled() && s.is(rayv1.RayServiceGatewayReady) })
	if c := s.condition(rayv1.RayServiceGatewayReady); c.Reason != rayv1.ReasonRouted || !strings.Contains(c.Message, "10.0.0.1") {
		t.Errorf("condition %+v", c)
	}
	s.edit(image("b"))
	s.until("upgraded", func() bool {
		if !s.is(rayv1.RayServiceGatewayReady) {
			t.Fatalf("the condition flaps: %+v", s.condition(rayv1.RayServiceGatewayReady))
		}
		return s.settled() && s.serve == "demo-c2"
	})
	s.refused = "ResolvedRefs is False (BackendNotFound)"
	s.until("refused", func() bool {
		c := s.condition(rayv1.RayServiceGatewayReady)
		return c.Reason == rayv1.ReasonHTTPRouteNotAccepted && strings.Contains(c.Message, s.refused)
	})
	s.missing = true
	s.until("without the kinds", func() bool {
		return s.condition(rayv1.RayServiceGatewayReady).Reason == rayv1.ReasonGatewayAPIMissing
	})
}

// TestProgressDeadline reports an overdue wait once, and removes the report when the service makes progress.
func TestProgressDeadline(t *testing.T) {
	long := ProgressDeadline + time.Minute
	overdue := func(s *story) (told int) {
		for range 3 {
			if p := s.pass(); p.Overdue != "" {
				told++
			}
		}
		return told
	}
	stalled := func(s *story) bool {
		return s.condition(rayv1.RayServiceStalled).Reason == rayv1.ReasonProgressDeadlineExceeded
	}
	t.Run("the first cluster", func(t *testing.T) {
		s := newStory(t, func(*rayv1.RayServiceSpec) {})
		s.pass()
		s.pass()
		s.clusters["demo-c1"].dead = true
		if p := s.pass(); p.After == 0 || p.After > ProgressDeadline {
			t.Errorf("looked at again after %s", p.After)
		}
		s.now = s.now.Add(long)
		if n := overdue(s); n != 1 || !stalled(s) || !strings.HasPrefix(s.condition(rayv1.RayServiceStalled).Message, "no step since 2026-01-01T00:00:0") ||
			!strings.Contains(s.condition(rayv1.RayServiceStalled).Message, "the head of cluster demo-c1 is not ready") {
			t.Errorf("told %d times: %+v", n, s.condition(rayv1.RayServiceStalled))
		}
		s.clusters["demo-c1"].dead = false
		s.until("ready", s.settled)
		if s.is(rayv1.RayServiceStalled) {
			t.Error("still stalled")
		}
	})
	t.Run("a cluster that waits for a node", func(t *testing.T) {
		s := newStory(t, func(*rayv1.RayServiceSpec) {})
		s.pass()
		s.pass()
		s.clusters["demo-c1"].dead, s.clusters["demo-c1"].waits = true, true
		s.now = s.now.Add(long)
		if n := overdue(s); n != 0 || stalled(s) {
			t.Errorf("told %d times: %+v", n, s.condition(rayv1.RayServiceStalled))
		}
		s.clusters["demo-c1"].waits = false
		if n := overdue(s); n != 1 || !stalled(s) {
			t.Errorf("told %d times: %+v", n, s.condition(rayv1.RayServiceStalled))
		}
	})
	t.Run("a new cluster", func(t *testing.T) {
		s := newStory(t, func(*rayv1.RayServiceSpec) {})
		s.until("ready", s.settled)
		s.edit(image("b"))
		s.pass()
		s.pass()
		s.clusters["demo-c2"].dead = true
		s.now = s.now.Add(long)
		if n := overdue(s); n != 1 || !stalled(s) || s.serve != "demo-c1" {
			t.Errorf("told %d times: %+v", n, s.condition(rayv1.RayServiceStalled))
		}
		s.edit(image("c")) // another attempt has its own time
		for range 3 {
			if s.pass(); stalled(s) {
				t.Errorf("condition %+v", s.condition(rayv1.RayServiceStalled))
			}
		}
	})
	t.Run("no endpoints", func(t *testing.T) {
		s := newStory(t, func(*rayv1.RayServiceSpec) {})
		s.until("ready", s.settled)
		s.clusters["demo-c1"].dead = true
		s.pass()
		s.now = s.now.Add(long)
		if overdue(s); !stalled(s) {
			t.Errorf("condition %+v", s.condition(rayv1.RayServiceStalled))
		}
	})
	t.Run("an upgrade in steps that moves", func(t *testing.T) {
		s := newStory(t, inSteps(100, 1, 60))
		s.until("ready", s.settled)
		s.edit(image("b"))
		s.until("upgraded", func() bool {
			if stalled(s) {
				t.Fatalf("stalled: %+v", s.condition(rayv1.RayServiceStalled))
			}
			s.now = s.now.Add(10 * time.Second)
			return s.settled() && s.serve == "demo-c2"
		})
	})
}

// TestMessagesFit: the API server refuses a status with a longer message, and texts come from Ray and from other controllers.
func TestMessagesFit(t *testing.T) {
	s := newStory(t, func(*rayv1.RayServiceSpec) {})
	in := s.input()
	in.Refusals = []string{strings.Repeat("\u00e9", 40<<10)}
	p := Next(in)
	c := meta.FindStatusCondition(p.Status.Conditions, rayv1.RayServiceStalled)
	if c == nil || len(c.Message) > 32<<10 || !strings.HasPrefix(c.Message, "\u00e9") || strings.Contains(c.Message, "\ufffd") {
		t.Errorf("condition of %d bytes", len(c.Message))
	}
}

// TestActiveApplicationsStayKnown during an upgrade, and while a dashboard does not answer: KubeRay blanks them.
func TestActiveApplicationsStayKnown(t *testing.T) {
	s := newStory(t, func(*rayv1.RayServiceSpec) {})
	s.until("ready", s.settled)
	in := s.input()
	c := in.Clusters["demo-c1"]
	c.Serve = Serve{Failure: "connection refused", FailingSince: s.now}
	in.Clusters["demo-c1"] = c
	if p := Next(in); len(p.Status.ActiveServiceStatus.Applications) != 1 {
		t.Errorf("while the dashboard is away: %+v", p.Status.ActiveServiceStatus)
	}
	s.edit(image("b"))
	s.until("upgraded", func() bool {
		if len(s.rs.Status.ActiveServiceStatus.Applications) != 1 {
			t.Fatalf("status %+v", s.rs.Status.ActiveServiceStatus)
		}
		return s.settled() && s.serve == "demo-c2"
	})
}

// TestClusterOnItsWayOutCountsAsGone: another one is made at once, and nothing is sent or led there.
func TestClusterOnItsWayOutCountsAsGone(t *testing.T) {
	for name, kind := range map[string]func(*rayv1.RayServiceSpec){"at once": strategy(rayv1.RayServiceNewCluster), "in steps": inSteps(50, 25, 2), "none": strategy(rayv1.RayServiceUpgradeNone)} {
		s := newStory(t, kind)
		s.until("ready", s.settled)
		in := s.input()
		c := in.Clusters["demo-c1"]
		c.Deleting = true
		in.Clusters["demo-c1"] = c
		if p := Next(in); p.Status.PendingServiceStatus.RayClusterName == "" || p.Services != "" || len(p.Deploy)+len(p.Delete) > 0 {
			t.Errorf("%s: plan %+v", name, p)
		}
	}
}

// FuzzConfig reads any text as a configuration: no panic, what is sent is JSON, and what is deployed is recognized.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		config1, config2, "", "{}", "[]", "a: &a [*a]", "x: &x [1,2]\ny: [*x,*x,*x]", "applications: [{name: a, args: {n: 1e400}}]", "target_capacity: .inf", "target_capacity: 1e3",
		"applications: [null, 1, {name: 7}, {name: a}, {name: a}]", "? [a]\n: b", "\"\\ud800\": 1", "!!binary x: y", "applications: {a: b}", "{a: 1}\n---\n{b: 2}", "\xff",
	} {
		f.Add(text, int32(50))
	}
	f.Fuzz(func(t *testing.T, text string, percent int32) {
		c, err := ParseConfig(text)
		if n := c.Capacity(); n < 0 || n > 100 {
			t.Errorf("capacity %d", n)
		}
		if err != nil {
			return
		}
		for _, capacity := range []*int32{nil, &percent} {
			body := c.Body(capacity)
			again, err := ParseConfig(string(body))
			if err != nil {
				t.Fatalf("what is sent is no configuration: %v\n%s", err, body)
			}
			if string(again.Body(capacity)) != string(body) {
				t.Errorf("%s becomes %s", body, again.Body(capacity))
			}
			if capacity != nil && percent >= 0 && percent <= 100 && again.Capacity() != percent {
				t.Errorf("capacity %d becomes %d", percent, again.Capacity())
			}
		}
		deployed := map[string]json.RawMessage{}
		for name, app := range c.applications {
			if deployed[name], err = json.Marshal(app); err != nil {
				t.Fatal(err)
			}
		}
		if kept := DeployedConfig(deployed, nil, nil, nil); len(kept.applications) != len(c.applications) {
			t.Errorf("%d of %d applications are kept", len(kept.applications), len(c.applications))
		}
		c.top = map[string]json.RawMessage{keyApplications: c.top[keyApplications]}
		if !c.Empty() && !c.Runs(deployed) {
			t.Errorf("what is deployed is not recognized: %s", text)
		}
	})
}
