package serveplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func (s *story) annotate(key, value string) {
	if s.rs.Annotations == nil {
		s.rs.Annotations = map[string]string{}
	}
	s.rs.Annotations[key] = value
}

func (s *story) passes(n int) {
	for range n {
		s.pass()
	}
}

// controlled are the strategies with two clusters.
var controlled = map[string]func(*rayv1.RayServiceSpec){"steps": inSteps(50, 25, 2), "switch": strategy(rayv1.RayServiceNewCluster)}

// upgraded is a service some passes after an edit of image and configuration.
func upgraded(t *testing.T, strategy func(*rayv1.RayServiceSpec), passes int, annotations ...string) *story {
	t.Helper()
	s := newStory(t, strategy)
	image("a")(&s.rs.Spec)
	s.until("ready", s.settled)
	for pair := range slices.Chunk(annotations, 2) {
		s.annotate(pair[0], pair[1])
	}
	s.edit(func(spec *rayv1.RayServiceSpec) { image("b")(spec); spec.ServeConfigV2 = config2 })
	s.passes(passes)
	s.log = nil
	return s
}

func (s *story) activeName() string  { return s.rs.Status.ActiveServiceStatus.RayClusterName }
func (s *story) pendingName() string { return s.rs.Status.PendingServiceStatus.RayClusterName }

// targets are where requests go, and the clusters in use.
func (s *story) targets() string {
	weights := maps.Clone(s.weights)
	maps.DeleteFunc(weights, func(_ string, weight int32) bool { return weight == 0 })
	return fmt.Sprint(s.head, s.serve, weights, s.activeName(), s.pendingName())
}

// TestPauseHolds pauses at every moment of an upgrade and of a rollback, for longer than any deadline.
func TestPauseHolds(t *testing.T) {
	for name, strategy := range controlled {
		for at := 0; at < 36; at += 4 {
			for _, back := range []bool{false, true} {
				s := upgraded(t, strategy, at)
				if back && s.pendingName() != "" {
					s.edit(func(spec *rayv1.RayServiceSpec) { image("a")(spec); spec.ServeConfigV2 = config1 })
					s.passes(1)
				}
				if name == "switch" && s.serve == s.pendingName() {
					continue // a switch that has begun completes
				}
				s.annotate(rayv1.AnnotationUpgradePaused, "true")
				before := s.targets()
				upgrades := s.pendingName() != "" || at == 0
				for range 50 {
					s.pass()
					if got := s.targets(); got != before {
						t.Fatalf("%s, paused after %d passes, back %t: %s became %s:\n%s", name, at, back, before, got, strings.Join(s.log, "\n"))
					}
				}
				if s.is(rayv1.RayServiceUpgradePaused) != upgrades || s.is(rayv1.RayServiceStalled) || !s.is(rayv1.RayServiceReady) || at == 0 && s.clusters["demo-c1"].text != config1 {
					t.Errorf("%s, paused after %d passes: %+v", name, at, s.rs.Status.Conditions)
				}
				s.now = s.now.Add(2 * ProgressDeadline)
				s.passes(1)
				delete(s.rs.Annotations, rayv1.AnnotationUpgradePaused)
				s.passes(1)
				if s.is(rayv1.RayServiceStalled) {
					t.Errorf("%s: stalled by a pause after %d passes", name, at)
				}
				s.until("settled", s.settled)
				if got := s.clusters[s.serve].rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Image; got != s.rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image {
					t.Errorf("%s: %s runs after a pause after %d passes", name, got, at)
				}
			}
		}
	}
}

// TestPauseKeepsRequestsServed: only a cluster that serves nothing loses its traffic, and a lost cluster is replaced.
func TestPauseKeepsRequestsServed(t *testing.T) {
	for _, dead := range []string{"demo-c1", "demo-c2"} {
		s := upgraded(t, inSteps(50, 25, 2), 0)
		s.until("half", func() bool { return s.weights["demo-c2"] == 50 })
		s.annotate(rayv1.AnnotationUpgradePaused, "true")
		s.clusters[dead].dead = true
		s.passes(20)
		other := map[string]string{"demo-c1": "demo-c2", "demo-c2": "demo-c1"}[dead]
		if s.weights[other] != 100 || s.clusters[other].capacity != 100 || s.activeName() != "demo-c1" || s.pendingName() != "demo-c2" {
			t.Errorf("without %s: weights %v, %s active, %s pending", dead, s.weights, s.activeName(), s.pendingName())
		}
	}
	s := upgraded(t, strategy(rayv1.RayServiceNewCluster), 0, rayv1.AnnotationUpgradePaused, "true")
	delete(s.clusters, "demo-c1")
	s.until("replaced", func() bool { return s.settled() && s.activeName() == "demo-c2" })
}

func TestCanary(t *testing.T) {
	s := upgraded(t, inSteps(50, 25, 2), 40, rayv1.AnnotationCanaryWeight, "10", rayv1.AnnotationCanaryConfirmed, "demo-c1")
	s.log = nil
	s.now = s.now.Add(2 * ProgressDeadline)
	s.passes(10)
	s.expect()
	c := s.condition(rayv1.RayServiceUpgradePaused)
	if s.weights["demo-c2"] != 10 || s.clusters["demo-c2"].capacity != 10 || s.clusters["demo-c1"].capacity != 100 || s.is(rayv1.RayServiceStalled) ||
		c.Reason != rayv1.ReasonCanaryNotConfirmed || !strings.Contains(c.Message, "demo-c2 gets 10 percent") {
		t.Errorf("weights %v, condition %+v", s.weights, c)
	}
	s.annotate(rayv1.AnnotationCanaryConfirmed, "demo-c2")
	s.until("upgraded", func() bool { return s.settled() && s.activeName() == "demo-c2" })
	if s.log[1] != "deploy demo-c2 same 60" || s.condition(rayv1.RayServiceUpgradePaused).Type != "" {
		t.Errorf("log %v, conditions %+v", s.log, s.rs.Status.Conditions)
	}
	s.edit(image("c"))
	s.until("held again", func() bool { return s.is(rayv1.RayServiceUpgradePaused) && s.weights["demo-c3"] == 10 })

	s = upgraded(t, inSteps(50, 25, 2), 40, rayv1.AnnotationCanaryWeight, "ten")
	if s.weights["demo-c2"] != 0 || s.pendingName() != "demo-c2" || !s.is(rayv1.RayServiceUpgradePaused) {
		t.Errorf("a weight that is not understood moves traffic: %v", s.weights)
	}
}

// TestAbort aborts at every moment of an upgrade, also during a pause: the first cluster runs as before, until the spec changes.
func TestAbort(t *testing.T) {
	for name, strategy := range controlled {
		for at := 1; at < 36; at += 3 {
			s := upgraded(t, strategy, at)
			pending := s.pendingName()
			if pending == "" || s.serve == pending && name == "switch" {
				continue
			}
			if at%2 == 0 {
				s.annotate(rayv1.AnnotationUpgradePaused, "true")
			}
			s.annotate(rayv1.AnnotationUpgradeAbort, pending)
			aborted := 0
			for range 100 {
				if s.pass().Aborted != "" {
					aborted++
				}
			}
			c1 := s.clusters["demo-c1"]
			if !s.settled() || s.activeName() != "demo-c1" || s.serve != "demo-c1" || c1.text != config1 || c1.capacity != 100 || aborted != 1 ||
				s.is(rayv1.RayServiceRollbackInProgress) || s.condition(rayv1.RayServiceStalled).Reason != rayv1.ReasonUpgradeAborted {
				t.Fatalf("%s, aborted after %d passes, %d times: %+v\n%s", name, at, aborted, s.rs.Status, strings.Join(s.log, "\n"))
			}
			for _, known := range []bool{true, false} { // a new head after a restart of the operator gets what there is
				c1.forget(known)
				s.passes(8)
				if want := map[bool]string{true: config1, false: config2}[known]; c1.text != want || len(c1.apps) == 0 {
					t.Errorf("%s: a head that lost its configuration has %q, known %t", name, c1.text, known)
				}
			}
			delete(s.rs.Annotations, rayv1.AnnotationUpgradePaused)
			s.edit(func(spec *rayv1.RayServiceSpec) { spec.ServeConfigV2 = config1 })
			s.until("upgraded", func() bool { return s.settled() && s.activeName() != "demo-c1" })
			if s.is(rayv1.RayServiceUpgradeAborted) || s.is(rayv1.RayServiceStalled) {
				t.Errorf("%s: the abort outlives the spec: %+v", name, s.rs.Status.Conditions)
			}
		}
	}
}

// TestAbortWithoutTheOldCluster: the new cluster gets the requests while the old one has no Pod for them, and is not promoted.
func TestAbortWithoutTheOldCluster(t *testing.T) {
	s := upgraded(t, inSteps(50, 25, 2), 0)
	s.until("half", func() bool { return s.weights["demo-c2"] == 50 })
	s.annotate(rayv1.AnnotationUpgradeAbort, "demo-c2")
	s.clusters["demo-c1"].dead = true
	s.passes(60)
	if s.weights["demo-c2"] != 100 || s.activeName() != "demo-c1" || s.pendingName() != "demo-c2" {
		t.Errorf("weights %v, %s active, %s pending", s.weights, s.activeName(), s.pendingName())
	}
	s.clusters["demo-c1"].dead = false
	s.clusters["demo-c1"].forget(false) // a new head, after a restart of the operator
	s.until("back", func() bool { return s.settled() && s.activeName() == "demo-c1" && s.weights["demo-c1"] == 100 })
}

// TestFailedUpgradeIsAborted by itself only if its user wants that, and not during a pause.
func TestFailedUpgradeIsAborted(t *testing.T) {
	for name, strategy := range controlled {
		for annotation, want := range map[string]bool{rayv1.AnnotationUpgradeFailureAction: true, rayv1.AnnotationCanaryConfirmed: false} {
			for _, paused := range []bool{false, true} {
				s := upgraded(t, strategy, 4, annotation, string(rayv1.UpgradeFailureAbort))
				s.clusters["demo-c2"].broken = rayv1.ApplicationDeployFailed
				if paused {
					s.annotate(rayv1.AnnotationUpgradePaused, "true")
				}
				s.passes(25)
				if s.is(rayv1.RayServiceUpgradeAborted) {
					t.Errorf("%s: aborted at once", name)
				}
				s.passes(100)
				aborted := s.settled() && s.activeName() == "demo-c1" && s.is(rayv1.RayServiceUpgradeAborted)
				if want = want && !paused; aborted != want {
					t.Errorf("%s, %s, paused %t: aborted %t: %+v", name, annotation, paused, aborted, s.rs.Status.Conditions)
				}
				if want && !strings.Contains(s.condition(rayv1.RayServiceStalled).Message, "shop is DEPLOY_FAILED") {
					t.Errorf("no reason: %+v", s.rs.Status.Conditions)
				}
			}
		}
	}
}

// TestStaleNames: names of other clusters neither confirm nor abort.
func TestStaleNames(t *testing.T) {
	for name, strategy := range controlled {
		plain, stale := upgraded(t, strategy, 60), upgraded(t, strategy, 60, rayv1.AnnotationUpgradeAbort, "demo-c1", rayv1.AnnotationUpgradePaused, "false")
		if a, b := slices.Sorted(maps.Keys(plain.clusters)), slices.Sorted(maps.Keys(stale.clusters)); !slices.Equal(a, b) || stale.activeName() != "demo-c2" {
			t.Errorf("%s: %v and %v", name, a, b)
		}
	}
}
