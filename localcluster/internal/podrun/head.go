package podrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/localcluster/internal/podnet"
	"github.com/raygate/raygate/localcluster/internal/raysim"
)

const (
	labelNodeType        = "ray.io/node-type"
	headNode             = "head"
	dashboardPortName    = "dashboard"
	defaultDashboardPort = 8265

	// AnnotationHang makes the dashboard of a head Pod hang for this duration after the Pod's start, for example 30s: it accepts
	// connections and does not answer.
	AnnotationHang = "raygate.io/sim-dashboard-hang"
)

// IsHead reports whether a Pod has a simulated Ray head.
func IsHead(p *corev1.Pod) bool { return p.Labels[labelNodeType] == headNode }

// head is the simulated Ray head of a Pod.
type head struct {
	ray      *raysim.Cluster
	server   *http.Server
	listener *podnet.Listener
	port     uint16
	env      []string
	dir      string
}

func (h *head) close() {
	h.ray.Close()
	_ = h.server.Close()
	_ = h.listener.Close()
}

// Endpoint returns the endpoint of a port of the Pod: the dashboard of a head, or a Serve proxy.
func (r *Runtime) Endpoint(ctx context.Context, p *corev1.Pod, port uint16) (podnet.Endpoint, error) {
	if p.Status.Phase == corev1.PodRunning && port == servePort(p) {
		if endpoint := r.proxyOf(p); endpoint != nil {
			return endpoint, nil
		}
	}
	if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil || !IsHead(p) {
		return nil, fmt.Errorf("%w: nothing of Pod %s/%s is real on port %d", podnet.ErrRefused, p.Namespace, p.Name, port)
	}
	h, err := r.headOf(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("simulating the Ray head of Pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	if port != h.port {
		return nil, fmt.Errorf("%w: of the head Pod %s/%s the dashboard on port %d is simulated, and not port %d", podnet.ErrRefused, p.Namespace, p.Name, h.port, port)
	}
	return h.listener.Serve, nil
}

// headOf returns the head of a Pod and creates it on first use. A client that gives up while the API server is slow does not stop
// that; the next one finds the head.
func (r *Runtime) headOf(ctx context.Context, p *corev1.Pod) (*head, error) {
	r.mu.Lock()
	e := r.entry(p, p.Status.PodIP)
	r.mu.Unlock()
	e.starting.Lock()
	defer e.starting.Unlock()
	select {
	case <-e.stop:
		return nil, errGone
	default:
	}
	if e.head != nil {
		return e.head, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	h, err := r.newHead(ctx, e)
	if err != nil {
		return nil, err
	}
	e.head = h
	return h, nil
}

func (r *Runtime) newHead(ctx context.Context, e *pod) (*head, error) {
	p, err := r.whole(ctx, e)
	if err != nil {
		return nil, err
	}
	if len(p.Spec.Containers) == 0 {
		return nil, errors.New("it has no container")
	}
	main := p.Spec.Containers[0]
	own, err := r.declared(ctx, p, main, false)
	if err != nil {
		return nil, err
	}
	h := &head{listener: podnet.NewListener(), port: dashboardPort(main), dir: filepath.Join(r.podDir(e.uid), "ray")}
	if err := os.MkdirAll(filepath.Join(h.dir, "tmp"), 0o700); err != nil {
		return nil, fmt.Errorf("making folder: %w", err)
	}
	// The machine's programs come first, because entrypoints use them. RAY_ADDRESS of a head Pod is removed: no Ray runs there, and
	// without it a Ray that is installed on this machine starts locally.
	own = slices.DeleteFunc(own, func(v string) bool { return strings.HasPrefix(v, "RAY_ADDRESS=") })
	h.env = append(r.base(e, h.dir), own...)
	h.env = append(h.env, "PATH="+lookup(r.opts.Environ, "PATH")+string(os.PathListSeparator)+r.opts.Programs)
	token := ""
	if lookup(own, "RAY_AUTH_MODE") == "token" {
		token = lookup(own, "RAY_AUTH_TOKEN")
	}
	e.cluster = Cluster(p)
	h.ray, err = raysim.New(raysim.Options{
		Dir: h.dir, Token: token, NodeIP: e.ip, Serve: r.serve(p, lookup(own, storageVariable)),
		Run: r.opts.Entrypoints.Entrypoints(string(e.uid), func() []string { return h.env }),
	})
	if err != nil {
		return nil, err
	}
	if until, ok := hangsUntil(p); ok {
		h.ray.Intercept(func(_ http.ResponseWriter, req *http.Request) bool {
			select {
			case <-time.After(time.Until(until)):
				return false
			case <-req.Context().Done():
				return true
			}
		})
	}
	h.server = &http.Server{Handler: h.ray, ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = h.server.Serve(h.listener) }() // ends by close
	return h, nil
}

func dashboardPort(c corev1.Container) uint16 {
	for _, port := range c.Ports {
		if port.Name == dashboardPortName {
			return uint16(port.ContainerPort)
		}
	}
	return defaultDashboardPort
}

func hangsUntil(p *corev1.Pod) (time.Time, bool) {
	d, err := time.ParseDuration(p.Annotations[AnnotationHang])
	if err != nil || p.Status.StartTime == nil {
		return time.Time{}, false
	}
	return p.Status.StartTime.Add(d), true
}
