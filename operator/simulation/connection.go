package simulation

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
)

func (r *rays) connect(a dashboards.Address, _ dashboard.Token) (dashboard.Client, error) {
	service, _, _ := strings.Cut(a.HostPort, ".")
	return &connection{rays: r, service: service, cluster: a.Head.UID}, nil
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

// connection is a client of the dashboard on the head Pod that a RayCluster controls, as that of dashboards.Direct. The embedded
// dashboard.Client provides methods that the operator never calls.
type connection struct {
	rays    *rays
	service string
	cluster types.UID
	dashboard.Client
}

// call makes a call with simulated delays and faults.
func (c *connection) call(ctx context.Context, name string, changes bool, do func(*ray) error) error {
	w := c.rays.world
	if err := wait(ctx, w.between("dashboard "+c.service, time.Millisecond, 60*time.Millisecond)); err != nil {
		return away(name)
	}
	head := c.rays.ownedBy(c.cluster)
	if head == nil {
		return away(name)
	}
	if w.strikes(faultHang, head.cluster, "hang "+c.service) {
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
	if changes && w.strikes(faultAnswers, head.cluster, "lost "+c.service) {
		w.log("%s %s: the answer is lost", name, head.cluster)
		return away(name)
	}
	return err
}

// Activity implements dashboard.Client.
func (c *connection) Activity(ctx context.Context) (a dashboard.Activity, err error) {
	err = c.call(ctx, "Activity", false, func(h *ray) (err error) {
		a, err = h.Activity(ctx)
		return err
	})
	return a, err
}

// Answer implements dashboard.Client. The simulated dashboards have no pages.
func (c *connection) Answer(context.Context, string, int64) (json.RawMessage, error) {
	return nil, &dashboard.Error{Call: "Answer", Kind: dashboard.ErrNotFound, Code: 404}
}

// NodeLog implements dashboard.Client. The simulated nodes have no logs.
func (c *connection) NodeLog(context.Context, string, string, int) (io.ReadCloser, error) {
	return nil, &dashboard.Error{Call: "NodeLog", Kind: dashboard.ErrNotFound, Code: 404}
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
		stopped, err = h.stop(ctx, id)
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
	head := c.rays.ownedBy(c.cluster)
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

// JobLogs implements dashboard.Client.
func (c *connection) JobLogs(ctx context.Context, id string) (log *dashboard.Log, err error) {
	err = c.call(ctx, "JobLogs", false, func(h *ray) (err error) {
		log, err = h.JobLogs(ctx, id)
		return err
	})
	return log, err
}

// TailJobLogs implements dashboard.Client.
func (c *connection) TailJobLogs(ctx context.Context, id string) (log io.ReadCloser, err error) {
	err = c.call(ctx, "TailJobLogs", false, func(h *ray) (err error) {
		log, err = h.TailJobLogs(ctx, id)
		return err
	})
	return log, err
}
