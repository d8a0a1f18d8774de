package simulation

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

// ray is the instance of Ray on one head.
type ray struct {
	*dashboardfake.Dashboard
	world   *world
	cluster string
	owner   types.UID // the RayCluster that controls the head
	pod     types.UID
	broken  bool // its image has failing applications

	started time.Time

	mu      sync.Mutex
	uses    map[string]time.Time    // since when jobs run, also of those that have ended
	saves   map[string]time.Time    // until when jobs that were stopped save their state
	drains  map[types.UID]time.Time // when the nodes of workers end that are drained
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

func (h *ray) age() time.Duration { return time.Since(h.started) }

func (h *ray) gone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
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
		h.use(id)
		h.Write(id, "it has begun")
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

// stop stops a job. The program of a RayJob with a grace first saves its state.
func (h *ray) stop(ctx context.Context, id string) (bool, error) {
	w := h.world
	if j := w.owner(id); j == nil || j.Annotations[rayv1.AnnotationSuspendGrace] == "" || h.final(id) || !h.begun(id) {
		return h.StopJob(ctx, id)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.saves[id].IsZero() {
		lasts := w.between("saves "+id, time.Second, 25*time.Second)
		h.saves[id] = time.Now().Add(lasts)
		w.after(lasts, "saved "+id, func() {
			if !h.gone() {
				_, err := h.StopJob(context.Background(), id)
				w.log("%s has saved its state: %v", id, err)
			}
		})
	}
	return true, nil
}

// begun reports whether a job runs or has run.
func (h *ray) begun(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.uses[id].IsZero()
}

// saving reports whether a program saves its state.
func (h *ray) saving() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, until := range h.saves {
		if !h.over && time.Now().Before(until) && !h.final(id) {
			return true
		}
	}
	return false
}

// isUsed reports whether a new head would lose work.
func (h *ray) isUsed() bool {
	a, err := h.Activity(context.Background())
	return err == nil && a.Use != ""
}

func (h *ray) has(id string) bool {
	_, err := h.status(id)
	return err == nil
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
