package rayservice

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/dashboard"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/proxy,verbs=get,roleName=raygate-operator-kubernetes-proxy
// +kubebuilder:rbac:groups="",resources=services/proxy,verbs=get;update,roleName=raygate-operator-kubernetes-proxy

// labels lets heads with a healthy proxy receive requests. A readiness probe would not work: the head must stay ready for Ray even
// if its proxy is not healthy.
func (r *Reconciler) labels(ctx context.Context, s *scope) {
	for _, name := range s.plan.Label {
		rc, head := s.clusters[name], s.heads[name]
		if rc == nil {
			continue
		}
		excluded := s.service.Spec.ExcludeHeadPodFromServeSvc
		there := head != nil && head.Status.PodIP != ""
		if !there || excluded {
			r.tracker.label(s.subject(rc), nil, dashboards.Pod{})
		}
		if !there {
			continue
		}
		var probe serveplan.Probe
		if !excluded {
			started := s.in.Config.HTTPOptions()
			if d := s.answers[name].Value; d != nil && d.HTTPOptions != nil {
				started = d.HTTPOptions
			}
			p := &probed{pod: head.UID, ip: head.Status.PodIP, port: service.ServePort(rc), http: dashboard.ParseHTTPOptions(started)}
			answer := r.tracker.label(s.subject(rc), p,
				dashboards.Pod{Namespace: head.Namespace, Name: head.Name, IP: p.ip, Port: p.port, HTTP: p.http})
			probe = serveplan.Probe{AskedAt: answer.AskedAt, Healthy: answer.Value, FailingSince: answer.FailingSince, FailedAt: answer.FailedAt}
		}
		if want := serveplan.ServeLabel(excluded, probe); want != "" && want != head.Labels[rayv1.LabelServe] {
			r.setLabel(ctx, s, head, want)
		}
	}
}

func (r *Reconciler) setLabel(ctx context.Context, s *scope, head *corev1.Pod, value string) {
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: head.Namespace, Name: head.Name}}
	body := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, head.UID, rayv1.LabelServe, value)
	result := r.children.Do(s.service, children.Update, "head Pod", head.Name, func() error { // the cached Pod is incomplete
		return r.config.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, body))
	})
	if result.Done == children.Update && s.said.News(s.service.UID, "label "+string(head.UID), value) {
		s.events = append(s.events, report.Normal("UpdatedHeadPodServeLabel", actionUpdate, "Set the label ray.io/serve of head Pod %s to %s", head.Name, value))
	}
	result.Done = children.None
	s.recordResult(whatLabel, result)
}

// watches starts to poll Ray Serve on the clusters in use, and drops the state of other clusters.
func (r *Reconciler) watches(_ context.Context, s *scope) {
	used := map[types.UID]bool{}
	for i, name := range s.plan.Watch {
		rc, site := s.clusters[name], s.sites[name]
		if rc == nil {
			continue
		}
		used[rc.UID] = true
		if site == nil {
			continue // the cluster triggers a reconcile when it has a Service
		}
		every := r.config.PollIntervals.Changing
		if s.plan.Steady || len(s.plan.Watch) > 1 && i == 0 { // the active cluster is the first
			every = r.config.PollIntervals.Steady
		}
		if r.tracker.watch(s.subject(rc), *site, every, s.answers[name]) {
			s.after(reconcile.Soon)
		}
	}
	r.unwatch(s, used)
}

// unwatch drops the state of clusters that are not in used.
func (r *Reconciler) unwatch(s *scope, used map[types.UID]bool) {
	for _, name := range s.used() {
		if rc := s.clusters[name]; rc != nil && rc.DeletionTimestamp == nil && !used[rc.UID] {
			r.tracker.unwatch(s.service.UID, rc.UID) // its head is not ready; keep what is known about its configuration
			used[rc.UID] = true
		}
	}
	for _, gone := range r.tracker.keep(s.service.UID, used) {
		r.children.Forget(gone) // the cluster owned a serve Service
	}
}

// deployments sends configurations to Ray.
func (r *Reconciler) deployments(_ context.Context, s *scope) {
	for _, d := range s.plan.Deploy {
		rc, site := s.clusters[d.Cluster], s.sites[d.Cluster]
		if rc == nil || site == nil {
			continue
		}
		config := s.in.Config
		if d.Keep {
			config = r.kept(s, rc, s.answers[d.Cluster].Value)
		}
		body, percent := config.Body(d.Capacity), int32(100)
		if d.Capacity != nil {
			percent = *d.Capacity
		}
		v := s.in.Clusters[d.Cluster].Serve
		resized := d.Keep || v.Known && v.Text == s.service.Spec.ServeConfigV2 && len(v.Applications) > 0
		s.after(r.tracker.deploy(s.subject(rc), *site, deployment{
			text: s.service.Spec.ServeConfigV2, keep: d.Keep, resized: resized, percent: percent,
		}, body))
	}
}

// kept returns the configuration of a cluster: the one that this process sent, else the one that Ray reports. It is never that of
// the spec, which is meant for another cluster.
func (r *Reconciler) kept(s *scope, rc *rayv1.RayCluster, d *dashboard.ServeDetails) serveplan.Config {
	if k := r.tracker.known(s.service.UID, rc.UID); k.known || d != nil && len(d.Applications) == 0 {
		if c, err := serveplan.ParseConfig(k.text); err == nil {
			return c
		}
	}
	if d == nil {
		return serveplan.DeployedConfig(map[string]json.RawMessage{}, nil, nil, nil) // not reached: a plan requires an answer
	}
	return serveplan.DeployedConfig(deployed(d), d.ProxyLocation, d.HTTPOptions, d.GRPCOptions)
}

// deleteService deletes a Service that was read from the API server, even if the cache does not have it.
func (r *Reconciler) deleteService(ctx context.Context, s *scope, svc *corev1.Service) {
	s.recordResult(whatService, r.children.Do(s.service, children.Delete, whatService, svc.Name, func() error {
		return r.config.Client.Delete(ctx, svc.DeepCopy(), client.Preconditions{UID: &svc.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}))
}
