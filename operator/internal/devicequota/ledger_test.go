package devicequota

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/raygate/raygate/pkg/devices/shipped"
)

// strictReplicas are engines that share a ledger, which the client holds.
func strictReplicas(t *testing.T, n int, funcs interceptor.Funcs) ([]*state, client.Client) {
	t.Helper()
	c := fake.NewClientBuilder().WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", UID: "of-ns"}}).WithInterceptorFuncs(funcs).Build()
	var list []*state
	for range n {
		s := newState(t, string(shipped.HAMi))
		s.engine = New(Options{Registry: s.live, Clock: s.clock, Ledger: &Ledger{Reader: c, Writer: c, Namespace: "system"}})
		s.quota("q", "limits.nvidia.com/gpu=2")
		list = append(list, s)
	}
	return list, c
}

// TestLedgerSharesReservations: what one replica grants, the others know, though they see no Pod, and until it ends by time.
func TestLedgerSharesReservations(t *testing.T) {
	replicas, c := strictReplicas(t, 2, interceptor.Funcs{})
	a, b := replicas[0], replicas[1]
	if len(a.check(pod("dry", "nvidia.com/gpu=2"), false).Exceeded) > 0 || !a.fits("1", "nvidia.com/gpu=1") || !b.fits("2", "nvidia.com/gpu=1") {
		t.Fatal("an empty quota is full")
	}
	if a.fits("3", "nvidia.com/gpu=1") || b.fits("3", "nvidia.com/gpu=1") {
		t.Error("a replica does not know what the other has granted")
	}
	// A replica that has seen the end of a Pod ignores its record in the ledger.
	gone := pod("1", "nvidia.com/gpu=1")
	a.engine.SetPod(gone)
	a.engine.DeletePod(gone)
	if b.fits("3", "nvidia.com/gpu=1") {
		t.Error("a replica that has not seen the end of a Pod does not count it")
	}
	if !a.fits("3", "nvidia.com/gpu=1") || a.fits("4", "nvidia.com/gpu=1") {
		t.Error("a replica that has seen the end of a Pod counts it, or nothing")
	}
	for _, s := range replicas {
		s.clock.SetTime(s.clock.Now().Add(DefaultTTL))
	}
	if !b.fits("5", "nvidia.com/gpu=2") {
		t.Error("reservations outlive their time")
	}
	var table corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "raygate-device-reservations.ns"}, &table); err != nil {
		t.Fatal(err)
	}
	if text := table.Data["reservations"]; strings.Count(text, "until") != 1 || table.OwnerReferences[0].UID != "of-ns" {
		t.Errorf("the ledger keeps what has ended: %s; owners %v", text, table.OwnerReferences)
	}
}

// TestLedgerUnderContention: many replicas at once grant together what there is.
func TestLedgerUnderContention(t *testing.T) {
	replicas, _ := strictReplicas(t, 4, interceptor.Funcs{})
	var granted atomic.Int64
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			s := replicas[i%len(replicas)]
			p := pod(fmt.Sprint(i), "nvidia.com/gpu=1")
			program := s.live.Program()
			v, err := s.engine.Check(t.Context(), program, p, &program.Plan(planned(p)).Demand, true)
			if err != nil {
				t.Error(err)
			} else if len(v.Exceeded) == 0 {
				granted.Add(1)
			}
		})
	}
	wg.Wait()
	if n := granted.Load(); n != 2 {
		t.Errorf("%d Pods were granted 2 devices", n)
	}
}

// TestLedgerOutOfReach: without the ledger there is no verdict for a Pod, and nothing is reserved; what no quota limits does not need it.
func TestLedgerOutOfReach(t *testing.T) {
	down := true
	replicas, _ := strictReplicas(t, 1, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if down {
			return errors.New("out of reach")
		}
		return c.Create(ctx, o, opts...)
	}})
	s := replicas[0]
	program := s.live.Program()
	p := pod("a", "nvidia.com/gpu=2")
	demand := &program.Plan(planned(p)).Demand
	if _, err := s.engine.Check(t.Context(), program, p, demand, true); err == nil || !strings.Contains(err.Error(), "out of reach") {
		t.Errorf("error %v", err)
	}
	if !s.fits("free", "amd.com/gpu=1") {
		t.Error("a Pod that no quota limits is refused")
	}
	down = false
	if !s.fits("b", "nvidia.com/gpu=2") {
		t.Error("a grant that was not written is reserved")
	}
}

// TestLedgerThatCannotBeRead: somebody has written nonsense into it; it is started anew.
func TestLedgerThatCannotBeRead(t *testing.T) {
	replicas, c := strictReplicas(t, 1, interceptor.Funcs{})
	broken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "raygate-device-reservations.ns"}, Data: map[string]string{"reservations": "nonsense"}}
	if err := c.Create(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	s := replicas[0]
	if !s.fits("a", "nvidia.com/gpu=2") || s.fits("b", "nvidia.com/gpu=1") {
		t.Error("the ledger was not started anew")
	}
}

// TestSumsFollow: sums that follow changes are those over all Pods, whatever happened before.
func TestSumsFollow(t *testing.T) {
	s := newState(t, string(shipped.HAMi))
	s.quota("q", "limits.nvidia.com/gpu=1")
	for i := range 300 {
		p := pod(fmt.Sprint(i%40), fmt.Sprint("nvidia.com/gpu=", i%7))
		p.Spec.PriorityClassName = []string{"", "high"}[i%2]
		p.Status.Phase = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded}[i%3]
		switch {
		case i%11 == 0:
			s.engine.DeletePod(p)
		case i%13 == 0:
			s.check(p, true)
		default:
			s.engine.SetPod(p)
		}
		s.clock.SetTime(s.clock.Now().Add(time.Second))
		n := s.engine.namespace("ns")
		n.expire(s.clock.Now())
		want := sums{}
		for _, e := range n.entries {
			want.change(e, 1)
		}
		var got, all tally
		for _, list := range n.sums {
			got.add(list["nvidia.com/gpu"])
		}
		for _, list := range want {
			all.add(list["nvidia.com/gpu"])
		}
		if got != all || len(want) != len(n.sums) {
			t.Fatalf("after change %d: %+v, want %+v", i, got, all)
		}
	}
}

// TestSumsDoNotOverflow: amounts beyond all that there is do not make room.
func TestSumsDoNotOverflow(t *testing.T) {
	s := newState(t, string(shipped.HAMi))
	for i := range 16 { // 16 times 2^60 is 0 in 64 bits
		s.engine.SetPod(pod(fmt.Sprint(i), "cambricon.com/vmlu=2147483648 cambricon.com/mlu.smlu.vmemory=2147483648"))
	}
	s.quota("q", "limits.cambricon.com/mlu.smlu.vmemory=1000")
	if s.fits("new", "cambricon.com/vmlu=1 cambricon.com/mlu.smlu.vmemory=1") {
		t.Error("a quota that is far exceeded has room")
	}
	for i := range 16 { // 16 times 2^60 is 0 in 64 bits
		s.engine.DeletePod(pod(fmt.Sprint(i), "cambricon.com/vmlu=2147483648 cambricon.com/mlu.smlu.vmemory=2147483648"))
	}
	if !s.fits("new", "cambricon.com/vmlu=1 cambricon.com/mlu.smlu.vmemory=1") {
		t.Error("what is gone is still counted")
	}
}
