package podrun

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/localcluster/internal/localproc"
	"github.com/raygate/raygate/localcluster/internal/podnet"
)

// Options say what a Runtime works with. All are required but BackOff.
type Options struct {
	Client kubernetes.Interface
	// Dir gets a folder per Pod, by UID, with working directories and logs.
	Dir string
	// Programs is the folder with the stand-ins for ray and python.
	Programs string
	// Environ is the environment of this program, of which processes get what concerns the user and the machine.
	Environ []string
	// Containers and Entrypoints run processes. They are two, so that submitters that wait never keep the jobs they wait for from running.
	Containers, Entrypoints *localproc.Runner
	Proxy                   *podnet.Proxy
	// Pods are those of a Ray cluster that have not ended, with the fields that the simulated nodes keep.
	Pods func(cluster types.NamespacedName) []*corev1.Pod
	// Changed is called when the state of a container has changed, from any goroutine.
	Changed func(types.NamespacedName)
	// Logf gets what goes wrong and is tried again.
	Logf func(format string, args ...any)
	// BackOff is how long a container that ended for the second time waits for its next start; twice as long each time after. 0 means 10 s.
	BackOff time.Duration
}

// Runtime runs what is real of Pods.
type Runtime struct {
	opts Options

	mu     sync.Mutex
	pods   map[types.UID]*pod
	serves map[types.NamespacedName]*serving // by Ray cluster
}

// pod is what is real of one Pod. Its fields are set once, or guarded by the mutex of the runtime.
type pod struct {
	key        types.NamespacedName
	uid        types.UID
	ip         string
	containers map[string]*container
	head       *head // nil until somebody connects
	cluster    types.NamespacedName
	proxy      *proxy // of Serve; nil until somebody connects
	ended      bool   // proxy is closed

	starting sync.Mutex     // held while the head is made
	stop     chan struct{}  // closed when everything has to end
	grace    time.Duration  // set before stop is closed
	hook     time.Duration  // set before stop is closed: how long its preStop hook sleeps
	crashed  bool           // set before stop is closed: its node notices later
	stopping bool           // stop is closed
	work     sync.WaitGroup // containers, and processes of exec
	done     chan struct{}  // closed when everything has ended
}

// New returns a runtime without Pods.
func New(o Options) *Runtime {
	if o.BackOff == 0 {
		o.BackOff = 10 * time.Second
	}
	return &Runtime{opts: o, pods: map[types.UID]*pod{}, serves: map[types.NamespacedName]*serving{}}
}

// entry returns what is known of the Pod, which is made when missing. The caller holds r.mu.
func (r *Runtime) entry(p *corev1.Pod, ip string) *pod {
	e, ok := r.pods[p.UID]
	if !ok {
		e = &pod{
			key: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, uid: p.UID, ip: ip,
			containers: map[string]*container{}, stop: make(chan struct{}), done: make(chan struct{}),
		}
		r.pods[p.UID] = e
	}
	return e
}

// Containers starts the containers of the Pod that are real and do not run yet, and returns the states of these by name. Of a Pod that is
// being deleted nothing is started.
func (r *Runtime) Containers(p *corev1.Pod, ip string) map[string]corev1.ContainerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]corev1.ContainerStatus{}
	e := r.pods[p.UID]
	if e == nil {
		if p.DeletionTimestamp != nil {
			return out
		}
		e = r.entry(p, ip)
	}
	for _, spec := range p.Spec.Containers {
		if !IsReal(spec) {
			continue
		}
		c, ok := e.containers[spec.Name]
		if !ok && e.stopping {
			continue
		}
		if !ok {
			c = newContainer(r, e, p, spec)
			e.containers[spec.Name] = c
			e.work.Go(c.supervise)
		}
		out[spec.Name] = *c.status.DeepCopy()
	}
	return out
}

// Stop ends everything of the Pod, and reports whether it has ended. It does not wait: Changed tells when to ask again.
func (r *Runtime) Stop(p *corev1.Pod, grace time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.pods[p.UID]
	if !ok {
		return true
	}
	if len(p.Spec.Containers) > 0 && !e.stopping {
		e.hook = HookTime(p.Spec.Containers[0])
	}
	r.end(e, grace)
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// Crash ends everything of the Pod at once, as SIGKILL does, and reports whether its node has noticed: until then the Pod looks alive.
// Changed tells when to ask again.
func (r *Runtime) Crash(p *corev1.Pod) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.pods[p.UID]
	if !ok {
		return true // nothing of it is real
	}
	e.crashed = e.crashed || !e.stopping
	r.end(e, 0)
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// end begins to end everything of a Pod. The caller holds r.mu.
func (r *Runtime) end(e *pod, grace time.Duration) {
	if e.stopping {
		return
	}
	e.stopping, e.grace = true, grace
	close(e.stop)
	go func() {
		r.drain(e)
		e.starting.Lock() // a head that is being made is there after this, or never
		if e.head != nil {
			e.head.close()
		}
		e.starting.Unlock()
		r.refresh(e, true)
		e.work.Wait()
		r.opts.Containers.KillPod(string(e.uid))
		r.opts.Proxy.Remove(string(e.uid))
		if e.crashed {
			time.Sleep(noticeTime)
		}
		close(e.done)
		r.opts.Changed(e.key)
	}()
}

// drain lets the proxy of a Pod serve those who are on their way.
func (r *Runtime) drain(e *pod) {
	r.mu.Lock()
	s := r.serves[e.cluster]
	r.mu.Unlock()
	if last := min(e.grace, e.hook); last > 0 && s != nil && s.Listening(string(e.uid)) {
		r.refresh(e, false)
		time.Sleep(last)
	}
	r.mu.Lock()
	e.ended = true
	x := e.proxy
	r.mu.Unlock()
	if x != nil {
		x.close(e.grace > 0)
	}
}

// Forget ends everything of a Pod that is gone, and removes its folder.
func (r *Runtime) Forget(uid types.UID) {
	r.mu.Lock()
	e, ok := r.pods[uid]
	delete(r.pods, uid)
	if ok {
		r.end(e, 0)
	}
	r.mu.Unlock()
	if !ok && !r.hasFolder(uid) {
		return
	}
	go func() {
		if ok {
			<-e.done
			r.refresh(e, true)
		}
		if err := os.RemoveAll(r.podDir(uid)); err != nil {
			r.opts.Logf("simulated node: removing the folder of a Pod: %v", err)
		}
	}()
}

// hasFolder: most Pods have none, nor an entry.
func (r *Runtime) hasFolder(uid types.UID) bool {
	_, err := os.Stat(r.podDir(uid))
	return err == nil
}

// KeepOnly removes the folders of all other Pods: those that went while nobody watched.
func (r *Runtime) KeepOnly(uids map[types.UID]bool) {
	entries, err := os.ReadDir(r.opts.Dir)
	if err != nil {
		return // there is none yet
	}
	for _, e := range entries {
		if !uids[types.UID(e.Name())] {
			_ = os.RemoveAll(filepath.Join(r.opts.Dir, e.Name()))
		}
	}
}

// Close kills everything and waits for its end.
func (r *Runtime) Close() {
	r.opts.Containers.Close()
	r.opts.Entrypoints.Close()
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.pods))
	for _, e := range all {
		r.end(e, 0)
	}
	r.mu.Unlock()
	for _, e := range all {
		<-e.done
	}
	r.mu.Lock()
	serves := slices.Collect(maps.Values(r.serves))
	r.mu.Unlock()
	for _, s := range serves {
		s.Close() // not under the lock: a Serve asks for its nodes under its own
	}
}

func (r *Runtime) podDir(uid types.UID) string { return filepath.Join(r.opts.Dir, string(uid)) }
