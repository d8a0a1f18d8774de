package rayservice

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// kubeRayCluster is a cluster as KubeRay leaves it, with a hash that nobody else computes.
func kubeRayCluster(rs *rayv1.RayService, name, hash string) *rayv1.RayCluster {
	rc := rayservice.Cluster(rs, name, rayservice.Options{Version: "v1.7.0"})
	rc.Annotations[rayv1.AnnotationHashWithoutReplicasAndWorkersToDelete] = hash
	return rc
}

// kubeRayServices are the Services of a service as KubeRay leaves them: without the label that the cache goes by.
func kubeRayServices(rs *rayv1.RayService, rc *rayv1.RayCluster) []client.Object {
	list := []client.Object{service.ServiceHead(rs, rc, service.Options{}), service.ServiceServe(rs, rc)}
	for _, o := range list {
		l := o.GetLabels()
		delete(l, rayv1.LabelCluster)
		o.SetLabels(l)
	}
	return list
}

// TestTakeoverFromKubeRay continues a service that KubeRay left in each phase. It creates and deletes no other clusters than
// KubeRay would, and sends Ray nothing that it already has.
func TestTakeoverFromKubeRay(t *testing.T) {
	type left struct {
		pending  bool // an upgrade is under way
		deployed bool // the new cluster has its configuration
		switched bool // the Services lead to the new cluster already
	}
	cases := map[string]struct {
		left
		edit   func(*rayv1.RayServiceSpec) // while no operator was there
		made   int
		sent   map[string]int // configurations by cluster
		active string
	}{
		"all is well":                 {active: "demo-a", sent: map[string]int{"demo-a": 0}},
		"a new configuration":         {edit: newConfig, active: "demo-a", sent: map[string]int{"demo-a": 1}},
		"a new image":                 {edit: image("c"), made: 1, active: "demo-c1", sent: map[string]int{"demo-a": 0, "demo-c1": 1}},
		"in the middle of an upgrade": {left: left{pending: true}, active: "demo-b", sent: map[string]int{"demo-a": 0, "demo-b": 1}},
		"a new cluster that is ready": {left: left{pending: true, deployed: true}, active: "demo-b", sent: map[string]int{"demo-a": 0, "demo-b": 0}},
		"before the status was saved": {left: left{pending: true, deployed: true, switched: true}, active: "demo-b", sent: map[string]int{"demo-a": 0, "demo-b": 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rs := storyService()
				rs.Finalizers = []string{rayv1.FinalizerRayService}
				rs.Status.Conditions = []metav1.Condition{
					{Type: rayv1.RayServiceReady, Status: metav1.ConditionTrue, Reason: rayv1.ReasonNonZeroServeEndpoints},
					{Type: rayv1.RayServiceUpgradeInProgress, Status: metav1.ConditionFalse, Reason: rayv1.ReasonNoPendingCluster},
				}
				rs.Status.ServiceStatus, rs.Status.ActiveServiceStatus.RayClusterName = rayv1.ServiceRunning, "demo-a"
				a := kubeRayCluster(rs, "demo-a", "1R0DJNF5HKCSHGGSBBBIHS45SHC9M2QI")
				a.UID = "uid-a"
				objects := []client.Object{rs, a}
				leads := a
				if tc.pending {
					image("b")(&rs.Spec)
					rs.Status.PendingServiceStatus.RayClusterName = "demo-b"
					b := kubeRayCluster(rs, "demo-b", "2R0DJNF5HKCSHGGSBBBIHS45SHC9M2QI")
					b.UID = "uid-b"
					objects = append(objects, b)
					if tc.switched {
						leads = b
					}
				}
				objects = append(objects, kubeRayServices(rs, leads)...)
				if tc.edit != nil {
					tc.edit(&rs.Spec)
					rs.Generation++
				}
				s := newStage(t, objects...)
				running := func(cluster string) {
					if err := s.dash(cluster).DeployServe(t.Context(), []byte(`{"applications":[{"import_path":"a:b","name":"shop"}]}`)); err != nil {
						t.Fatal(err)
					}
				}
				running("demo-a")
				if tc.deployed {
					running("demo-b")
				}
				s.until("settled", func(rs *rayv1.RayService) bool {
					return is(rs, rayv1.RayServiceReady) && rs.Status.PendingServiceStatus.RayClusterName == "" && rs.Status.ObservedGeneration == rs.Generation &&
						rs.Status.ActiveServiceStatus.RayClusterName == tc.active && len(s.clusters()) == 1 && sent(s, tc.active) >= tc.sent[tc.active]
				})
				for range 50 { // nothing comes after
					s.until("looked at once more", once())
				}
				if s.made != tc.made {
					t.Errorf("%d clusters were made, want %d:\n%s", s.made, tc.made, s.told())
				}
				for cluster, want := range tc.sent {
					if got := sent(s, cluster); got != want {
						t.Errorf("%d configurations for %s, want %d:\n%s", got, cluster, want, s.told())
					}
				}
				for _, name := range []string{"demo-head-svc", "demo-serve-svc"} {
					svc := &corev1.Service{}
					s.must(s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, svc))
					if svc.Spec.Selector[rayv1.LabelCluster] != tc.active || svc.Labels[rayv1.LabelCluster] != tc.active {
						t.Errorf("Service %s: %v %v", name, svc.Labels, svc.Spec.Selector)
					}
				}
			})
		})
	}
}

// sent counts the configurations that the operator sent to a cluster.
func sent(s *stage, cluster string) int { return strings.Count(s.told(), "deploy "+cluster+" ") }

// once is true the second time.
func once() func(*rayv1.RayService) bool {
	looked := false
	return func(*rayv1.RayService) bool {
		was := looked
		looked = true
		return was
	}
}

// TestTakeoverInSteps continues an incremental upgrade. The old cluster keeps its configuration, which only Ray knows: KubeRay
// sends it the new one after a restart.
func TestTakeoverInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := storyService(inSteps(50, 50))
		rs.Finalizers = []string{rayv1.FinalizerRayService}
		a := kubeRayCluster(rs, "demo-a", "1R0DJNF5HKCSHGGSBBBIHS45SHC9M2QI")
		a.UID = "uid-a"
		image("b")(&rs.Spec)
		newConfig(&rs.Spec)
		b := kubeRayCluster(rs, "demo-b", "2R0DJNF5HKCSHGGSBBBIHS45SHC9M2QI")
		b.UID = "uid-b"
		at := metav1.Now()
		rs.Status = rayv1.RayServiceStatuses{
			ServiceStatus: rayv1.ServiceRunning,
			Conditions: []metav1.Condition{
				{Type: rayv1.RayServiceReady, Status: metav1.ConditionTrue, Reason: rayv1.ReasonNonZeroServeEndpoints},
				{Type: rayv1.RayServiceUpgradeInProgress, Status: metav1.ConditionTrue, Reason: rayv1.ReasonBothActivePendingClustersExist},
			},
			ActiveServiceStatus:  rayv1.RayServiceStatus{RayClusterName: "demo-a", TargetCapacity: new(int32(100)), TrafficRoutedPercent: new(int32(50)), LastTrafficMigratedTime: &at},
			PendingServiceStatus: rayv1.RayServiceStatus{RayClusterName: "demo-b", TargetCapacity: new(int32(50)), TrafficRoutedPercent: new(int32(50)), LastTrafficMigratedTime: &at},
		}
		gateway, route := rayservice.Gateway(rs), rayservice.Route(rs, []rayservice.Backend{{Cluster: "demo-a", Port: 8000, Weight: 50}, {Cluster: "demo-b", Port: 8000, Weight: 50}})
		gateway.SetLabels(nil)
		route.SetLabels(nil)
		s := newStage(t, append(kubeRayServices(rs, a), rs, a, b, gateway, route)...)
		for cluster, body := range map[string]string{
			"demo-a": `{"applications":[{"import_path":"a:b","name":"shop"}],"target_capacity":100}`,
			"demo-b": `{"applications":[{"import_path":"a:c","name":"shop"}],"target_capacity":50}`,
		} {
			if err := s.dash(cluster).DeployServe(t.Context(), []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		s.until("upgraded", func(rs *rayv1.RayService) bool {
			return rs.Status.ActiveServiceStatus.RayClusterName == "demo-b" && rs.Status.PendingServiceStatus.RayClusterName == "" && len(s.clusters()) == 1 &&
				is(rs, rayv1.RayServiceReady)
		})
		if s.made != 0 {
			t.Errorf("%d clusters were made:\n%s", s.made, s.told())
		}
		wantA := []string{
			`{"applications":[{"import_path":"a:b","name":"shop"}],"target_capacity":100}`, `{"applications":[{"import_path":"a:b","name":"shop"}],"target_capacity":50}`,
			`{"applications":[{"import_path":"a:b","name":"shop"}],"target_capacity":0}`,
		}
		wantB := []string{`{"applications":[{"import_path":"a:c","name":"shop"}],"target_capacity":50}`, `{"applications":[{"import_path":"a:c","name":"shop"}],"target_capacity":100}`}
		if diff := cmp.Diff(wantA, s.dash("demo-a").Configs()); diff != "" {
			t.Errorf("the old cluster got (-want +got):\n%s\n%s", diff, s.told())
		}
		if diff := cmp.Diff(wantB, s.dash("demo-b").Configs()); diff != "" {
			t.Errorf("the new cluster got (-want +got):\n%s", diff)
		}
	})
}

// TestEditAfterAnUpgradeOfTheOperator: one that only removes something is an edit as any other.
func TestEditAfterAnUpgradeOfTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := func(list ...corev1.EnvVar) func(*rayv1.RayServiceSpec) {
			return func(spec *rayv1.RayServiceSpec) {
				spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Env = list
			}
		}
		s := newStage(t, storyService(env(corev1.EnvVar{Name: "MODEL", Value: "large"})))
		s.comesUp()
		s.change = append(s.change, func(c *Config) { c.Version = "v2" })
		s.restart()
		for range 3 {
			s.until("looked at", once())
		}
		s.edit(env())
		s.until("served by another cluster", func(rs *rayv1.RayService) bool { return s.made == 2 && s.settled(rs) })
	})
}
