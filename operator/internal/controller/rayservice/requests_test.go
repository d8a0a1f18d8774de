package rayservice

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// counting counts lists that are read from the API server.
type counting struct {
	client.Reader
	lists atomic.Int32
}

// List implements client.Reader.
func (c *counting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.lists.Add(1)
	return c.Reader.List(ctx, list, opts...)
}

// counted is a stage whose lists from the API server are counted.
func counted(t *testing.T, change ...func(*rayv1.RayServiceSpec)) (*stage, *counting) {
	t.Helper()
	s, live := newStage(t, storyService(change...)), &counting{}
	s.change = append(s.change, func(c *Config) { live.Reader, c.Live = c.Live, live })
	s.restart()
	return s, live
}

// deleted deletes the service and waits until it is gone.
func (s *stage) deleted() {
	s.t.Helper()
	s.must(s.store.Delete(s.t.Context(), s.get()))
	s.until("gone", func(rs *rayv1.RayService) bool { return rs == nil })
}

// TestStatusOfAStartIsWrittenOnce from the choice of the first cluster to its first endpoint.
func TestStatusOfAStartIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, live := counted(t)
		s.until("ready", s.settled)
		if n := strings.Count(s.told(), "update status *v1.RayService"); n > 3 { // the name of the cluster, what it deploys, and the start
			t.Errorf("%d writes of the status:\n%s", n, s.told())
		}
		s.deleted()
		if n := live.lists.Load(); n != 0 {
			t.Errorf("%d lists from the API server", n)
		}
	})
}

// TestStartWithoutEndpointsIsReported after startTime.
func TestStartWithoutEndpointsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := counted(t)
		s.until("made", func(*rayv1.RayService) bool { return len(s.clusters()) == 1 })
		s.set(s.ill, s.clusters()[0], true)
		s.until("with Services", func(*rayv1.RayService) bool { return strings.Contains(s.told(), "Normal CreatedService") })
		begin := time.Now()
		s.until("chosen", func(rs *rayv1.RayService) bool { return rs.Status.ActiveServiceStatus.RayClusterName != "" })
		if waited := time.Since(begin); waited > startTime+pause {
			t.Errorf("the choice of the cluster was written after %s", waited)
		}
	})
}

// TestClustersThatTheCacheMayNotShow are read from the API server before a service ends: this operator has not seen them, or has created one anew.
func TestClustersThatTheCacheMayNotShow(t *testing.T) {
	for name, before := range map[string]func(*stage){
		"another operator made it": func(s *stage) {
			s.must(s.store.Delete(s.t.Context(), s.cluster(s.clusters()[0])))
			s.restart()
		},
		"a second one of the name": func(s *stage) {
			s.must(s.store.Delete(s.t.Context(), s.cluster(s.clusters()[0])))
			s.until("made again", func(*rayv1.RayService) bool { return s.made == 2 })
			s.must(s.store.Delete(s.t.Context(), s.cluster(s.clusters()[0])))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, live := counted(t)
				s.until("made", func(*rayv1.RayService) bool { return len(s.clusters()) == 1 })
				before(s)
				s.deleted()
				if n := live.lists.Load(); n != 1 {
					t.Errorf("%d lists from the API server", n)
				}
			})
		})
	}
}
