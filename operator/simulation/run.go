package simulation

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/simulation/apiserver"
)

// Options are how to run a seed.
type Options struct {
	// Without are steps to leave out, by their number.
	Without map[int]bool
	// History keeps a line for each thing that happens.
	History bool
}

// Result is the outcome of a seed.
type Result struct {
	Seed uint64
	// Topic is the kind of object that it is about, and Plan its steps, those that were left out included.
	Topic string
	Plan  []string
	// Violation is the first invariant that did not hold; nil if all did.
	Violation *Violation
	// History lists the events of the run, if it was requested.
	History []string
	// Steps are things that happened, Requests those of the operator to the API server, Lasted the time in the simulation.
	Steps, Requests int
	Lasted          time.Duration
}

const (
	// settleTime is how long the world has to reach its end once there are no more faults: limits of minutes are in it, one after the other.
	settleTime = 40 * time.Minute
	// disturbedTime is beyond the longest fault: a name that is awaited longer is never free.
	disturbedTime = 5 * time.Hour
	// restTime is how long nothing may be written then.
	restTime = 2 * time.Minute
)

// Run runs a seed in a bubble of its own.
func Run(t *testing.T, seed uint64, o Options) Result {
	t.Helper()
	var result Result
	synctest.Test(t, func(*testing.T) { result = run(seed, newScenario(seed), o) })
	return result
}

func run(seed uint64, s *scenario, o Options) Result {
	w := &world{seed: seed, policy: s.policy, begin: time.Now(), keep: o.History, streams: map[string]*rand.Rand{}, stuck: map[types.UID]bool{}, settings: map[string]bool{}, poke: make(chan struct{}, 1)}
	w.store = apiserver.NewStore(scheme(), time.Now)
	w.rays = &rays{world: w, heads: map[types.UID]*ray{}, lost: map[string]time.Time{}}
	w.historyStore = newHistoryStore(w)
	w.prometheus = &prometheus{world: w, fail: map[string]bool{}}
	w.watch = newWatchdog(w)
	w.watch.lastWrite = time.Now()
	for _, watcher := range []func(apiserver.Change){
		w.watch.changed, w.watch.traffic, (&nodes{w}).changed, (&jobs{w}).changed, (&network{w}).changed, (&collector{world: w}).changed,
	} {
		w.store.Watch(watcher)
	}
	w.version = "raygate-v0"
	w.op = startOperator(w)
	defer func() {
		w.op.stop()
		time.Sleep(time.Minute) // requests that are under way end
	}()
	for _, object := range s.objects {
		w.must(w.store.Create(actorUser, object.DeepCopyObject().(client.Object)))
	}
	result := Result{Seed: seed, Topic: s.topic}
	var last time.Duration
	for i, step := range s.steps {
		result.Plan = append(result.Plan, fmt.Sprintf("%6.1fs  %s", step.at.Seconds(), step.what))
		if !o.Without[i] {
			last = max(last, step.at)
			w.after(step.at, fmt.Sprintf("step %03d", i), func() {
				w.log("STEP: %s", step.what)
				step.do(w)
			})
		}
	}
	w.play(last)
	result.Violation, result.History = w.watch.violation, w.history
	result.Steps, result.Requests, result.Lasted = w.steps, w.watch.requests, w.now()
	return result
}

func (w *world) must(err error) {
	if err != nil {
		panic(err)
	}
}

// play runs to the end of all disturbances, then until everything is at its end, then at rest.
func (w *world) play(last time.Duration) {
	w.watched(last + time.Second)
	for begin, wait := w.now(), w.undisturbed(); wait > 0 && w.now()-begin < disturbedTime && !w.watch.broken(); wait = w.undisturbed() {
		w.watched(wait)
	}
	why := w.unfinished()
	for begin := w.now(); why != "" && w.now()-begin < settleTime && !w.watch.broken(); why = w.unfinished() {
		w.run(2 * time.Second)
		w.watch.deletions()
	}
	if w.watch.broken() {
		return
	}
	if why != "" {
		w.watch.violate("ends", "after %s without faults: %s", settleTime, why)
		return
	}
	w.run(150 * time.Second) // what is under way ends, also if the history store is slow
	begin := time.Now()
	w.run(restTime)
	if w.watch.broken() {
		return
	}
	if since, what := w.watch.rested(); since < time.Since(begin) {
		w.watch.violate("quiet", "%s was written at rest", what)
	}
	if why := w.unfinished(); why != "" {
		w.watch.violate("ends", "at rest: %s", why)
	}
	w.watch.left()
	w.watch.unstored()
}

// watched runs for a time, and looks every few seconds at what is not to wait for the end of faults.
func (w *world) watched(d time.Duration) {
	const every = 5 * time.Second
	for ; d > 0 && !w.watch.broken(); d -= every {
		w.run(min(d, every))
		w.watch.check()
	}
}

// undisturbed is how long it takes until there are no more faults.
func (w *world) undisturbed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wait time.Duration
	for _, f := range w.faults {
		wait = max(wait, time.Until(f.until))
	}
	return wait
}

// collector runs the garbage collector some time after something was deleted or created.
type collector struct {
	world *world
}

// changed is called by the store.
func (c *collector) changed(ch apiserver.Change) {
	deletes := ch.New == nil || ch.New.GetDeletionTimestamp() != nil || ch.Old == nil && len(ch.New.GetOwnerReferences()) > 0
	if !deletes {
		return
	}
	c.world.after(c.world.between("collect", 50*time.Millisecond, 3*time.Second), "collect", func() { c.world.store.Collect() })
}
