package simulation

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

var (
	kindService = corev1.SchemeGroupVersion.WithKind("Service").GroupKind()
	kindCluster = rayv1.GroupVersion.WithKind("RayCluster").GroupKind()
)

// clusterObject returns a RayCluster, or an empty one if there is none.
func (w *world) clusterObject(name string) *rayv1.RayCluster {
	if rc, ok := w.store.Find(kindCluster, types.NamespacedName{Namespace: namespace, Name: name}).(*rayv1.RayCluster); ok {
		return rc
	}
	return &rayv1.RayCluster{}
}

// rays contains the instances of Ray, one per running head.
type rays struct {
	world *world
	mu    sync.Mutex
	heads map[types.UID]*ray
	// lost is when a cluster stopped serving.
	lost map[string]time.Time
}

// loses records that a cluster stops serving.
func (r *rays) loses(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost[cluster] = time.Now()
}

// lately reports whether a cluster stopped serving so recently that the operator may not have noticed.
func (r *rays) lately(cluster string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.lost[cluster]
	return known && time.Since(at) < 15*time.Second
}

// lostOneOf reports whether a cluster that is named in the text recently lost its head, which explains a warning.
func (r *rays) lostOneOf(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for cluster, at := range r.lost {
		if time.Since(at) < memory && strings.Contains(text, cluster) {
			return true
		}
	}
	return false
}

// ray is the instance of Ray on one head.
type ray struct {
	*dashboardfake.Dashboard
	world   *world
	cluster string
	pod     types.UID
	broken  bool // its image has failing applications

	started time.Time

	mu      sync.Mutex
	over    bool
	resized time.Time // when all replicas exist
}

// resizes reports whether replicas are still missing after a change of the capacity.
func (h *ray) resizes() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.resized)
}

// skewed is the clock of another machine.
type skewed struct{ by time.Duration }

func (s skewed) Now() time.Time                  { return time.Now().Add(s.by) }
func (s skewed) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// imageBroken is the image whose applications never run.
const imageBroken = "ray:broken"

func (r *rays) headStarts(p *corev1.Pod) {
	w := r.world
	var skew time.Duration
	if w.chance("skewed "+p.Name, 0.2) {
		skew = w.between("skew "+p.Name, 0, 10*time.Minute)
		if w.chance("behind "+p.Name, 0.5) {
			skew = -skew
		}
	}
	head := &ray{
		Dashboard: dashboardfake.New(skewed{skew}), world: w, cluster: p.Labels[rayv1.LabelCluster], pod: p.UID,
		broken: p.Spec.Containers[0].Image == imageBroken, started: time.Now(),
	}
	head.HoldApplications(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heads[p.UID] = head
	w.log("Ray starts on %s", p.Name)
}

func (r *rays) headGone(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	head := r.heads[pod]
	if head == nil {
		return
	}
	delete(r.heads, pod)
	r.lost[head.cluster] = time.Now()
	head.mu.Lock()
	defer head.mu.Unlock()
	head.over = true
	r.world.log("Ray of %s is gone", head.cluster)
	r.world.after(0, "record of "+head.cluster, func() { r.world.watch.noteUnrecorded(head) })
}

// of returns the instance on a cluster; nil if there is none.
func (r *rays) of(cluster string) *ray {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *ray
	for _, head := range r.heads {
		if head.cluster == cluster && (found == nil || head.pod > found.pod) {
			found = head
		}
	}
	return found
}

// on returns the instance on a head Pod; nil if there is none.
func (r *rays) on(pod types.UID) *ray {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heads[pod]
}

func (h *ray) age() time.Duration { return time.Since(h.started) }

func (h *ray) gone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

// behind returns the instance on the cluster that a head Service selects; nil if there is none.
func (r *rays) behind(service string) *ray {
	svc, ok := r.world.store.Find(kindService, types.NamespacedName{Namespace: namespace, Name: service}).(*corev1.Service)
	if !ok {
		return nil
	}
	return r.of(svc.Spec.Selector[rayv1.LabelCluster])
}

func (r *rays) connect(a dashboards.Address, _ dashboard.Token) (dashboard.Client, error) {
	service, _, _ := strings.Cut(a.HostPort, ".")
	return &connection{rays: r, service: service}, nil
}

// probe queries the proxy of Serve on a Pod.
func (r *rays) probe(ctx context.Context, p dashboards.Pod) (bool, error) {
	w := r.world
	if err := wait(ctx, w.between("proxy "+p.Name, time.Millisecond, 50*time.Millisecond)); err != nil {
		return false, err
	}
	pod, ok := w.store.Find(kindPod, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}).(*corev1.Pod)
	if !ok {
		return false, away("Probe")
	}
	head := r.on(pod.UID)
	if head == nil || w.fault(faultDashboard, head.cluster) > 0 {
		return false, away("Probe")
	}
	return head.serves(), nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func away(call string) error {
	return &dashboard.Error{Call: call, Kind: dashboard.ErrUnavailable, Cause: io.ErrUnexpectedEOF}
}

// connection is a client of the dashboard behind a head Service. The embedded dashboard.Client provides methods that the operator
// never calls.
type connection struct {
	rays    *rays
	service string
	dashboard.Client
}

// call makes a call with simulated delays and faults.
func (c *connection) call(ctx context.Context, name string, changes bool, do func(*ray) error) error {
	w := c.rays.world
	if err := wait(ctx, w.between("dashboard "+c.service, time.Millisecond, 60*time.Millisecond)); err != nil {
		return away(name)
	}
	head := c.rays.behind(c.service)
	if head == nil {
		return away(name)
	}
	if w.fault(faultHang, head.cluster) > 0 && w.chance("hang "+c.service, w.fault(faultHang, head.cluster)) {
		<-ctx.Done()
		return &dashboard.Error{Call: name, Kind: dashboard.ErrUnavailable, Cause: ctx.Err()}
	}
	if w.fault(faultDashboard, head.cluster) > 0 || w.fault(faultUnreach, head.cluster) > 0 {
		return away(name)
	}
	if changes && w.fault(faultPosts, head.cluster) > 0 {
		return &dashboard.Error{Call: name, Kind: dashboard.ErrUnavailable, Code: 500, Message: "No available agent to submit job, please try again later."}
	}
	err := do(head)
	if changes {
		w.log("%s %s: %v", name, head.cluster, err)
		if w.op.killed() {
			return away(name)
		}
	}
	if p := w.fault(faultAnswers, head.cluster); changes && p > 0 && w.chance("lost "+c.service, p) {
		w.log("%s %s: the answer is lost", name, head.cluster)
		return away(name)
	}
	return err
}

// ListJobs implements dashboard.Client.
func (c *connection) ListJobs(ctx context.Context) (jobs []dashboard.Job, err error) {
	err = c.call(ctx, "ListJobs", false, func(h *ray) (err error) {
		jobs, err = h.ListJobs(ctx)
		return err
	})
	return jobs, err
}

// GetJob implements dashboard.Client.
func (c *connection) GetJob(ctx context.Context, id string) (j *dashboard.Job, err error) {
	err = c.call(ctx, "GetJob", false, func(h *ray) (err error) {
		j, err = h.GetJob(ctx, id)
		return err
	})
	return j, err
}

// SubmitJob implements dashboard.Client.
func (c *connection) SubmitJob(ctx context.Context, s dashboard.Submission) (id string, err error) {
	err = c.call(ctx, "SubmitJob", true, func(h *ray) (err error) {
		id, err = h.submit(ctx, s)
		return err
	})
	return id, err
}

// StopJob implements dashboard.Client.
func (c *connection) StopJob(ctx context.Context, id string) (stopped bool, err error) {
	err = c.call(ctx, "StopJob", true, func(h *ray) (err error) {
		stopped, err = h.StopJob(ctx, id)
		return err
	})
	return stopped, err
}

// ServeDetails implements dashboard.Client.
func (c *connection) ServeDetails(ctx context.Context) (d *dashboard.ServeDetails, err error) {
	err = c.call(ctx, "ServeDetails", false, func(h *ray) (err error) {
		d, err = h.ServeDetails(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	head := c.rays.behind(c.service)
	for name, app := range d.Applications {
		running := 2
		if head != nil && head.resizes() {
			running = 1
		}
		app.Deployments = map[string]dashboard.ServeDeployment{"main": {TargetReplicas: new(2), RunningReplicas: running}}
		d.Applications[name] = app
	}
	return d, nil
}

// DeployServe implements dashboard.Client.
func (c *connection) DeployServe(ctx context.Context, config json.RawMessage) error {
	return c.call(ctx, "DeployServe", true, func(h *ray) error { return h.deploy(ctx, config) })
}

// submit makes Ray accept a job from any submitter and run its entrypoint.
func (h *ray) submit(ctx context.Context, s dashboard.Submission) (string, error) {
	if s.Entrypoint == entrypointRefused {
		return "", &dashboard.Error{Call: "SubmitJob", Kind: dashboard.ErrInvalid, Code: 400, Message: "runtime_env is not valid"}
	}
	id, err := h.SubmitJob(ctx, s)
	if err != nil {
		return id, err
	}
	w := h.world
	w.after(w.between("begin "+id, 50*time.Millisecond, 2*time.Second), "begin "+id, func() {
		if h.gone() || h.final(id) {
			return
		}
		w.log("entrypoint of %s begins on %s", id, h.cluster)
		w.watch.entrypoint(id, h)
		h.Set(id, dashboard.Running, "")
		lasts := w.between("lasts "+id, 100*time.Millisecond, 90*time.Second)
		w.after(lasts, "end "+id, func() {
			if h.gone() {
				return
			}
			end := dashboard.Succeeded
			if w.chance("fails "+id, 0.3) {
				end = dashboard.Failed
			}
			w.log("entrypoint of %s ends: %s", id, end)
			message := "the end"
			if w.chance("long "+id, 0.1) {
				message = strings.Repeat("Traceback ", 2000) // like Ray, with the end of the log
			}
			h.Set(id, end, message)
		})
	})
	return id, nil
}

func (h *ray) final(id string) bool {
	status, err := h.status(id)
	return err != nil || status.Final()
}

// deploy sends a configuration to Serve. Unchanged applications keep running; others take a while.
func (h *ray) deploy(ctx context.Context, config json.RawMessage) error {
	if strings.Contains(string(config), "refused") {
		return &dashboard.Error{Call: "DeployServe", Kind: dashboard.ErrInvalid, Code: 400, Message: "import_path: invalid"}
	}
	before, err := h.ServeDetails(ctx)
	if err != nil {
		return err
	}
	if err := h.DeployServe(ctx, config); err != nil {
		return err
	}
	after, err := h.ServeDetails(ctx)
	if err != nil {
		return err
	}
	w := h.world
	w.autoscale(h.cluster)
	h.mu.Lock()
	h.resized = time.Now().Add(w.between("resize "+h.cluster, 0, 15*time.Second))
	h.mu.Unlock()
	for name, app := range after.Applications {
		old, there := before.Applications[name]
		if there && old.Status == dashboardfake.Serving && string(old.Config) == string(app.Config) {
			h.SetApplication(name, dashboardfake.Serving, "")
			continue
		}
		w.after(w.between("load "+h.cluster+name, 200*time.Millisecond, 25*time.Second), "load "+h.cluster+name, func() {
			if h.gone() {
				return
			}
			if h.broken {
				h.SetApplication(name, "DEPLOY_FAILED", "ImportError: no module named shop")
				return
			}
			h.SetApplication(name, dashboardfake.Serving, "")
			(&nodes{w}).refreshSoon(h.cluster)
		})
	}
	return nil
}

// autoscale makes the autoscaler of a cluster request workers for its applications.
func (w *world) autoscale(cluster string) {
	w.after(w.between("autoscale "+cluster, time.Second, 10*time.Second), "autoscale "+cluster, func() {
		w.store.Mutate("autoscaler", kindCluster, types.NamespacedName{Namespace: namespace, Name: cluster}, func(o client.Object) {
			rc := o.(*rayv1.RayCluster)
			if on := rc.Spec.EnableInTreeAutoscaling; on == nil || !*on || len(rc.Spec.WorkerGroupSpecs) == 0 {
				return
			}
			if g := &rc.Spec.WorkerGroupSpecs[0]; replicasOf(g) == 0 {
				g.Replicas = new(int32(1))
			}
		})
	})
}

// serves reports whether applications exist and all of them run.
func (h *ray) serves() bool {
	d, err := h.ServeDetails(context.Background())
	if err != nil || len(d.Applications) == 0 {
		return false
	}
	for _, a := range d.Applications {
		if a.Status != dashboardfake.Serving {
			return false
		}
	}
	return true
}

// status returns the status of a job.
func (h *ray) status(id string) (dashboard.Status, error) {
	j, err := h.GetJob(context.Background(), id)
	if err != nil {
		return "", err
	}
	return j.Status, nil
}
