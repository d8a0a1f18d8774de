package raycluster

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// finish makes the scope one in which all steps ran.
func finish(s *scope) {
	var all []reconcile.Step[*scope]
	for _, name := range []string{stepHeadService, stepDependents, stepGangs, stepPods} {
		all = append(all, reconcile.Step[*scope]{Name: name, Run: func(context.Context, *scope) (reconcile.Outcome, error) { return reconcile.Outcome{}, nil }})
	}
	s.said = &report.Once{}
	s.progress, _ = reconcile.Run(context.Background(), all, s)
}

// statusOf is the status that a look at these Pods leads to.
func statusOf(rc *rayv1.RayCluster, svc *corev1.Service, pods ...*corev1.Pod) rayv1.RayClusterStatus {
	s := &scope{cluster: rc.DeepCopy(), now: raytest.Epoch.Time, pods: pods, headService: svc}
	finish(s)
	updateStatus(s)
	return s.cluster.Status
}

func TestHeadAndEndpoints(t *testing.T) {
	port := func(name string, port int32, target intstr.IntOrString, node int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: port, TargetPort: target, NodePort: node}
	}
	service := func(ip string, ports ...corev1.ServicePort) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "svc"}, Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: ports}}
	}
	rc := raytest.RayCluster("ns/demo", func(rc *rayv1.RayCluster) {
		rc.Status.Endpoints = map[string]string{"closed": "1"}
		rc.Status.Head = rayv1.HeadInfo{PodName: "old", PodIP: "10.9.9.9", ServiceIP: "10.9.9.9"}
	})
	head := raytest.HeadPod(rc, "h", func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" })
	leaving := raytest.HeadPod(rc, "a", raytest.Terminating(), func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.2" })
	cases := map[string]struct {
		service       *corev1.Service
		pods          []*corev1.Pod
		wantHead      rayv1.HeadInfo
		wantEndpoints map[string]string
	}{
		"nothing yet": {},
		"a headless Service": {
			service: service(corev1.ClusterIPNone, port("dashboard", 80, intstr.FromInt32(8265), 0)), pods: []*corev1.Pod{head},
			wantHead:      rayv1.HeadInfo{PodName: "h", PodIP: "10.0.0.1", ServiceName: "svc", ServiceIP: "10.0.0.1"},
			wantEndpoints: map[string]string{"dashboard": "8265"},
		},
		"a headless Service without a head": {
			service: service(corev1.ClusterIPNone), wantHead: rayv1.HeadInfo{ServiceName: "svc"},
		},
		"a Service with an address": {
			service: service("10.1.1.1"), pods: []*corev1.Pod{head},
			wantHead: rayv1.HeadInfo{PodName: "h", PodIP: "10.0.0.1", ServiceName: "svc", ServiceIP: "10.1.1.1"},
		},
		"a head beside one that leaves": {
			pods: []*corev1.Pod{leaving, head}, wantHead: rayv1.HeadInfo{PodName: "h", PodIP: "10.0.0.1"},
		},
		"a head that leaves, and no other": {
			pods: []*corev1.Pod{leaving}, wantHead: rayv1.HeadInfo{PodName: "a", PodIP: "10.0.0.2"},
		},
		"every kind of port": {
			service: service(corev1.ClusterIPNone, port("node", 80, intstr.FromInt32(8265), 30080), port("number", 80, intstr.FromInt32(8265), 0),
				port("name", 80, intstr.FromString("http"), 0), port("unset", 80, intstr.IntOrString{}, 0), port("", 81, intstr.FromInt32(81), 0)),
			wantHead:      rayv1.HeadInfo{ServiceName: "svc"},
			wantEndpoints: map[string]string{"node": "30080", "number": "8265", "name": "http", "unset": "80"},
		},
		"ports without names": {
			service: service(corev1.ClusterIPNone, port("", 80, intstr.FromInt32(80), 0)), wantHead: rayv1.HeadInfo{ServiceName: "svc"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			st := statusOf(rc, tc.service, tc.pods...)
			if diff := cmp.Diff(tc.wantHead, st.Head); diff != "" {
				t.Errorf("head (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantEndpoints, st.Endpoints); diff != "" {
				t.Errorf("endpoints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountersAndResources(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 9, raytest.Bounds(1, 4), raytest.Hosts(2), raytest.GroupContainer(func(c *corev1.Container) {
		c.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{
			"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi"), "nvidia.com/gpu": resource.MustParse("2"), "google.com/tpu": resource.MustParse("4"),
		}}
	})), raytest.HeadContainer(func(c *corev1.Container) {
		c.Resources = corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("2Gi")},
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
		}
	}), func(rc *rayv1.RayCluster) { rc.Generation = 7 })
	worker := func(name string, opts ...raytest.PodOption) *corev1.Pod {
		return raytest.WorkerPod(rc, "a", name, opts...)
	}
	got := statusOf(rc, nil, raytest.HeadPod(rc, "h"), worker("ready"), worker("running", raytest.NotReady()),
		worker("pending", raytest.Phase(corev1.PodPending)), worker("leaving", raytest.Terminating()))
	got.Conditions, got.Head = nil, rayv1.HeadInfo{}
	want := rayv1.RayClusterStatus{
		DesiredWorkerReplicas: 8, MinWorkerReplicas: 2, MaxWorkerReplicas: 8, AvailableWorkerReplicas: 2, ReadyWorkerReplicas: 1,
		DesiredCPU: resource.MustParse("5"), DesiredMemory: resource.MustParse("9Gi"), DesiredGPU: resource.MustParse("16"), DesiredTPU: resource.MustParse("32"),
		ObservedGeneration: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestHeadPodReady(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	ready := func(status corev1.ConditionStatus, reason, message string, states ...corev1.ContainerState) raytest.PodOption {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, Reason: reason, Message: message}}
			p.Status.ContainerStatuses = nil
			for i, s := range states {
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: string(rune('a' + i)), State: s})
			}
		}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pulling := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "back off"}}
	silent := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	killed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", Message: "too much"}}
	const notReady = "ContainersNotReady"
	cases := map[string]struct {
		head    []raytest.PodOption // nil for none
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"no head":               {nil, "False", "HeadPodNotFound", "Head Pod not found"},
		"ready":                 {[]raytest.PodOption{ready("True", "", "")}, "True", "HeadPodRunningAndReady", ""},
		"ready, with a reason":  {[]raytest.PodOption{ready("True", "Nice", "m")}, "True", "Nice", "m"},
		"not ready":             {[]raytest.PodOption{ready("False", "", "m")}, "False", "Unknown", "m"},
		"nobody knows":          {[]raytest.PodOption{ready("Unknown", "NodeLost", "m")}, "Unknown", "NodeLost", "m"},
		"a container waits":     {[]raytest.PodOption{ready("False", notReady, "m", running, pulling, killed)}, "False", "ImagePullBackOff", "m; b: back off"},
		"a container has ended": {[]raytest.PodOption{ready("False", notReady, "m", killed, pulling)}, "False", "OOMKilled", "m; a: too much"},
		"a container says no reason, which a condition must have": {
			[]raytest.PodOption{ready("False", notReady, "m", silent)}, "False", notReady, "m; a: ",
		},
		"all containers run": {[]raytest.PodOption{ready("False", notReady, "m", running)}, "False", notReady, "m"},
		"no node has room": {[]raytest.PodOption{raytest.Unscheduled(), func(p *corev1.Pod) {
			p.Status.Conditions[0].Reason, p.Status.Conditions[0].Message = "Unschedulable", "0/2 nodes"
		}}, "False", "Unschedulable", "0/2 nodes"},
		"nothing is known": {[]raytest.PodOption{func(p *corev1.Pod) { p.Status.Conditions = nil }}, "False", "Unknown", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			if tc.head != nil {
				pods = append(pods, raytest.HeadPod(rc, "h", tc.head...))
			}
			c := meta.FindStatusCondition(statusOf(rc, nil, pods...).Conditions, rayv1.HeadPodReady)
			want := metav1.Condition{
				Type: rayv1.HeadPodReady, Status: tc.status, Reason: tc.reason, Message: tc.message,
				ObservedGeneration: rc.Generation, LastTransitionTime: raytest.Epoch,
			}
			if diff := cmp.Diff(want, *c); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

// lifecycle are status and reason of the conditions about the life of the cluster.
func lifecycle(st rayv1.RayClusterStatus) map[string]string {
	all := map[string]string{}
	for _, kind := range []string{rayv1.RayClusterProvisioned, rayv1.RayClusterSuspending, rayv1.RayClusterSuspended} {
		if c := meta.FindStatusCondition(st.Conditions, kind); c != nil {
			all[kind] = string(c.Status) + " " + c.Reason
		}
	}
	return all
}

func TestLifecycle(t *testing.T) {
	const (
		provisioning = "False RayClusterPodsProvisioning"
		provisioned  = "True AllPodRunningAndReadyFirstTime"
	)
	with := func(kind, reason string, status metav1.ConditionStatus) raytest.ClusterOption {
		return func(rc *rayv1.RayCluster) {
			rc.Status.Conditions = append(rc.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason})
		}
	}
	was := with(rayv1.RayClusterProvisioned, "AllPodRunningAndReadyFirstTime", metav1.ConditionTrue)
	wasNot := with(rayv1.RayClusterProvisioned, "RayClusterPodsProvisioning", metav1.ConditionFalse)
	suspending := with(rayv1.RayClusterSuspending, "RayClusterSuspending", metav1.ConditionTrue)
	suspended := with(rayv1.RayClusterSuspended, "RayClusterSuspended", metav1.ConditionTrue)
	cases := map[string]struct {
		cluster                            []raytest.ClusterOption
		head, worker                       []raytest.PodOption // nil for none
		provisioned, suspending, suspended string
		state                              rayv1.ClusterState
	}{
		"new":                {nil, nil, nil, provisioning, "False", "False", ""},
		"the head alone":     {nil, []raytest.PodOption{}, nil, provisioning, "False", "False", ""},
		"a worker not ready": {nil, []raytest.PodOption{}, []raytest.PodOption{raytest.NotReady()}, provisioning, "False", "False", ""},
		"a worker that runs and has no Ready condition": {
			nil, []raytest.PodOption{}, []raytest.PodOption{func(p *corev1.Pod) { p.Status.Conditions = nil }}, provisioning, "False", "False", "",
		},
		"a worker too many": {
			[]raytest.ClusterOption{func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(0)) }},
			[]raytest.PodOption{}, []raytest.PodOption{}, provisioning, "False", "False", "",
		},
		"a worker too many that leaves": {
			[]raytest.ClusterOption{func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(0)) }},
			[]raytest.PodOption{}, []raytest.PodOption{raytest.Terminating()}, provisioned, "False", "False", "ready",
		},
		"a Pod that cleans up after a cluster before": {
			[]raytest.ClusterOption{func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(0)) }},
			[]raytest.PodOption{}, []raytest.PodOption{raytest.PodLabel(rayv1.LabelNodeType, string(rayv1.RedisCleanupNode))}, provisioned, "False", "False", "ready",
		},
		"all ready":             {nil, []raytest.PodOption{}, []raytest.PodOption{}, provisioned, "False", "False", "ready"},
		"once ready stays":      {[]raytest.ClusterOption{was}, nil, nil, provisioned, "False", "False", ""},
		"suspension is asked":   {[]raytest.ClusterOption{was, raytest.Suspend(true)}, []raytest.PodOption{}, nil, provisioned, "True", "False", ""},
		"the last Pod leaves":   {[]raytest.ClusterOption{was, suspending, raytest.Suspend(true)}, []raytest.PodOption{raytest.Terminating()}, nil, provisioned, "True", "False", ""},
		"no Pod is left":        {[]raytest.ClusterOption{was, suspending, raytest.Suspend(true)}, nil, nil, provisioning, "False", "True", "suspended"},
		"born suspended":        {[]raytest.ClusterOption{raytest.Suspend(true)}, nil, nil, provisioning, "False", "True", "suspended"},
		"taken back too early":  {[]raytest.ClusterOption{was, suspending, raytest.Suspend(false)}, []raytest.PodOption{raytest.Terminating()}, nil, provisioned, "True", "False", ""},
		"taken back, all gone":  {[]raytest.ClusterOption{was, suspending, raytest.Suspend(false)}, nil, nil, provisioning, "False", "True", ""},
		"stays suspended":       {[]raytest.ClusterOption{wasNot, suspended, raytest.Suspend(true)}, nil, nil, provisioning, "False", "True", "suspended"},
		"resumed":               {[]raytest.ClusterOption{wasNot, suspended, raytest.Suspend(false)}, []raytest.PodOption{raytest.NotReady()}, nil, provisioning, "False", "False", ""},
		"the field was removed": {[]raytest.ClusterOption{wasNot, suspended}, []raytest.PodOption{raytest.NotReady()}, nil, provisioning, "False", "False", ""},
		"both at once, which KubeRay gives up on": {
			[]raytest.ClusterOption{was, suspending, suspended, raytest.Suspend(true)}, nil, nil, provisioning, "False", "True", "suspended",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", append([]raytest.ClusterOption{raytest.Workers("a", 1)}, tc.cluster...)...)
			var pods []*corev1.Pod
			if tc.head != nil {
				pods = append(pods, raytest.HeadPod(rc, "h", tc.head...))
			}
			if tc.worker != nil {
				pods = append(pods, raytest.WorkerPod(rc, "a", "w", tc.worker...))
			}
			st := statusOf(rc, nil, pods...)
			want := map[string]string{
				rayv1.RayClusterProvisioned: tc.provisioned,
				rayv1.RayClusterSuspending:  tc.suspending + " RayClusterSuspending", rayv1.RayClusterSuspended: tc.suspended + " RayClusterSuspended",
			}
			if diff := cmp.Diff(want, lifecycle(st)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if st.State != tc.state {
				t.Errorf("state %q, want %q", st.State, tc.state)
			}
		})
	}
}

// TestWhatIsWorthAWrite: every field but the times of earlier writes, and what somebody waits for at once.
func TestWhatIsWorthAWrite(t *testing.T) {
	cases := map[string]struct {
		change              func(*rayv1.RayClusterStatus)
		wantWrite, wantSoon bool
	}{
		"nothing":        {func(*rayv1.RayClusterStatus) {}, false, false},
		"lastUpdateTime": {func(st *rayv1.RayClusterStatus) { st.LastUpdateTime = new(metav1.Now()) }, false, false},
		"transitions": {func(st *rayv1.RayClusterStatus) {
			st.StateTransitionTimes = map[rayv1.ClusterState]*metav1.Time{"ready": nil}
		}, false, false},
		"no endpoints":       {func(st *rayv1.RayClusterStatus) { st.Endpoints = map[string]string{} }, false, false},
		"state":              {func(st *rayv1.RayClusterStatus) { st.State = "ready" }, true, true},
		"reason":             {func(st *rayv1.RayClusterStatus) { st.Reason = "r" }, true, true},
		"counters":           {func(st *rayv1.RayClusterStatus) { st.ReadyWorkerReplicas = 1 }, true, false},
		"resources":          {func(st *rayv1.RayClusterStatus) { st.DesiredTPU = resource.MustParse("1") }, true, false},
		"observedGeneration": {func(st *rayv1.RayClusterStatus) { st.ObservedGeneration = 9 }, true, false},
		"endpoints":          {func(st *rayv1.RayClusterStatus) { st.Endpoints = map[string]string{"a": "1"} }, true, false},
		"head":               {func(st *rayv1.RayClusterStatus) { st.Head.PodIP = "10.0.0.1" }, true, false},
		"a condition": {func(st *rayv1.RayClusterStatus) {
			st.Conditions = []metav1.Condition{{Type: rayv1.HeadPodReady, Status: "True"}}
		}, true, false},
		"a condition that somebody waits for": {func(st *rayv1.RayClusterStatus) {
			st.Conditions = []metav1.Condition{{Type: rayv1.RayClusterStalled, Status: "True"}}
		}, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after rayv1.RayClusterStatus
			tc.change(&after)
			if write, soon := statusDiffers(&before, &after), urgent(&before, &after); write != tc.wantWrite || soon != tc.wantSoon {
				t.Errorf("write %t, at once %t; want %t and %t", write, soon, tc.wantWrite, tc.wantSoon)
			}
		})
	}
}

func TestStamp(t *testing.T) {
	now := raytest.Epoch.Time
	before := rayv1.RayClusterStatus{State: "suspended", StateTransitionTimes: map[rayv1.ClusterState]*metav1.Time{"suspended": new(raytest.Epoch)}}
	after := before
	after.State = "ready"
	later := now.Add(time.Hour)
	stamp(&before, &after, later)
	want := map[rayv1.ClusterState]*metav1.Time{"suspended": new(raytest.Epoch), "ready": new(metav1.NewTime(later))}
	if diff := cmp.Diff(want, after.StateTransitionTimes); diff != "" || !after.LastUpdateTime.Time.Equal(later) {
		t.Errorf("written at %v, transitions (-want +got):\n%s", after.LastUpdateTime, diff)
	}
	again := after
	stamp(&after, &again, later.Add(time.Hour))
	if diff := cmp.Diff(want, again.StateTransitionTimes); diff != "" || len(before.StateTransitionTimes) != 1 {
		t.Errorf("transitions of a state that stays, or of the status before (-want +got):\n%s", diff)
	}
}
