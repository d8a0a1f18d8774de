package deviceadmission_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
)

// burst creates n Pods at once and returns those that were admitted, and the first refusal.
func (w *world) burst(n int, asks string) (admitted []*corev1.Pod, refusal error) {
	w.T.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			pod := w.pod("", asks)
			pod.GenerateName = "burst-"
			err := w.Client.Create(w.T.Context(), pod)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				admitted = append(admitted, pod)
			case code(err) != http.StatusForbidden:
				w.T.Errorf("refused with %v", err)
			default:
				refusal = err
			}
		})
	}
	wg.Wait()
	return admitted, refusal
}

// admits asks without storing anything.
func (w *world) admits(asks string) error {
	return w.Client.Create(w.T.Context(), w.pod("dry", asks), client.DryRunAll)
}

func (w *world) remove(pod *corev1.Pod) {
	w.T.Helper()
	if err := w.Client.Delete(w.T.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) phase(pod *corev1.Pod, phase corev1.PodPhase) {
	w.T.Helper()
	pod.Status.Phase = phase
	if err := w.Client.Status().Update(w.T.Context(), pod); err != nil {
		w.T.Fatal(err)
	}
}

// TestQuotaHoldsInABurst: what is admitted and still pending counts at once.
func TestQuotaHoldsInABurst(t *testing.T) {
	w := newWorld(t, settings{})
	w.quota("team-a-gpu", "limits.nvidia.com/gpumem=8192")
	admitted, refusal := w.burst(20, "nvidia.com/gpu=1 nvidia.com/gpumem=4096")
	if len(admitted) != 2 {
		t.Fatalf("%d admitted, want 2", len(admitted))
	}
	for _, text := range []string{`quota "team-a-gpu": nvidia.com/gpumem requested 4096 MiB (container ray-worker: 4096), in use 8192 MiB (`, "hard 8192 MiB, exceeds by 4096 MiB"} {
		if !strings.Contains(refusal.Error(), text) {
			t.Errorf("refusal %v\nwants %s", refusal, text)
		}
	}
}

// TestQuotaOfTwoReplicasStrict: replicas that share reservations admit together what fits, however many Pods come at once and however little they see, with
// the rights that the component gives.
func TestQuotaOfTwoReplicasStrict(t *testing.T) {
	w := newWorld(t, settings{replicas: 2, strict: true})
	w.quota("q", "limits.nvidia.com/gpumem=8192")
	const asks = "nvidia.com/gpu=1 nvidia.com/gpumem=4096"
	for range 3 {
		if err := w.admits(asks); err != nil {
			t.Fatalf("dry-run left a trace: %v", err)
		}
	}
	admitted, refusal := w.burst(20, asks)
	if len(admitted) != 2 {
		t.Fatalf("%d admitted, want 2", len(admitted))
	}
	if !strings.Contains(refusal.Error(), "hard 8192 MiB, exceeds by 4096 MiB") {
		t.Errorf("refusal %v", refusal)
	}
	// A deleted Pod counts nothing, although the ledger has its record for some time.
	w.remove(admitted[0])
	w.Eventually("what a deleted Pod took to come back in both replicas", func() bool {
		first, second := w.admits(asks), w.admits(asks) // by turns
		return first == nil && second == nil
	})
	// A replica that sees nothing knows the reservations of the other.
	w.replicas[1].stop()
	if admitted, _ := w.burst(20, asks); len(admitted) != 1 {
		t.Errorf("%d admitted, want 1", len(admitted))
	}
	table := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "raygate-device-reservations." + w.Namespace}}
	if !w.Read(table) || len(table.OwnerReferences) != 1 || table.OwnerReferences[0].Name != w.Namespace {
		t.Errorf("the ledger is %+v", table)
	}
}

// TestReservations: dry-run takes nothing, an ending Pod gives back nothing, one that has ended or is gone all; a Pod that a later step refuses
// gives back after a time.
func TestReservations(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	w := newWorld(t, settings{clock: clock})
	w.quota("q", "limits.nvidia.com/gpu=1")
	const asks = "nvidia.com/gpu=1"
	for range 3 {
		if err := w.admits(asks); err != nil {
			t.Fatalf("dry-run left a trace: %v", err)
		}
	}
	full := func() bool { return code(w.admits(asks)) == http.StatusForbidden }
	free := func() bool { return w.admits(asks) == nil }
	first := w.pod("first", asks)
	first.Finalizers = []string{"example.com/hold"}
	w.Create(first)
	if !full() {
		t.Error("a pending Pod takes nothing")
	}
	taken := func(state string) {
		t.Helper()
		w.Eventually("the Pod to be seen as "+state, func() bool {
			err := w.admits(asks)
			return err != nil && strings.Contains(err.Error(), "1 "+state)
		})
	}
	taken("pending")
	clock.SetTime(clock.Now().Add(devicequota.DefaultTTL)) // of the reservation, which the Pod has replaced
	// The garbage collector of Pods ends those that are deleted before they have a node.
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "elsewhere"}}
	if err := w.Client.SubResource("binding").Create(t.Context(), first, binding); err != nil {
		t.Fatal(err)
	}
	w.remove(first)
	w.Read(first)
	w.phase(first, corev1.PodRunning) // the replica that knows this knows of the deletion
	taken("running")
	w.Read(first)
	first.Finalizers = nil
	if err := w.Client.Update(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.Eventually("what a deleted Pod took to come back", free)
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		pod := w.pod(strings.ToLower(string(phase)), asks)
		w.Create(pod)
		if !full() {
			t.Error("a pending Pod takes nothing")
		}
		w.phase(pod, phase)
		w.Eventually("what a Pod that has "+string(phase)+" took to come back", free)
	}
	// Kubernetes' own quota comes after us.
	w.Create(&corev1.ResourceQuota{ObjectMeta: w.At("native"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("1")}}})
	w.Eventually("the quota of Kubernetes", func() bool {
		q := &corev1.ResourceQuota{ObjectMeta: w.At("native")}
		return w.Read(q) && len(q.Status.Hard) > 0
	})
	greedy := w.pod("greedy", asks+" cpu=2")
	if err := w.Client.Create(t.Context(), greedy); err == nil || !strings.Contains(err.Error(), "requests.cpu") {
		t.Fatalf("want a refusal of the quota of Kubernetes: %v", err)
	}
	asksMore := asks + " cpu=100m"
	if err := w.admits(asksMore); code(err) != http.StatusForbidden || !strings.Contains(err.Error(), "1 reserved") {
		t.Errorf("while the reservation lasts: %v", err)
	}
	clock.SetTime(clock.Now().Add(devicequota.DefaultTTL))
	if err := w.admits(asksMore); err != nil {
		t.Errorf("after the end of the reservation: %v", err)
	}
}

// TestQuotas: all quotas count, in whatever order they come; zero blocks; sizes are multiplied.
func TestQuotas(t *testing.T) {
	w := newWorld(t, settings{})
	strict := w.quota("strict", "limits.nvidia.com/gpumem=8191")
	w.quota("wide", "limits.nvidia.com/gpumem=100000 requests.storage=1")
	refuses := func(asks string, texts ...string) {
		t.Helper()
		err := w.admits(asks)
		if code(err) != http.StatusForbidden {
			t.Errorf("%s: %v", asks, err)
			return
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v\nwants %s", asks, err, text)
			}
		}
	}
	refuses("nvidia.com/gpu=2 nvidia.com/gpumem=4096", `quota "strict": nvidia.com/gpumem requested 8192 MiB (container ray-worker: 2 × 4096), in use 0 MiB, hard 8191 MiB, exceeds by 1 MiB`)
	if err := w.Client.Delete(t.Context(), strict); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the other quota alone", func() bool { return w.admits("nvidia.com/gpu=2 nvidia.com/gpumem=4096") == nil })
	refuses("nvidia.com/gpu=2 nvidia.com/gpumem=50001", `quota "wide"`)
	w.warned()
	if err := w.admits("nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50"); err != nil || !strings.Contains(w.warned(), "which is not charged") { // D27, Warn
		t.Errorf("a share: %v", err)
	}
	zero := w.quota("zero", "limits.nvidia.com/gpu=0")
	refuses("nvidia.com/gpu=1", `quota "zero": nvidia.com/gpu requested 1 (container ray-worker: 1), in use 0, hard 0, exceeds by 1`)
	refuses("nvidia.com/gpumem=100000 nvidia.com/gpu=2", `quota "zero"`, `quota "wide"`)
	if err := w.admits("amd.com/gpu=4"); err != nil {
		t.Errorf("a resource without a key: %v", err)
	}
	if err := w.Client.Delete(t.Context(), zero); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the quota of zero to go", func() bool { return w.admits("nvidia.com/gpu=1") == nil })
}

// TestReservationsAfterARestart: a replica that does not know what is used answers nothing, and knows Pods afterwards that were made while nobody looked.
func TestReservationsAfterARestart(t *testing.T) {
	w := newWorld(t, settings{})
	w.quota("q", "limits.nvidia.com/gpu=2")
	w.Create(w.pod("before", "nvidia.com/gpu=1"))
	w.replicas[0].stop()
	unlabelled := w.pod("while-down", "nvidia.com/gpu=1") // reaches no webhook
	unlabelled.Labels = nil
	w.Create(unlabelled)

	env := controlPlane.Env(t)
	blind := w.startReplica(env, settings{}, false)
	w.replicas[0] = blind
	if err := w.Client.Create(t.Context(), w.pod("early", "nvidia.com/gpu=1")); code(err) != http.StatusInternalServerError {
		t.Errorf("a replica without knowledge admits: %v", err)
	}
	rec := httptest.NewRecorder()
	h, _ := blind.handlers.Load(deviceadmission.ValidatePath)
	h.(http.Handler).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, deviceadmission.ValidatePath, nil))
	if rec.Code != http.StatusServiceUnavailable {
		t.Errorf("it answers %d, want 503", rec.Code)
	}
	w.replicas[0] = w.startReplica(env, settings{}, true)
	if err := w.admits("nvidia.com/gpu=1"); code(err) != http.StatusForbidden || !strings.Contains(err.Error(), "in use 2 (2 pending)") {
		t.Errorf("after the restart: %v", err)
	}
}
