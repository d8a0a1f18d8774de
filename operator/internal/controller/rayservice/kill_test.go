package rayservice

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/suite"
)

type killStory struct {
	spec     func(*rayv1.RayServiceSpec)
	play     func(*stage)
	clusters int
	gone     bool
}

// TestOperatorIsKilledAnywhere plays each story with an operator that lives, and then as often as that one wrote in it, killed each time after
// another write. Writes that stories have in common are those of one story only. Without all tests each third life is played, with -short each ninth,
// which are others for each story.
func TestOperatorIsKilledAnywhere(t *testing.T) {
	stories := killStories()
	for i, name := range slices.Sorted(maps.Keys(stories)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			total, begun := stories[name].live(t, 0)
			step := 3
			switch {
			case suite.IsAll():
				step = 1
			case testing.Short():
				step = 9
			}
			for killAt := begun + 1 + i%step; killAt <= total && !t.Failed(); killAt += step {
				stories[name].live(t, killAt)
			}
			t.Logf("%d writes", total-begun)
		})
	}
}

// live plays a story, and returns the number of all writes and of those before what the story is about.
func (story killStory) live(t *testing.T, killAt int) (total, begun int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, killAt, storyService(story.spec))
		story.play(s)
		s.check(story.clusters, story.gone, fmt.Sprintf("killed after write %d", killAt))
		total, begun = s.writes, s.begun
	})
	return total, begun
}

// killStories are what happens to services.
func killStories() map[string]killStory {
	another := func(s *stage) {
		s.until("upgraded", func(rs *rayv1.RayService) bool {
			return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName != s.first
		})
	}
	first := func(s *stage) {
		s.until("back", func(rs *rayv1.RayService) bool {
			return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName == s.first
		})
	}
	upgraded := func(s *stage) {
		s.comesUp()
		s.edit(image("b"))
		s.edit(newConfig)
		another(s)
	}
	// halfway returns the image of before.
	halfway := func(s *stage) string {
		s.comesUp()
		old := s.get().Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image
		s.edit(image("b"))
		s.until("half way", func(rs *rayv1.RayService) bool {
			tr := rs.Status.PendingServiceStatus.TrafficRoutedPercent
			return tr != nil && *tr == 50
		})
		s.itBegins()
		return old
	}
	goingBack := func(s *stage) {
		s.edit(image(halfway(s)))
		s.until("going back", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceRollbackInProgress) })
		s.itBegins()
	}
	// begun has a second cluster, which does not come up.
	begun := func(s *stage) string {
		s.comesUp()
		old := s.get().Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image
		s.set(s.downs, "b", true)
		s.edit(image("b"))
		s.itBegins()
		s.until("begun", func(*rayv1.RayService) bool { return len(s.clusters()) == 2 })
		if rs := s.get(); !is(rs, rayv1.RayServiceReady) || rs.Status.ActiveServiceStatus.RayClusterName != s.first {
			s.t.Errorf("the cluster that is used goes on, but the status is %+v", rs.Status)
		}
		return old
	}
	sleeps := func(s *stage) {
		s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = true })
		s.until("suspended", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceSuspended) })
		var services corev1.ServiceList
		s.must(s.store.List(context.Background(), &services))
		if left := s.clusters(); len(left) > 0 || len(services.Items) > 0 || s.get().Status.ActiveServiceStatus.RayClusterName != "" {
			s.t.Errorf("suspended with clusters %v, %d Services and status %+v", left, len(services.Items), s.get().Status)
		}
		if g, r := s.gateway(); g != nil || r != nil {
			s.t.Errorf("suspended with %v and %v", g, r)
		}
		s.set(s.downs, "b", false)
		s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = false })
		s.until("ready again", s.settled)
	}
	deleted := func(s *stage) {
		s.must(s.store.Delete(context.Background(), s.get()))
		s.until("gone", func(rs *rayv1.RayService) bool { return rs == nil })
	}
	return map[string]killStory{
		"upgrade at once":  {strategy(rayv1.RayServiceNewCluster), upgraded, 2, false},
		"upgrade in steps": {inSteps(50, 50), upgraded, 2, false},
		"no upgrade": {strategy(rayv1.RayServiceUpgradeNone), func(s *stage) {
			s.comesUp()
			s.edit(image("b"))
			s.edit(newConfig)
			s.until("up to date", s.settled)
		}, 1, false},
		"rollback":                      {inSteps(50, 50), func(s *stage) { s.edit(image(halfway(s))); first(s) }, 2, false},
		"a third spec in a rollback":    {inSteps(50, 50), func(s *stage) { goingBack(s); s.edit(image("c")); another(s) }, 3, false},
		"a rollback that is taken back": {inSteps(50, 50), func(s *stage) { goingBack(s); s.edit(image("b")); another(s) }, 2, false},
		"another strategy amid steps": {inSteps(50, 50), func(s *stage) {
			halfway(s)
			s.edit(strategy(rayv1.RayServiceNewCluster))
			another(s)
			s.until("at full capacity", func(rs *rayv1.RayService) bool { return rs.Status.ActiveServiceStatus.TargetCapacity == nil })
		}, 2, false},
		"an upgrade that is taken back":    {strategy(rayv1.RayServiceNewCluster), func(s *stage) { s.edit(image(begun(s))); first(s) }, 2, false},
		"a new cluster that does not come": {strategy(rayv1.RayServiceNewCluster), func(s *stage) { begun(s); s.edit(image("c")); another(s) }, 3, false},
		"a first cluster that does not":    {strategy(rayv1.RayServiceUpgradeNone), firstReplaced, 2, false},
		"a worker group more": {strategy(rayv1.RayServiceNewCluster), func(s *stage) {
			s.comesUp()
			s.itBegins()
			s.edit(oneGroupMore)
			s.until("larger", s.hasGroups(2))
			first(s)
		}, 1, false},
		"the head is lost":                {strategy(rayv1.RayServiceNewCluster), headLost, 1, false},
		"suspension":                      {strategy(rayv1.RayServiceNewCluster), func(s *stage) { s.comesUp(); s.itBegins(); sleeps(s) }, 2, false},
		"made in suspension":              {suspended, madeSuspended, 1, false},
		"suspension amid an upgrade":      {strategy(rayv1.RayServiceNewCluster), func(s *stage) { begun(s); sleeps(s) }, 3, false},
		"suspension amid steps":           {inSteps(50, 50), func(s *stage) { halfway(s); sleeps(s) }, 3, false},
		"deletion":                        {inSteps(50, 50), func(s *stage) { s.comesUp(); s.itBegins(); deleted(s) }, 1, true},
		"deletion amid an upgrade":        {strategy(rayv1.RayServiceNewCluster), func(s *stage) { begun(s); deleted(s) }, 2, true},
		"deletion amid steps":             {inSteps(50, 50), func(s *stage) { halfway(s); deleted(s) }, 2, true},
		"a service that does not come up": {strategy(rayv1.RayServiceNewCluster), givenUp, 2, false},
	}
}

func suspended(spec *rayv1.RayServiceSpec) { spec.Suspend = true }

// madeSuspended is a service that gets nothing before it is resumed.
func madeSuspended(s *stage) {
	s.until("suspended", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceSuspended) })
	for range 20 {
		s.until("looked at", once())
	}
	if s.made > 0 || !is(s.get(), rayv1.RayServiceSuspended) {
		s.t.Errorf("%d clusters were made, status %+v", s.made, s.get().Status)
	}
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = false })
	s.comesUp()
}

// firstReplaced repairs the image of a service that was never up.
func firstReplaced(s *stage) {
	s.set(s.downs, "b", true)
	s.edit(image("b"))
	s.until("begun", func(*rayv1.RayService) bool { return len(s.clusters()) == 1 })
	s.edit(image("c"))
	s.comesUp()
}

func oneGroupMore(spec *rayv1.RayServiceSpec) {
	g := spec.RayClusterSpec.WorkerGroupSpecs[0].DeepCopy()
	g.GroupName = "more"
	spec.RayClusterSpec.WorkerGroupSpecs = append(spec.RayClusterSpec.WorkerGroupSpecs, *g)
}

// hasGroups reports whether the active cluster has so many worker groups.
func (s *stage) hasGroups(n int) func(*rayv1.RayService) bool {
	return func(rs *rayv1.RayService) bool {
		return len(s.cluster(rs.Status.ActiveServiceStatus.RayClusterName).Spec.WorkerGroupSpecs) == n
	}
}

func headLost(s *stage) {
	s.comesUp()
	s.itBegins()
	before := len(s.dash(s.first).Configs())
	s.dash(s.first).ForgetApplications()
	s.until("deployed again", func(*rayv1.RayService) bool { return len(s.dash(s.first).Configs()) > before })
	s.until("ready", s.settled)
}

// givenUp is a service that does not come up in time, and is repaired, suspended and resumed.
func givenUp(s *stage) {
	s.set(s.downs, "b", true)
	s.edit(image("b"))
	s.until("begun", func(*rayv1.RayService) bool { return len(s.clusters()) == 1 })
	rs := s.get()
	rs.Annotations = map[string]string{rayv1.AnnotationInitializingTimeout: "1s"}
	s.must(s.store.Update(context.Background(), rs))
	s.until("given up", func(rs *rayv1.RayService) bool {
		return condition(rs, rayv1.RayServiceReady).Reason == rayv1.ReasonRayServiceInitializingTimeout && len(s.clusters()) == 0
	})
	if m := condition(s.get(), rayv1.RayServiceReady).Message; !strings.Contains(m, "RayService failed to become ready within the configured timeout") {
		s.t.Errorf("message %s", m)
	}
	if n := strings.Count(s.told(), "Warning RayServiceInitializingTimeout"); n != 1 && s.killAt == 0 {
		s.t.Errorf("%d events:\n%s", n, s.told())
	}
	rs = s.get()
	rs.Annotations = nil
	s.must(s.store.Update(context.Background(), rs))
	s.edit(image("c"))
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = true })
	s.until("suspended", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceSuspended) })
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = false })
	s.comesUp()
}

// check looks at the end of a story.
func (s *stage) check(clusters int, gone bool, what string) {
	s.t.Helper()
	if s.made != clusters {
		s.t.Errorf("%s: %d clusters were made, want %d:\n%s", what, s.made, clusters, s.told())
	}
	for name, d := range s.dashes {
		for _, config := range d.Configs() {
			if name == s.first && clusters > 1 && strings.Contains(config, "a:c") {
				s.t.Errorf("%s: the old cluster got the new configuration:\n%s", what, s.told())
			}
		}
	}
	if gone {
		if left := s.clusters(); len(left) > 0 {
			s.t.Errorf("%s: %v are left", what, left)
		}
		return
	}
	active := s.get().Status.ActiveServiceStatus.RayClusterName
	for _, name := range []string{"demo-head-svc", "demo-serve-svc"} {
		svc := &corev1.Service{}
		s.must(s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, svc))
		if svc.Spec.Selector[rayv1.LabelCluster] != active {
			s.t.Errorf("%s: Service %s leads to %v, want %s:\n%s", what, name, svc.Spec.Selector, active, s.told())
		}
	}
	if c := s.dash(active).Capacity(); c != 100 {
		s.t.Errorf("%s: capacity %f:\n%s", what, c, s.told())
	}
}
