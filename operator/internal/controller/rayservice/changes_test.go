package rayservice

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// TestServiceGoesOn through what users and others change, with no more clusters than needed.
func TestServiceGoesOn(t *testing.T) {
	for name, tc := range map[string]struct {
		spec func(*rayv1.RayServiceSpec)
		play func(*stage)
		made int // clusters
	}{
		"the autoscaler changes replicas": {inSteps(50, 50), autoscaled, 2},
		"many small steps": {inSteps(20, 5), func(s *stage) {
			s.edit(image("b"))
			s.ends()
			if strings.Contains(s.told(), "Warning") {
				s.t.Errorf("a warning:\n%s", s.told())
			}
			if n := strings.Count(s.told(), "Normal UpdatedHTTPRoute"); n < 20 {
				s.t.Errorf("%d changes of the HTTPRoute", n)
			}
			for _, reason := range []string{"CreatedRayCluster", "CreatedService", "UpdatedServeApplications", "UpdatedHeadPodServeLabel", "UpdatedService", "DeletedRayCluster"} {
				if !strings.Contains(s.told(), "Normal "+reason) {
					s.t.Errorf("no event %s:\n%s", reason, s.told())
				}
			}
		}, 2},
		"another application": {strategy(rayv1.RayServiceNewCluster), moreApplications, 1},
		"a worker group more amid an upgrade": {strategy(rayv1.RayServiceNewCluster), func(s *stage) {
			s.begins("b")
			s.edit(oneGroupMore)
			s.until("larger", func(rs *rayv1.RayService) bool {
				return len(s.cluster(rs.Status.PendingServiceStatus.RayClusterName).Spec.WorkerGroupSpecs) == 2
			})
			s.set(s.downs, "b", false)
			s.ends()
		}, 2},
		"no upgrade": {strategy(rayv1.RayServiceUpgradeNone), func(s *stage) {
			s.edit(image("b"))
			s.edit(newConfig)
			s.until("up to date", s.settled)
		}, 1},
		"a third spec in a rollback": {inSteps(50, 50), func(s *stage) {
			old := s.halfway()
			s.edit(image(old))
			s.until("going back", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceRollbackInProgress) })
			s.edit(image("c"))
			s.ends()
		}, 3},
		"another strategy amid steps": {inSteps(50, 50), func(s *stage) {
			s.halfway()
			s.edit(strategy(rayv1.RayServiceNewCluster))
			s.ends()
			s.until("at full capacity", func(rs *rayv1.RayService) bool { return rs.Status.ActiveServiceStatus.TargetCapacity == nil })
		}, 2},
		"suspension amid steps":               {inSteps(50, 50), func(s *stage) { s.halfway(); sleeps(s) }, 3},
		"the head takes no requests":          {strategy(rayv1.RayServiceNewCluster), blocked, 2},
		"a cluster that is slow to go":        {strategy(rayv1.RayServiceNewCluster), pinned, 2},
		"a Pod is in slices of both families": {strategy(rayv1.RayServiceNewCluster), dualStack, 1},
		"a new head with its state kept":      {strategy(rayv1.RayServiceNewCluster), stateKept, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, storyService(tc.spec))
				s.comesUp()
				tc.play(s)
				s.leadsToActive()
				if s.made != tc.made {
					t.Errorf("%d clusters were made, want %d:\n%s", s.made, tc.made, s.told())
				}
			})
		})
	}
}

// begins has an upgrade whose cluster does not come up, and returns its name.
func (s *stage) begins(tag string) string {
	s.t.Helper()
	s.set(s.downs, tag, true)
	s.edit(image(tag))
	s.until("begun", func(*rayv1.RayService) bool { return len(s.clusters()) == 2 })
	return s.get().Status.PendingServiceStatus.RayClusterName
}

// halfway has an upgrade in steps that has half of the requests, and returns the image of before.
func (s *stage) halfway() string {
	s.t.Helper()
	old := s.get().Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image
	s.edit(image("b"))
	s.until("half way", func(rs *rayv1.RayService) bool {
		tr := rs.Status.PendingServiceStatus.TrafficRoutedPercent
		return tr != nil && *tr == 50
	})
	return old
}

// ends waits for the end of an upgrade.
func (s *stage) ends() {
	s.t.Helper()
	s.until("upgraded", func(rs *rayv1.RayService) bool {
		return s.settled(rs) && rs.Status.ActiveServiceStatus.RayClusterName != s.first
	})
}

// leadsToActive fails unless the Services lead to the cluster in use, with all its capacity.
func (s *stage) leadsToActive() {
	s.t.Helper()
	active := s.get().Status.ActiveServiceStatus.RayClusterName
	for _, name := range []string{"demo-head-svc", "demo-serve-svc"} {
		svc := &corev1.Service{}
		s.must(s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, svc))
		if svc.Spec.Selector[rayv1.LabelCluster] != active {
			s.t.Errorf("Service %s leads to %v, want %s:\n%s", name, svc.Spec.Selector, active, s.told())
		}
	}
	if c := s.dash(active).Capacity(); c != 100 {
		s.t.Errorf("capacity %f:\n%s", c, s.told())
	}
}

func oneGroupMore(spec *rayv1.RayServiceSpec) {
	g := spec.RayClusterSpec.WorkerGroupSpecs[0].DeepCopy()
	g.GroupName = "more"
	spec.RayClusterSpec.WorkerGroupSpecs = append(spec.RayClusterSpec.WorkerGroupSpecs, *g)
}

// sleeps suspends a service, which leaves nothing of it, and resumes it.
func sleeps(s *stage) {
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
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = false })
	s.until("ready again", s.settled)
}

// TestServiceThatGetsNothing before it is resumed, or does not come up in time and is given up.
func TestServiceThatGetsNothing(t *testing.T) {
	t.Run("made in suspension", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, storyService(func(spec *rayv1.RayServiceSpec) { spec.Suspend = true }))
			s.until("suspended", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceSuspended) })
			for range 20 {
				s.until("looked at", once())
			}
			if s.made > 0 || !is(s.get(), rayv1.RayServiceSuspended) {
				t.Errorf("%d clusters were made, status %+v", s.made, s.get().Status)
			}
			s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = false })
			s.comesUp()
		})
	})
	t.Run("given up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			rs := storyService(image("b"))
			rs.Annotations = map[string]string{rayv1.AnnotationInitializingTimeout: "1s"}
			s := newStage(t, rs)
			s.set(s.downs, "b", true)
			s.until("given up", func(rs *rayv1.RayService) bool {
				return condition(rs, rayv1.RayServiceReady).Reason == rayv1.ReasonRayServiceInitializingTimeout && len(s.clusters()) == 0
			})
			if m := condition(s.get(), rayv1.RayServiceReady).Message; !strings.Contains(m, "RayService failed to become ready within the configured timeout") {
				t.Errorf("message %s", m)
			}
			if n := strings.Count(s.told(), "Warning RayServiceInitializingTimeout"); n != 1 {
				t.Errorf("%d events:\n%s", n, s.told())
			}
		})
	})
}

// quiet looks often, and fails when the operator has written anything.
func (s *stage) quiet() {
	s.t.Helper()
	for range 20 { // what is under way comes to its end
		s.until("looked at", once())
	}
	before := s.told()
	for range 50 {
		s.until("looked at", once())
	}
	if after := s.told(); after != before {
		s.t.Errorf("written for nothing:\n%s", strings.TrimPrefix(after, before))
	}
}

// autoscaled changes replicas as the autoscaler does, of the cluster that is used and of one that is being prepared.
func autoscaled(s *stage) {
	scale := func(name string) {
		rc := s.cluster(name)
		rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(5))
		rc.Spec.WorkerGroupSpecs[0].ScaleStrategy.WorkersToDelete = []string{"w"}
		s.must(s.store.Update(context.Background(), rc))
	}
	s.until("routed", func(rs *rayv1.RayService) bool { return rs.Status.ActiveServiceStatus.TrafficRoutedPercent != nil })
	s.quiet()
	scale(s.first)
	s.quiet()
	pending := s.begins("b")
	for range 50 {
		s.until("looked at", once())
	}
	scale(pending)
	s.quiet()
	if got := s.get().Status.PendingServiceStatus.RayClusterName; got != pending || *s.cluster(pending).Spec.WorkerGroupSpecs[0].Replicas != 5 {
		s.t.Errorf("cluster %s in place of %s", got, pending)
	}
}

func moreApplications(s *stage) {
	s.edit(func(spec *rayv1.RayServiceSpec) {
		spec.ServeConfigV2 = "applications: [{name: shop, import_path: 'a:b'}, {name: more, import_path: 'a:d', route_prefix: /more}]"
	})
	s.until("larger", func(rs *rayv1.RayService) bool {
		return rs.Status.ActiveServiceStatus.Applications["more"].Status == rayv1.ApplicationRunning && s.settled(rs)
	})
	if n := strings.Count(s.told(), "Normal UpdatedServeApplications"); n != 2 {
		s.t.Errorf("%d events:\n%s", n, s.told())
	}
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.ServeConfigV2 = config1 })
	s.until("smaller", func(rs *rayv1.RayService) bool { return len(rs.Status.ActiveServiceStatus.Applications) == 1 })
	s.quiet()
}

// blocked takes the proxy of the head away amid an upgrade. The new cluster gets the requests as soon as it can take them.
func blocked(s *stage) {
	s.begins("b")
	s.set(s.ill, s.first, true)
	s.until("out of use", func(rs *rayv1.RayService) bool {
		return condition(rs, rayv1.RayServiceReady).Reason == rayv1.ReasonZeroServeEndpoints && rs.Status.ServiceStatus == rayv1.ServiceNotRunning && s.headLabel(s.first) == rayv1.LabelServeFalse
	})
	s.set(s.downs, "b", false)
	s.ends()
	rs := s.get()
	if rs.Status.NumServeEndpoints != 1 || s.headLabel(rs.Status.ActiveServiceStatus.RayClusterName) != rayv1.LabelServeTrue {
		s.t.Errorf("%d endpoints", rs.Status.NumServeEndpoints)
	}
}

// headLabel says whether the head of a cluster takes requests.
func (s *stage) headLabel(cluster string) string {
	s.t.Helper()
	var pods corev1.PodList
	s.must(s.store.List(context.Background(), &pods, client.MatchingLabels{rayv1.LabelCluster: cluster, rayv1.LabelNodeType: string(rayv1.HeadNode)}))
	if len(pods.Items) != 1 {
		return ""
	}
	return pods.Items[0].Labels[rayv1.LabelServe]
}

// pinned has a cluster with a finalizer of another client: a suspension completes although the user has withdrawn it.
func pinned(s *stage) {
	const finalizer = "example.com/pin"
	rc := s.cluster(s.first)
	controllerutil.AddFinalizer(rc, finalizer)
	s.must(s.store.Update(context.Background(), rc))
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = true })
	s.until("deleting", func(*rayv1.RayService) bool { return s.cluster(s.first).DeletionTimestamp != nil })
	s.edit(func(spec *rayv1.RayServiceSpec) { spec.Suspend = false })
	for range 50 {
		s.until("looked at", once())
	}
	if rs := s.get(); !is(rs, rayv1.RayServiceSuspending) || is(rs, rayv1.RayServiceSuspended) || !slices.Equal(s.clusters(), []string{s.first}) {
		s.t.Errorf("status %+v with %v", rs.Status, s.clusters())
	}
	rc = s.cluster(s.first)
	controllerutil.RemoveFinalizer(rc, finalizer)
	s.must(s.store.Update(context.Background(), rc))
	s.ends()
	if condition(s.get(), rayv1.RayServiceSuspended).Reason != rayv1.ReasonRayServiceResumed {
		s.t.Errorf("status %+v", s.get().Status)
	}
}

func dualStack(s *stage) {
	ctx := context.Background()
	first := &discoveryv1.EndpointSlice{}
	s.must(s.store.Get(ctx, client.ObjectKey{Namespace: "default", Name: "demo-serve-svc-x"}, first))
	second := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-serve-svc-ipv6", Labels: first.Labels}, AddressType: discoveryv1.AddressTypeIPv6}
	second.Endpoints = append(slices.Clone(first.Endpoints), discoveryv1.Endpoint{Addresses: []string{"fd00::1"}, TargetRef: &corev1.ObjectReference{UID: "unready"}},
		discoveryv1.Endpoint{Addresses: []string{"fd00::2"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	s.must(s.store.Create(ctx, second))
	s.quiet()
	if n := s.get().Status.NumServeEndpoints; n != 1 {
		s.t.Errorf("%d endpoints", n)
	}
}

// stateKept is a head with fault tolerance: its successor knows the applications, and gets no configuration.
func stateKept(s *stage) {
	s.set(s.downs, s.first, true)
	s.until("without a head", func(*rayv1.RayService) bool { return s.settledHead() == metav1.ConditionFalse })
	for range 20 {
		s.until("looked at", once())
	}
	s.set(s.downs, s.first, false)
	s.until("with a head", func(rs *rayv1.RayService) bool { return s.settledHead() == metav1.ConditionTrue && s.settled(rs) })
	for range 50 {
		s.until("looked at", once())
	}
	if n := len(s.dash(s.first).Configs()); n != 1 {
		s.t.Errorf("%d configurations", n)
	}
}

// settledHead says whether the first cluster has a head that is ready.
func (s *stage) settledHead() metav1.ConditionStatus {
	for _, c := range s.cluster(s.first).Status.Conditions {
		if c.Type == rayv1.HeadPodReady {
			return c.Status
		}
	}
	return metav1.ConditionUnknown
}
