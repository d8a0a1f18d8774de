package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/expiryplan"
)

const (
	namespace = "default"
	actorUser = "user"
	imageA    = "ray:a"
	imageB    = "ray:b"
)

// scenario is what a seed generates: objects of a user, and steps of users, nodes, faults and operators.
type scenario struct {
	topic   string
	objects []client.Object
	steps   []step
	// policy is that of the operator for idle clusters.
	policy expiryplan.Policy
}

// step is one event at a given time.
type step struct {
	at   time.Duration
	what string
	do   func(w *world)
}

// span is the period of the steps, and longest the maximum duration of a fault.
const (
	span    = 120 * time.Second
	longest = 90 * time.Second
)

// newScenario generates a scenario. It depends only on the seed.
func newScenario(seed uint64) *scenario {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a simulation
	s := &scenario{}
	switch n := r.IntN(100); {
	case n < 44:
		s.topic = "job"
		s.job(r)
	case n < 84:
		s.topic = "service"
		s.service(r)
	case n < 94:
		s.topic = "cluster"
		s.cluster(r)
	default:
		s.topic = "cron"
		s.cron(r)
	}
	s.disturb(r)
	s.extend(r) // last, so that the seeds stay what they are
	slices.SortStableFunc(s.steps, func(a, b step) int { return int(a.at - b.at) })
	return s
}

// extend adds annotations of raygate to some scenarios, and what users do with them.
func (s *scenario) extend(r *rand.Rand) {
	for _, more := range []struct {
		topic string
		oneIn int
		add   func(*rand.Rand)
	}{
		{"cluster", 2, s.idles}, {"service", 2, s.controls}, {"job", 2, s.attempts}, {"cluster", 2, s.upgrades}, {"service", 3, s.analyses},
		{"cluster", 2, s.budgets}, {"service", 2, s.budgets}, {"job", 6, s.idleJob},
	} {
		if s.topic == more.topic && r.IntN(more.oneIn) == 0 {
			more.add(r)
		}
	}
}

// add adds a step at a random time.
func (s *scenario) add(r *rand.Rand, what string, do func(w *world)) {
	s.steps = append(s.steps, step{time.Duration(r.Int64N(int64(span))), what, do})
}

// oneOf runs one of several functions with a probability that is proportional to its weight.
func oneOf(r *rand.Rand, choices ...choice) {
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	n := r.IntN(sum)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			c.do()
			return
		}
	}
}

type choice struct {
	weight int
	do     func()
}

func clusterSpec(r *rand.Rand) rayv1.RayClusterSpec {
	spec := raytest.RayCluster("x/y", raytest.Workers("cpu", int32(r.IntN(3)))).Spec
	spec.HeadGroupSpec.Template.Spec.Containers[0].Image = imageA
	spec.HeadGroupSpec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
	return spec
}

func at(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

// edit returns a step in which a user changes a spec. Objects that are gone or being deleted stay unchanged.
func edit[T client.Object](gk schema.GroupKind, name string, change func(T)) func(*world) {
	return func(w *world) {
		w.store.Mutate(actorUser, gk, types.NamespacedName{Namespace: namespace, Name: name}, func(o client.Object) {
			if o.GetDeletionTimestamp() == nil {
				change(o.(T))
			}
		})
	}
}

func remove(gk schema.GroupKind, name string) func(*world) {
	return func(w *world) {
		if o := w.store.Find(gk, types.NamespacedName{Namespace: namespace, Name: name}); o != nil {
			_ = w.store.Delete(actorUser, o, client.DeleteOptions{})
		}
	}
}

// recreate returns a step that deletes an object and creates it again as soon as its name is free.
func recreate(gk schema.GroupKind, name string, o client.Object) func(*world) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	return func(w *world) {
		remove(gk, name)(w)
		var again func()
		again = func() {
			if found := w.store.Find(gk, key); found != nil && found.GetDeletionTimestamp() != nil {
				w.begins("a name is awaited", name, 1, 3*time.Second)
				w.after(time.Second, "recreate", again)
				return
			}
			_ = w.store.Create(actorUser, o.DeepCopyObject().(client.Object))
		}
		w.begins("a name is awaited", name, 1, 3*time.Second)
		w.after(100*time.Millisecond, "recreate", again)
	}
}

// disturb adds steps of nodes, faults and the operator.
func (s *scenario) disturb(r *rand.Rand) {
	for range r.IntN(5) {
		oneOf(r,
			choice{4, func() { s.add(r, "the head loses its memory", onPod(rayv1.HeadNode, r.IntN(2), (*nodes).kill)) }},
			choice{3, func() { s.add(r, "the head's node is drained", onPod(rayv1.HeadNode, r.IntN(2), (*nodes).evict)) }},
			choice{2, func() { s.add(r, "a worker ends", onPod(rayv1.WorkerNode, r.IntN(4), (*nodes).kill)) }},
			choice{2, func() { s.add(r, "a worker's node is drained", onPod(rayv1.WorkerNode, r.IntN(4), (*nodes).evict)) }},
			choice{2, func() { s.add(r, "the submitter's node is drained", onPod("", 0, (*nodes).evict)) }},
			choice{4, func() { s.add(r, "the operator is restarted", restart("")) }},
			choice{6, func() {
				n := int32(1 + r.IntN(12))
				s.add(r, fmt.Sprintf("the operator is killed by one of its next changes (%d)", n), func(w *world) { w.op.doomed.Store(n) })
			}},
			choice{2, func() {
				s.add(r, "another version of the operator takes over", restart(fmt.Sprint("raygate-v", r.IntN(3))))
			}},
			choice{3, func() { s.add(r, "raygate takes over from KubeRay", fromKubeRay) }},
			choice{2, func() { s.add(r, "a node evicts a worker", onPod(rayv1.WorkerNode, r.IntN(4), (*nodes).fail)) }},
			choice{1, func() { s.add(r, "a node evicts the head", onPod(rayv1.HeadNode, r.IntN(2), (*nodes).fail)) }},
			choice{2, func() {
				away := time.Duration(r.Int64N(int64(10 * time.Minute)))
				s.add(r, fmt.Sprintf("the operator is away for %s", away.Truncate(time.Second)), absent(away))
			}},
			choice{12, func() { s.fault(r) }},
		)
	}
}

func (s *scenario) fault(r *rand.Rand) {
	kinds := []struct {
		kind  string
		rates []float64
	}{
		{faultRequests, []float64{0.2, 0.6, 1}}, {faultLost, []float64{0.2, 0.6, 1}}, {faultAdmission, []float64{0.3, 1}}, {faultQuota, []float64{0.5, 1}},
		{faultWatch, []float64{1}}, {faultNodes, []float64{1}}, {faultDashboard, []float64{1}}, {faultHang, []float64{0.3, 1}}, {faultPosts, []float64{1}},
		{faultAnswers, []float64{0.5, 1}}, {faultUnreach, []float64{1}}, {faultGateway, []float64{1}},
	}
	k := kinds[r.IntN(len(kinds))]
	rate := k.rates[r.IntN(len(k.rates))]
	lasts := time.Duration(r.Int64N(int64(longest)))
	if (k.kind == faultPosts || k.kind == faultUnreach || k.kind == faultDashboard) && r.IntN(4) == 0 {
		lasts = 10 * time.Minute // longer than all limits
	}
	if k.kind == faultNodes && r.IntN(2) == 0 {
		lasts = 5 * time.Minute // a cluster waits, while the one in use has a life of its own
	}
	s.add(r, fmt.Sprintf("%s (%.0f %%) for %s", k.kind, rate*100, lasts.Truncate(time.Second)), func(w *world) { w.begins(k.kind, "", rate, lasts) })
}

// onPod returns a step that acts on one Pod of a node type; an empty type selects submitters.
func onPod(kind rayv1.RayNodeType, which int, do func(*nodes, *corev1.Pod)) func(*world) {
	return func(w *world) {
		var list []*corev1.Pod
		for _, o := range w.store.All(kindPod) {
			if p := o.(*corev1.Pod); p.Labels[rayv1.LabelNodeType] == string(kind) && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				list = append(list, p)
			}
		}
		if len(list) > 0 {
			do(&nodes{w}, list[which%len(list)])
		}
	}
}

// absent returns a step after which no operator runs for a while.
func absent(d time.Duration) func(*world) {
	return func(w *world) {
		w.op.stop()
		w.begins(faultAbsent, "", 1, d)
		w.after(d, "the operator is back", func() {
			if w.op.dead.Load() {
				w.replaceOperator(w.version)
			}
		})
	}
}

// restart returns a step that kills the operator and starts another; an empty version means the same version.
func restart(version string) func(*world) {
	return func(w *world) { w.replaceOperator(cmp.Or(version, w.version)) }
}
