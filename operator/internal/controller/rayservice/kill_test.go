package rayservice

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

type killStory struct {
	spec     func(*rayv1.RayServiceSpec)
	play     func(*stage)
	clusters int
	gone     bool
}

// TestStories plays each story with an operator that lives.
func TestStories(t *testing.T) {
	for name, story := range killStories() {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 0, false, storyService(story.spec))
			story.play(s)
			s.check(story.clusters, story.gone, "not killed")
		})
	}
}

// TestOperatorIsKilledAnywhere plays each story as often as the operator writes in it, and kills it each time at another write, before or
// after that has its effect.
func TestOperatorIsKilledAnywhere(t *testing.T) {
	for name, story := range killStories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			total := 0
			for killAt := 0; killAt <= total; killAt++ {
				for _, applied := range []bool{false, true} {
					s := newStage(t, killAt, applied, storyService(story.spec))
					story.play(s)
					if killAt == 0 {
						total = max(total, s.writes)
					}
					s.check(story.clusters, story.gone, fmt.Sprintf("killed at write %d, applied %t", killAt, applied))
					s.stop()
					if t.Failed() {
						return
					}
				}
			}
			t.Logf("%d writes", total)
		})
	}
}

// killStories are what happens to services.
func killStories() map[string]killStory {
	upgraded := func(s *stage) {
		s.comesUp()
		s.edit(image("b"))
		s.edit(newConfig)
		s.until("upgraded", func(rs *rayv1.RayService) bool {
			return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName != s.first
		})
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
		"rollback": {inSteps(50, 50), func(s *stage) {
			s.comesUp()
			old := s.get().Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image
			s.edit(image("b"))
			s.until("half way", func(rs *rayv1.RayService) bool {
				tr := rs.Status.PendingServiceStatus.TrafficRoutedPercent
				return tr != nil && *tr == 50
			})
			s.edit(image(old))
			s.until("back", func(rs *rayv1.RayService) bool {
				return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName == s.first
			})
		}, 2, false},
		"suspension": {strategy(rayv1.RayServiceNewCluster), func(s *stage) {
			s.comesUp()
			s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = true })
			s.until("suspended", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceSuspended) })
			if left := s.clusters(); len(left) > 0 {
				s.t.Errorf("suspended with %v", left)
			}
			s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = false })
			s.until("ready again", s.settled)
		}, 2, false},
		"deletion": {inSteps(50, 50), func(s *stage) {
			s.comesUp()
			s.must(s.store.Delete(context.Background(), s.get()))
			s.until("gone", func(rs *rayv1.RayService) bool { return rs == nil })
		}, 1, true},
	}
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
