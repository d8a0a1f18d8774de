package podexec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// server is an executor over a fake API server, whose creates can fail.
type server struct {
	*Executor
	t     *testing.T
	rc    *rayv1.RayCluster
	clock *clocktesting.FakePassiveClock
	fail  func(p *corev1.Pod) error
	tried int
	made  int
}

func newServer(t *testing.T, objects ...client.Object) *server {
	s := &server{t: t, rc: raytest.RayCluster("ns/demo"), clock: clocktesting.NewFakePassiveClock(raytest.Epoch.Time)}
	tries := make(chan struct{}, 1)
	tries <- struct{}{}
	c := fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			<-tries
			defer func() { tries <- struct{}{} }()
			s.tried++
			if s.fail != nil {
				if err := s.fail(o.(*corev1.Pod)); err != nil {
					return err
				}
			}
			s.made++
			o.SetUID(raytest.WorkerPod(s.rc, "g", fmt.Sprint("made-", s.made)).UID)
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	s.Executor = New(c, c, s.clock)
	return s
}

// workers asks for n workers of each group, or for replicas of some hosts.
func (s *server) workers(n, hosts int, groups ...string) Result {
	w := Work{Cluster: s.rc}
	for _, name := range groups {
		g := Group{Name: name, Model: &corev1.Pod{}}
		g.Model.Namespace, g.Model.GenerateName = "ns", name+"-"
		g.Model.OwnerReferences = raytest.WorkerPod(s.rc, name, "model").OwnerReferences
		for i := range n {
			if hosts == 0 {
				g.Places = append(g.Places, nil)
				continue
			}
			for h := range hosts {
				g.Places = append(g.Places, &pod.Replica{Index: i, Name: fmt.Sprint("r", i), Host: h})
			}
		}
		w.Groups = append(w.Groups, g)
	}
	return s.Run(s.t.Context(), w)
}

// TestRunIsBounded: a run that went on until all Pods are there would keep a worker from other clusters.
func TestRunIsBounded(t *testing.T) {
	cases := map[string]struct {
		n, hosts int
		want     int
		wantMore bool
	}{
		"few":                              {n: 10, want: 10},
		"as many as a run may create":      {n: maxRequests, want: maxRequests},
		"thousands":                        {n: 2000, want: maxRequests, wantMore: true},
		"replicas, to the end of the last": {n: 100, hosts: 6, want: 60, wantMore: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			r := s.workers(tc.n, tc.hosts, "g")
			if len(r.Created) != tc.want || r.More != tc.wantMore || s.tried != tc.want {
				t.Errorf("created %d with %d requests, more: %t; want %d and %t", len(r.Created), s.tried, r.More, tc.want, tc.wantMore)
			}
		})
	}
}

func TestRoomBoundsARun(t *testing.T) {
	s := newServer(t)
	w := Work{Cluster: s.rc, Room: new(3), Groups: []Group{{Name: "g", Model: &corev1.Pod{}, Places: make([]*pod.Replica, 9)}}}
	w.Groups[0].Model.GenerateName, w.Groups[0].Model.Namespace = "g-", "ns"
	if r := s.Run(t.Context(), w); len(r.Created) != 3 || !r.More {
		t.Errorf("created %d, more: %t", len(r.Created), r.More)
	}
	w.Room = new(-1)
	if r := s.Run(t.Context(), w); len(r.Created) != 0 || !r.More {
		t.Errorf("created %d without room, more: %t", len(r.Created), r.More)
	}
}

// TestTimedOutCreateThatSucceeded: whether a request that timed out was carried out, nobody knows until the Pods are all there.
func TestTimedOutCreateThatSucceeded(t *testing.T) {
	s := newServer(t)
	s.fail = func(*corev1.Pod) error { return apierrors.NewTimeoutError("slow", 1) }
	if r := s.workers(1, 0, "g"); r.Err == nil || len(r.Failures) != 0 || !s.Unfinished(s.rc, "g") {
		t.Fatalf("result %+v, unfinished: %t", r, s.Unfinished(s.rc, "g"))
	}
	s.workers(0, 0) // the plan finds that nothing is missing
	if s.Unfinished(s.rc, "g") {
		t.Error("the group counts as unfinished though it has all its Pods")
	}
}

func TestRefusedGroupKeepsNoOther(t *testing.T) {
	s := newServer(t)
	s.fail = func(p *corev1.Pod) error {
		if p.GenerateName == "bad-" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "bad-x1", errors.New("exceeded quota"))
		}
		return nil
	}
	r := s.workers(20, 0, "bad", "good")
	bad := func(p *corev1.Pod) bool { return p.GenerateName != "good-" }
	if len(r.Created) != 20 || slices.ContainsFunc(r.Created, bad) {
		t.Errorf("created %d, of bad ones %t", len(r.Created), slices.ContainsFunc(r.Created, bad))
	}
	if len(r.Failures) != firstBatch || r.Failures[0].Refusal != rayv1.ReasonQuotaExceeded || r.After != FirstRetry {
		t.Errorf("failures %+v, look again after %s", r.Failures, r.After)
	}
	tried := s.tried
	if r := s.workers(20, 0, "bad"); s.tried != tried || len(r.Earlier) == 0 {
		t.Errorf("%d requests too early, still known: %+v", s.tried-tried, r.Earlier)
	}
	s.rc.Generation++
	if s.workers(20, 0, "bad"); s.tried == tried {
		t.Error("a changed spec is not tried at once")
	}
}

// TestPodsThatEndAreReplacedEverMoreRarely, however many of a group end at once.
func TestPodsThatEndAreReplacedEverMoreRarely(t *testing.T) {
	s := newServer(t)
	ended := func(name string) podplan.Deletion {
		return podplan.Deletion{Pod: raytest.WorkerPod(s.rc, "g", name), Group: "g", Reason: podplan.ReasonUnhealthy, Message: "it failed"}
	}
	r := s.Run(t.Context(), Work{Cluster: s.rc, Delete: []podplan.Deletion{ended("a"), ended("b")}})
	if len(r.Deleted) != 2 {
		t.Fatalf("result %+v", r)
	}
	if r := s.workers(2, 0, "g"); len(r.Created) != 0 || r.After != FirstRetry {
		t.Errorf("created %d at once, look again after %s", len(r.Created), r.After)
	}
	s.clock.SetTime(raytest.Epoch.Add(FirstRetry))
	if r := s.workers(2, 0, "g"); len(r.Created) != 2 {
		t.Errorf("created %d after the wait", len(r.Created))
	}
}
