package service_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// serviceOn is a RayService that is served by the cluster demo, changed by edits.
func serviceOn(edits ...func(*rayv1.RayService)) *rayv1.RayService {
	rs := &rayv1.RayService{TypeMeta: metav1.TypeMeta{Kind: "RayService"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "chat", UID: "u", Generation: 1}}
	rs.Spec.RayClusterSpec, rs.Spec.ServeConfigV2 = raytest.RayCluster("x/y").Spec, "applications: [{name: shop, import_path: 'a:b'}]"
	rs.Status.ObservedGeneration, rs.Status.NumServeEndpoints = 1, 1
	rs.Status.ActiveServiceStatus = rayv1.RayServiceStatus{RayClusterName: "demo", Applications: map[string]rayv1.AppStatus{"shop": {Status: "RUNNING"}}}
	setCondition(rs, rayv1.RayServiceReady, "True", rayv1.ReasonNonZeroServeEndpoints, "requests are served")
	for _, edit := range edits {
		edit(rs)
	}
	return rs
}

// setCondition replaces a condition; without a status it removes it.
func setCondition(rs *rayv1.RayService, kind string, status metav1.ConditionStatus, reason, message string) {
	var rest []metav1.Condition
	for _, c := range rs.Status.Conditions {
		if c.Type != kind {
			rest = append(rest, c)
		}
	}
	if status != "" {
		rest = append(rest, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 1})
	}
	rs.Status.Conditions = rest
}

func observedCluster(name string) *rayv1.RayCluster {
	rc := raytest.RayCluster("default/" + name)
	rc.Status.ObservedGeneration = rc.Generation
	return rc
}

// withNext adds the new cluster of an upgrade.
func withNext(w *world) { w.put("RayCluster", observedCluster("next")) }

func logOfRedis(rw http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(rw, "could not connect to Redis\n")
}

func TestDiagnoseService(t *testing.T) {
	set := func(kind string, status metav1.ConditionStatus, reason, message string) func(*rayv1.RayService) {
		return func(rs *rayv1.RayService) { setCondition(rs, kind, status, reason, message) }
	}
	notReady := set(rayv1.RayServiceReady, "False", rayv1.ReasonZeroServeEndpoints, "no Pod takes requests")
	down := func(rs *rayv1.RayService) { notReady(rs); rs.Status.NumServeEndpoints = 0 }
	fresh := func(rs *rayv1.RayService) { // its first cluster is being prepared
		rs.Status.NumServeEndpoints = 0
		rs.Status.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: "demo"}
		rs.Status.ActiveServiceStatus = rayv1.RayServiceStatus{}
		setCondition(rs, rayv1.RayServiceReady, "False", rayv1.ReasonRayServiceInitializing, "the first cluster is being prepared")
	}
	app := func(status, message string, deployments map[string]rayv1.ServeDeploymentStatus) func(*rayv1.RayService) {
		return func(rs *rayv1.RayService) {
			rs.Status.ActiveServiceStatus.Applications = map[string]rayv1.AppStatus{"shop": {Status: status, Message: message, Deployments: deployments}}
		}
	}
	upgrading := func(rs *rayv1.RayService) {
		rs.Status.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: "next"}
		setCondition(rs, rayv1.RayServiceUpgradeInProgress, "True", rayv1.ReasonBothActivePendingClustersExist, "cluster next is to follow cluster demo: the head of cluster next is not ready")
	}
	inSteps := func(rs *rayv1.RayService) {
		upgrading(rs)
		rs.Status.ActiveServiceStatus.TargetCapacity, rs.Status.ActiveServiceStatus.TrafficRoutedPercent = new(int32(100)), new(int32(75))
		rs.Status.PendingServiceStatus.TargetCapacity, rs.Status.PendingServiceStatus.TrafficRoutedPercent = new(int32(50)), new(int32(25))
	}
	pod := func(cluster string, status corev1.PodStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: cluster + "-head", Labels: map[string]string{rayv1.LabelNodeType: "head", rayv1.LabelCluster: cluster}}, Status: status}
	}
	healthy := pod("demo", corev1.PodStatus{})
	noImage := pod("next", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "ray-head", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}})
	redis := pod("demo", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "ray-head", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}}}})
	for name, tc := range map[string]struct {
		edit  func(*rayv1.RayService)
		pods  []corev1.Pod
		do    func(*world)
		ready bool
		want  []string
		texts []string
	}{
		"serving":      {ready: true},
		"not observed": {edit: func(rs *rayv1.RayService) { rs.Status = rayv1.RayServiceStatuses{} }, want: []string{"WARNING NotObserved"}},
		"the first cluster comes up": {
			edit: fresh, want: []string{"INFO Initializing"},
		},
		"the first cluster does not come up": {
			edit: fresh, pods: []corev1.Pod{pod("demo", noImage.Status)}, want: []string{"ERROR ImagePullFailed"},
		},
		"the first cluster cannot reach Redis": {
			edit: fresh, pods: []corev1.Pod{redis}, want: []string{"ERROR RedisUnreachable"},
			do: func(w *world) {
				rc := observedCluster("demo")
				rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
				w.put("RayCluster", rc)
			},
		},
		"a cluster that is gone": {edit: down, do: func(w *world) { delete(w.objects, "RayCluster/demo") }, want: []string{"WARNING ClusterMissing", "ERROR NoEndpoints"}},
		"timed out": {
			edit: func(rs *rayv1.RayService) {
				fresh(rs)
				rs.Status.PendingServiceStatus.RayClusterName = ""
				setCondition(rs, rayv1.RayServiceReady, "False", rayv1.ReasonRayServiceInitializingTimeout, "timeout 10s")
			},
			want: []string{"ERROR InitializingTimeout"}, texts: []string{"timeout 10s", "suspend and resume"},
		},
		"suspended": {
			edit: func(rs *rayv1.RayService) {
				rs.Spec.Suspend, rs.Status.ActiveServiceStatus = true, rayv1.RayServiceStatus{}
				setCondition(rs, rayv1.RayServiceReady, "False", rayv1.ReasonSuspendComplete, "")
				setCondition(rs, rayv1.RayServiceSuspended, "True", rayv1.ReasonSuspendComplete, "")
			},
			want: []string{"INFO Suspended"}, texts: []string{"resume it"},
		},
		"resumed too early": {
			edit: func(rs *rayv1.RayService) {
				rs.Status.ActiveServiceStatus = rayv1.RayServiceStatus{}
				setCondition(rs, rayv1.RayServiceReady, "False", rayv1.ReasonSuspendInProgress, "")
				setCondition(rs, rayv1.RayServiceSuspending, "True", rayv1.ReasonSuspendInProgress, "")
			},
			want: []string{"INFO Suspending"},
		},
		"elsewhere": {
			edit: func(rs *rayv1.RayService) {
				rs.Spec.ManagedBy, rs.Status = new(rayv1.ManagedByMultiKueue), rayv1.RayServiceStatuses{}
			},
			want: []string{"INFO ManagedElsewhere"},
		},
		"deleting": {edit: func(rs *rayv1.RayService) { rs.DeletionTimestamp = new(metav1.Now()) }, ready: true, want: []string{"INFO Deleting"}},
		"invalid": {edit: func(rs *rayv1.RayService) {
			rs.Spec.RayClusterDeletionDelaySeconds = new(int32(-1))
			setCondition(rs, rayv1.RayServiceReady, "False", rayv1.ReasonRayServiceValidationFailed, "")
		}, want: []string{"ERROR InvalidSpec"}, texts: []string{"rayClusterDeletionDelaySeconds"}},
		"invalid for the operator": {
			edit: set(rayv1.RayServiceReady, "False", rayv1.ReasonRayServiceValidationFailed, "a newer rule"), want: []string{"ERROR InvalidSpec"}, texts: []string{"a newer rule"},
		},
		"a configuration that is no YAML": {
			edit: func(rs *rayv1.RayService) {
				fresh(rs)
				setCondition(rs, rayv1.RayServiceStalled, "True", rayv1.ReasonServeConfigInvalid, "line 3")
			}, want: []string{"ERROR ServeConfigInvalid"}, texts: []string{"line 3"},
		},
		"a configuration that Ray refuses": {edit: set(rayv1.RayServiceStalled, "True", rayv1.ReasonServeConfigRefused, "field required"), ready: true, want: []string{"ERROR ServeConfigRefused"}},
		"a child that is refused":          {edit: set(rayv1.RayServiceStalled, "True", rayv1.ReasonChildRefused, "quota"), ready: true, want: []string{"ERROR ChildRefused"}, texts: []string{"quota"}},
		"no Gateway API":                   {edit: set(rayv1.RayServiceStalled, "True", rayv1.ReasonGatewayAPIMissing, "install it"), ready: true, want: []string{"ERROR GatewayAPIMissing"}},
		"no dashboard":                     {edit: set(rayv1.RayServiceStalled, "True", rayv1.ReasonDashboardUnavailable, "the dashboard of cluster demo"), ready: true, want: []string{"WARNING DashboardUnreachable"}},
		"no progress": {
			edit: func(rs *rayv1.RayService) {
				upgrading(rs)
				setCondition(rs, rayv1.RayServiceStalled, "True", rayv1.ReasonProgressDeadlineExceeded, "for 10m")
			},
			do:   withNext,
			pods: []corev1.Pod{healthy, noImage}, ready: true, want: []string{"WARNING ProgressDeadlineExceeded", "ERROR ImagePullFailed", "INFO UpgradeInProgress"},
		},
		"an application that failed": {
			edit: func(rs *rayv1.RayService) {
				down(rs)
				app("DEPLOY_FAILED", "ModuleNotFoundError: shop", nil)(rs)
			},
			want: []string{"ERROR ApplicationFailed"}, texts: []string{"ModuleNotFoundError: shop", "application shop"},
		},
		"a deployment that is not healthy": {
			edit:  app("UNHEALTHY", "one deployment", map[string]rayv1.ServeDeploymentStatus{"Front": {Status: "UNHEALTHY", Message: "health check failed"}, "Back": {Status: "HEALTHY"}}),
			ready: true, want: []string{"ERROR ApplicationUnhealthy", "ERROR DeploymentUnhealthy"}, texts: []string{"deployment Front of application shop", "health check failed"},
		},
		"an application that is deployed": {edit: app("DEPLOYING", "", nil), ready: true, want: []string{"INFO ApplicationNotRunning"}},
		"no applications": {
			edit: func(rs *rayv1.RayService) {
				fresh(rs)
				rs.Status.PendingServiceStatus.RayClusterStatus.Conditions = []metav1.Condition{{Type: rayv1.HeadPodReady, Status: "True", Reason: "x"}}
			},
			want: []string{"WARNING NoApplications"},
		},
		"nobody takes requests": {edit: down, want: []string{"ERROR NoEndpoints"}, texts: []string{"ray.io/serve"}},
		"nobody but the head takes requests": {
			edit: func(rs *rayv1.RayService) { down(rs); rs.Spec.ExcludeHeadPodFromServeSvc = true }, want: []string{"ERROR NoEndpoints"}, texts: []string{"excludeHeadPodFromServeSvc"},
		},
		"a Gateway without a controller": {
			edit: set(rayv1.RayServiceGatewayReady, "False", rayv1.ReasonGatewayNotReady, "Accepted is Unknown"), ready: true, want: []string{"WARNING GatewayNotReady"}, texts: []string{"Accepted is Unknown", "GatewayClass"},
		},
		"a route that is not accepted": {edit: set(rayv1.RayServiceGatewayReady, "False", rayv1.ReasonHTTPRouteNotAccepted, "no"), ready: true, want: []string{"WARNING HTTPRouteNotAccepted"}},
		"a Gateway that is ready":      {edit: set(rayv1.RayServiceGatewayReady, "True", rayv1.ReasonRouted, "at 10.0.0.1"), ready: true},
		"a new cluster that is stuck": {
			edit: upgrading, pods: []corev1.Pod{healthy, noImage}, ready: true, want: []string{"ERROR ImagePullFailed", "INFO UpgradeInProgress"}, texts: []string{"the head of cluster next is not ready", "next-head"},
			do: withNext,
		},
		"an upgrade in steps": {
			edit: inSteps, pods: []corev1.Pod{healthy, pod("next", corev1.PodStatus{})}, ready: true, want: []string{"INFO UpgradeInProgress"},
			texts: []string{"cluster demo has 75% of the traffic and 100% of the capacity", "cluster next has 25% of the traffic and 50% of the capacity"},
			do:    withNext,
		},
		"a rollback": {
			edit: func(rs *rayv1.RayService) {
				inSteps(rs)
				setCondition(rs, rayv1.RayServiceRollbackInProgress, "True", rayv1.ReasonDesiredClusterSpecChanged, "the spec is that of cluster demo again")
			},
			pods: []corev1.Pod{healthy, pod("next", corev1.PodStatus{})}, ready: true, want: []string{"INFO RollbackInProgress"}, texts: []string{"again; cluster demo has 75%"},
			do: withNext,
		},
		"what the operator could not do": {
			edit: fresh, want: []string{"WARNING FailedToCreateRayCluster"}, texts: []string{"quota"},
			do: func(w *world) {
				w.events = []corev1.Event{{InvolvedObject: corev1.ObjectReference{Kind: "RayService", Name: "chat", UID: "u"}, Type: "Warning", Reason: "FailedToCreateRayCluster", Message: "exceeded quota"}}
			},
		},
		"may not see the cluster": {ready: true, do: func(w *world) { w.denied["get rayclusters"] = true }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			edit, do := tc.edit, tc.do
			if edit == nil {
				edit = func(*rayv1.RayService) {}
			}
			if do == nil {
				do = func(*world) {}
			}
			w.put("RayService", serviceOn(edit))
			if w.pods = tc.pods; w.pods == nil {
				w.pods = []corev1.Pod{healthy}
			}
			w.podLog = logOfRedis
			do(w)
			resp, err := w.services.DiagnoseService(t.Context(), &raygatev2.DiagnoseServiceRequest{Namespace: "default", Name: "chat"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, reasons(resp.GetFindings())); diff != "" || resp.GetReady() != tc.ready {
				t.Errorf("ready %v, findings (-want +got):\n%s\n%v", resp.GetReady(), diff, resp.GetFindings())
			}
			for _, text := range tc.texts {
				if !strings.Contains(fmt.Sprint(resp.GetFindings()), text) {
					t.Errorf("nothing is said of %q: %v", text, resp.GetFindings())
				}
			}
			for _, f := range resp.GetFindings() {
				if f.GetMessage() == "" || f.GetObject().GetName() == "" {
					t.Errorf("incomplete finding %v", f)
				}
			}
		})
	}
}
