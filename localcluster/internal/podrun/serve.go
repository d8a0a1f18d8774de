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

	// noticeTime is how long a kubelet may take to notice that a container has ended by itself: it checks once a second.
	noticeTime = time.Second
	// finishTime limits how long a proxy that is closing waits for active requests.
	finishTime = time.Second
)

// serving is Ray Serve on the Pods of one Ray cluster.
type serving struct {
	*servesim.Serve
	head    types.UID // the head whose memory has the state of Serve
	storage string    // the external storage with the state; empty if there is none
}

// proxy is the server behind the Serve port of a Pod.
type proxy struct {
	server   *http.Server
	listener *podnet.Listener
}

var sleeps = regexp.MustCompile(`\bsleep\s+(\d+)`)

// HookTime returns how long the container's preStop hook sleeps, or 0 without one. The proxy keeps serving for that time after the
// Pod is deleted, because clients may still use its endpoint. Ray itself ends when it receives the signal.
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

// close ends the proxy. If gracefully is set, it first waits for active requests.
func (p *proxy) close(gracefully bool) {
	if gracefully {
		ctx, cancel := context.WithTimeout(context.Background(), finishTime)
		defer cancel()
		_ = p.server.Shutdown(ctx)
	}
	_ = p.server.Close()
	_ = p.listener.Close()
}

// ProbesServe reports whether the container's readiness depends on the Serve proxy of its Pod.
func ProbesServe(c corev1.Container) bool {
	const path = "/-/healthz"
	switch probe := c.ReadinessProbe; {
	case probe == nil:
		return false
	case probe.HTTPGet != nil:
		return probe.HTTPGet.Path == path
	default:
		return probe.Exec != nil && strings.Contains(strings.Join(probe.Exec.Command, " "), path)
	}
}

// IsServePort reports whether p is the port of the Serve proxy.
func IsServePort(p corev1.ContainerPort) bool { return p.Name == servePortName }

// Cluster returns the Ray cluster of a Pod. The name is empty if the Pod belongs to none.
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

// proxyOf returns the endpoint behind the Serve port of a Pod, or nil if the port is closed.
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

// serve returns Ray Serve for a new head. State of the previous head survives only in an external storage.
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

// nodes returns the running Pods of a cluster as Serve nodes.
func (r *Runtime) nodes(cluster types.NamespacedName) []servesim.Node {
	var out []servesim.Node
	for _, p := range r.opts.Pods(cluster) {
		if p.Status.Phase == corev1.PodRunning && !r.ended(p.UID) {
			out = append(out, servesim.Node{ID: string(p.UID), IP: p.Status.PodIP, Head: IsHead(p), Leaving: p.DeletionTimestamp != nil})
		}
	}
	return out
}

// ended reports whether the processes of a Pod have ended, even if its status does not show that yet.
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

// refresh notifies Serve that a Pod of its cluster is leaving or gone. Without an external storage, the state of Serve is lost
// with the head. Serve itself ends with the last Pod.
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
