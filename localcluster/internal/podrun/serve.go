package podrun

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/localcluster/internal/podnet"
	"github.com/raygate/raygate/localcluster/internal/servesim"
)

const (
	labelCluster     = "ray.io/cluster"
	servePortName    = "serve"
	defaultServePort = 8000
	storageVariable  = "RAY_external_storage_namespace"

	// noticeTime is how long a kubelet may take to see that a container has ended by itself: it looks once in a second.
	noticeTime = time.Second
	// finishTime limits requests that are under way when a proxy ends.
	finishTime = time.Second
)

// serving is Ray Serve on the Pods of one Ray cluster.
type serving struct {
	*servesim.Serve
	head    types.UID // whose memory has its state
	storage string    // that has its state when not empty
}

// proxy is the server behind the Serve port of a Pod.
type proxy struct {
	server   *http.Server
	listener *podnet.Listener
}

var sleeps = regexp.MustCompile(`\bsleep\s+(\d+)`)

// HookTime is how long the preStop hook of a container sleeps; 0 without one. So long a proxy goes on after the deletion of its Pod: who has
// found it among the endpoints of a Service may still come. Ray ends when it is asked to.
func HookTime(c corev1.Container) time.Duration {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0
	}
	switch hook := c.Lifecycle.PreStop; {
	case hook.Sleep != nil:
		return time.Duration(hook.Sleep.Seconds) * time.Second
	case hook.Exec != nil:
		if m := sleeps.FindStringSubmatch(strings.Join(hook.Exec.Command, " ")); m != nil {
			seconds, _ := strconv.Atoi(m[1]) // digits, or too many of them
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}

// close ends the proxy. What is under way is finished first if it ends gracefully.
func (p *proxy) close(gracefully bool) {
	if gracefully {
		ctx, cancel := context.WithTimeout(context.Background(), finishTime)
		defer cancel()
		_ = p.server.Shutdown(ctx)
	}
	_ = p.server.Close()
	_ = p.listener.Close()
}

// ProbesServe reports whether a container is ready only while the Serve proxy of its Pod is.
func ProbesServe(c corev1.Container) bool {
	probe := c.ReadinessProbe
	return probe != nil && probe.Exec != nil && strings.Contains(strings.Join(probe.Exec.Command, " "), "/-/healthz")
}

// IsServePort reports whether it is the port of the Serve proxy.
func IsServePort(p corev1.ContainerPort) bool { return p.Name == servePortName }

// Cluster is the Ray cluster of a Pod; its name is empty where there is none.
func Cluster(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Labels[labelCluster]}
}

// Ready reports whether the probes of the Pod succeed.
func (r *Runtime) Ready(p *corev1.Pod) bool {
	if len(p.Spec.Containers) == 0 || !ProbesServe(p.Spec.Containers[0]) {
		return true
	}
	r.mu.Lock()
	s := r.serves[Cluster(p)]
	if s != nil && p.DeletionTimestamp == nil {
		r.entry(p, p.Status.PodIP).cluster = Cluster(p)
	}
	r.mu.Unlock()
	return s != nil && s.Healthy(string(p.UID))
}

// proxyOf returns what answers at the Serve port of a Pod, or nil when nothing does.
func (r *Runtime) proxyOf(p *corev1.Pod) podnet.Endpoint {
	r.mu.Lock()
	s := r.serves[Cluster(p)]
	r.mu.Unlock()
	if s == nil || !s.Listening(string(p.UID)) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[p.UID]
	if e == nil {
		if p.DeletionTimestamp != nil {
			return nil
		}
		e = r.entry(p, p.Status.PodIP)
	}
	e.cluster = Cluster(p)
	if e.ended {
		return nil
	}
	if e.proxy == nil {
		e.proxy = &proxy{listener: podnet.NewListener(), server: &http.Server{Handler: s.Proxy(string(p.UID)), ReadHeaderTimeout: 30 * time.Second}}
		go func(x *proxy) { _ = x.server.Serve(x.listener) }(e.proxy) // ends by close
	}
	return e.proxy.listener.Serve
}

// serve returns Ray Serve for a new head: what the head before it had only where a storage has it.
func (r *Runtime) serve(head *corev1.Pod, storage string) *servesim.Serve {
	cluster := Cluster(head)
	r.mu.Lock()
	s := r.serves[cluster]
	fresh := s == nil
	if fresh {
		s = &serving{Serve: servesim.New(servesim.Options{
			Nodes:   func() []servesim.Node { return r.nodes(cluster) },
			Changed: func() { r.changed(cluster) },
		})}
		r.serves[cluster] = s
	}
	lost := !fresh && s.head != head.UID && (storage == "" || s.storage != storage)
	s.head, s.storage = head.UID, storage
	r.mu.Unlock()
	if lost {
		s.Shutdown()
	}
	return s.Serve
}

// nodes are the Pods of a cluster that run.
func (r *Runtime) nodes(cluster types.NamespacedName) []servesim.Node {
	var out []servesim.Node
	for _, p := range r.opts.Pods(cluster) {
		if p.Status.Phase == corev1.PodRunning && !r.ended(p.UID) {
			out = append(out, servesim.Node{ID: string(p.UID), IP: p.Status.PodIP, Head: IsHead(p), Leaving: p.DeletionTimestamp != nil})
		}
	}
	return out
}

// ended reports whether the processes of a Pod have ended, of which its status may not tell yet.
func (r *Runtime) ended(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[uid]
	return e != nil && e.ended
}

func (r *Runtime) changed(cluster types.NamespacedName) {
	for _, p := range r.opts.Pods(cluster) {
		r.opts.Changed(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
}

// refresh lets Serve see that a Pod of its cluster leaves or has gone. Without a storage, what it knows goes with the head; with its last
// Pod it goes itself.
func (r *Runtime) refresh(e *pod, headGone bool) {
	r.mu.Lock()
	s := r.serves[e.cluster]
	last := s != nil && len(r.opts.Pods(e.cluster)) == 0
	lost := s != nil && headGone && s.head == e.uid && s.storage == ""
	if last {
		delete(r.serves, e.cluster)
	}
	r.mu.Unlock()
	switch {
	case s == nil:
	case last:
		s.Close()
	case lost:
		s.Shutdown()
	default:
		s.Refresh()
	}
}

func servePort(p *corev1.Pod) uint16 {
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if IsServePort(port) {
				return uint16(port.ContainerPort)
			}
		}
	}
	return defaultServePort
}
