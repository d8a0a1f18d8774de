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

// Options configure a Runtime. All fields except BackOff are required.
type Options struct {
	Client kubernetes.Interface
	// Dir contains one folder per Pod, named by UID, with working directories and logs.
	Dir string
	// Programs is the folder with the substitutes for ray and python.
	Programs string
	// Environ is the environment of this program. Containers inherit the variables about the user and the machine.
	Environ []string
	// Containers and Entrypoints run processes. They have separate limits, so that waiting submitters cannot block the jobs that
	// they wait for.
	Containers, Entrypoints *localproc.Runner
	Proxy                   *podnet.Proxy
	// Pods returns the Pods of a Ray cluster that have not ended, with the fields that the simulated nodes keep.
	Pods func(cluster types.NamespacedName) []*corev1.Pod
	// Changed is called, from any goroutine, when the state of a container has changed.
	Changed func(types.NamespacedName)
	// Logf receives errors that are retried.
	Logf func(format string, args ...any)
	// BackOff is the delay before the next start of a container that ended twice. It doubles after each further end. 0 means 10 s.
	BackOff time.Duration
}

// Runtime runs the containers of Pods that are real processes.
type Runtime struct {
	opts Options

	mu     sync.Mutex
	pods   map[types.UID]*pod
	serves map[types.NamespacedName]*serving // by Ray cluster
}

// pod holds the real processes of one Pod. Its fields are set once, or guarded by the mutex of the runtime.
type pod struct {
	key        types.NamespacedName
	uid        types.UID
	ip         string
	containers map[string]*container
	head       *head // nil until the first connection
	cluster    types.NamespacedName
	proxy      *proxy // for Serve; nil until the first connection
	ended      bool   // proxy is closed

	starting sync.Mutex     // held while the head is created
	stop     chan struct{}  // closed to end all processes of the Pod
	grace    time.Duration  // set before stop is closed
	hook     time.Duration  // set before stop is closed: the duration of the preStop hook's sleep
	crashed  bool           // set before stop is closed: the node notices the end later
	stopping bool           // stop is closed
	work     sync.WaitGroup // containers, and processes of exec
	done     chan struct{}  // closed after all processes have ended
}

// New returns a runtime without Pods.
func New(o Options) *Runtime {
	if o.BackOff == 0 {
		o.BackOff = 10 * time.Second
	}
	return &Runtime{opts: o, pods: map[types.UID]*pod{}, serves: map[types.NamespacedName]*serving{}}
}

// entry returns the entry of the Pod and creates it if it is missing. The caller holds r.mu.
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

// Containers starts the real containers of the Pod that do not run yet and returns their states by name. It starts nothing in a
// Pod that is being deleted.
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

// Stop ends all processes of the Pod and reports whether they have ended. It does not wait; Options.Changed is called when the
// result may have changed.
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

// Crash ends all processes of the Pod at once, as SIGKILL does, and reports whether the node has noticed. Until then the Pod looks
// alive. Crash does not wait; Options.Changed is called when the result may have changed.
func (r *Runtime) Crash(p *corev1.Pod) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.pods[p.UID]
	if !ok {
		return true // no real processes
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

// end starts to end the processes of a Pod. The caller holds r.mu.
func (r *Runtime) end(e *pod, grace time.Duration) {
	if e.stopping {
		return
	}
	e.stopping, e.grace = true, grace
	close(e.stop)
	go func() {
		r.drain(e)
		e.starting.Lock() // waits for a head that is being created; none is created later
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

// drain keeps the proxy of a Pod open for requests that are still routed to it.
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

// Forget ends all processes of a deleted Pod and removes its folder.
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

// hasFolder reports whether the Pod has a folder. Most Pods have neither a folder nor an entry.
func (r *Runtime) hasFolder(uid types.UID) bool {
	_, err := os.Stat(r.podDir(uid))
	return err == nil
}

// KeepOnly removes the folders of all other Pods, which were deleted while the runtime did not run.
func (r *Runtime) KeepOnly(uids map[types.UID]bool) {
	entries, err := os.ReadDir(r.opts.Dir)
	if err != nil {
		return // the folder does not exist yet
	}
	for _, e := range entries {
		if !uids[types.UID(e.Name())] {
			_ = os.RemoveAll(filepath.Join(r.opts.Dir, e.Name()))
		}
	}
}

// Close kills all processes and waits for their end.
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
		s.Close() // not under the lock: Serve reads its nodes under its own lock
	}
}

func (r *Runtime) podDir(uid types.UID) string { return filepath.Join(r.opts.Dir, string(uid)) }
