package rayservice

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

func (s *stage) gateway() (*gatewayv1.Gateway, *gatewayv1.HTTPRoute) {
	s.t.Helper()
	g, r := &gatewayv1.Gateway{}, &gatewayv1.HTTPRoute{}
	if s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "demo-gateway"}, g) != nil {
		g = nil
	}
	if s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "demo-httproute"}, r) != nil {
		r = nil
	}
	return g, r
}

// TestWorkersFollowTheService without another cluster: KubeRay drops such a change in silence. What the autoscaler or a person changes on the
// cluster stays.
func TestWorkersFollowTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.comesUp()
		replicas := func(n int32) func(*rayv1.RayServiceSpec) {
			return func(spec *rayv1.RayServiceSpec) { spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas = &n }
		}
		s.edit(replicas(3))
		s.until("resized", func(*rayv1.RayService) bool { return *s.cluster(s.first).Spec.WorkerGroupSpecs[0].Replicas == 3 })
		rc := s.cluster(s.first)
		rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(7))
		s.must(s.store.Update(context.Background(), rc))
		for range 10 {
			s.until("looked at", once())
		}
		if n := *s.cluster(s.first).Spec.WorkerGroupSpecs[0].Replicas; n != 7 {
			t.Errorf("%d replicas", n)
		}
		s.until("ready", s.settled)
		if s.made != 1 || strings.Count(s.told(), "Normal UpdatedRayCluster") != 1 {
			t.Errorf("%d clusters were made:\n%s", s.made, s.told())
		}
	})
}

// TestBudgetFollowsTheService without another cluster: on the annotation of the cluster depend its PodDisruptionBudgets.
func TestBudgetFollowsTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.comesUp()
		annotate := func(budgets map[string]string) {
			rs := s.get()
			rs.Annotations = budgets
			s.must(s.store.Update(context.Background(), rs))
			s.until("passed on", func(*rayv1.RayService) bool {
				got, set := s.cluster(s.first).Annotations[rayv1.AnnotationDisruptionBudget]
				return got == budgets[rayv1.AnnotationDisruptionBudget] && set == (budgets != nil)
			})
		}
		annotate(map[string]string{rayv1.AnnotationDisruptionBudget: "1"})
		annotate(map[string]string{rayv1.AnnotationDisruptionBudget: "25%"})
		annotate(nil)
		if s.made != 1 {
			t.Errorf("%d clusters were made:\n%s", s.made, s.told())
		}
	})
}

// TestAdditionsToTheGatewayStay, such as a listener with TLS, and a changed share is restored.
func TestAdditionsToTheGatewayStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService(inSteps(50, 50)))
		s.comesUp()
		s.until("routed", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceGatewayReady) })
		g, _ := s.gateway()
		g.Spec.Listeners = append(g.Spec.Listeners, gatewayv1.Listener{Name: "https", Protocol: gatewayv1.HTTPSProtocolType, Port: 443})
		s.must(s.store.Update(context.Background(), g))
		s.edit(image("b"))
		spoilt := false
		s.until("upgraded", func(rs *rayv1.RayService) bool {
			if _, r := s.gateway(); !spoilt && r != nil && len(r.Spec.Rules[0].BackendRefs) == 2 && *r.Spec.Rules[0].BackendRefs[1].Weight == 0 {
				spoilt = true
				r.Spec.Rules[0].BackendRefs[1].Weight = new(int32(5)) // a zero that is wanted is not a default
				s.must(s.store.Update(context.Background(), r))
			}
			return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName != s.first
		})
		if g, _ = s.gateway(); len(g.Spec.Listeners) != 2 || g.Spec.Listeners[1].Name != "https" {
			t.Errorf("listeners %+v", g.Spec.Listeners)
		}
		if !spoilt || strings.Contains(s.told(), "is changed by something else") {
			t.Errorf("spoilt %t:\n%s", spoilt, s.told())
		}
	})
}

// TestBeginningStepsFlapsNothing: the Services of the clusters come a moment later than the strategy.
func TestBeginningStepsFlapsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService(func(spec *rayv1.RayServiceSpec) { spec.RayClusterSpec.EnableInTreeAutoscaling = new(true) }))
		s.comesUp()
		s.edit(inSteps(50, 50))
		s.until("routed", func(rs *rayv1.RayService) bool {
			if !is(rs, rayv1.RayServiceReady) || rs.Status.NumServeEndpoints != 1 {
				t.Fatalf("status %+v", rs.Status)
			}
			return is(rs, rayv1.RayServiceGatewayReady)
		})
		if s.made != 1 {
			t.Errorf("%d clusters were made", s.made)
		}
	})
}

// TestOverdueIsToldOf once.
func TestOverdueIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.set(s.downs, "demo-c1", true)
		s.until("begun", func(*rayv1.RayService) bool { return len(s.clusters()) == 1 })
		time.Sleep(serveplan.ProgressDeadline)
		s.until("stalled", stalled(rayv1.ReasonProgressDeadlineExceeded))
		for range 5 {
			s.until("looked at", once())
		}
		if n := strings.Count(s.told(), "Warning ProgressDeadlineExceeded"); n != 1 {
			t.Errorf("told of %d times:\n%s", n, s.told())
		}
	})
}

// TestSpoiltServicesArePutRight, whatever somebody did to them.
func TestSpoiltServicesArePutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.comesUp()
		for _, name := range []string{"demo-head-svc", "demo-serve-svc"} {
			for what, spoil := range map[string]func(*corev1.Service){
				"no selector":    func(svc *corev1.Service) { svc.Spec.Selector = nil },
				"another target": func(svc *corev1.Service) { svc.Spec.Selector = map[string]string{rayv1.LabelCluster: "elsewhere"} },
				"no ports":       func(svc *corev1.Service) { svc.Spec.Ports = nil },
			} {
				svc := &corev1.Service{}
				s.must(s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, svc))
				spoil(svc)
				s.must(s.store.Update(context.Background(), svc))
				s.until(name+" with "+what+" put right", func(*rayv1.RayService) bool {
					s.must(s.store.Get(context.Background(), client.ObjectKeyFromObject(svc), svc))
					return svc.Spec.Selector[rayv1.LabelCluster] == s.first && len(svc.Spec.Ports) > 0
				})
			}
		}
		if s.made != 1 {
			t.Errorf("%d clusters were made", s.made)
		}
	})
}
