package rayservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/dashboard"
)

// observeServe takes the last answers of Ray Serve on the clusters that are used, and what became of configurations that were sent there.
func (r *Reconciler) observeServe(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	out := reconcile.Outcome{}
	for _, name := range s.used() {
		rc, there := s.clusters[name]
		if !there {
			continue
		}
		r.settle(s, rc)
		answer := r.tracker.serves.Answer(rc.UID)
		s.answers[name] = answer
		site, err := r.site(ctx, rc)
		if err != nil {
			return out, err
		}
		s.sites[name] = site
		c := s.in.Clusters[name]
		c.ServingSince = r.tracker.serving(s.service.UID, rc.UID, c.Pods > 0)
		c.Serve = serveOf(s, answer, r.tracker.known(s.service.UID, rc.UID))
		if c.Serve.Deployed && !c.Serve.Known {
			r.tracker.adopt(s.service.UID, rc.UID, s.service.Spec.ServeConfigV2)
			c.Serve.Known, c.Serve.Text = true, s.service.Spec.ServeConfigV2
		}
		if c.Serve.Busy && c.HeadReady && c.Serve.FailingSince.IsZero() { // one that fails wakes when it answers
			out.After = reconcile.Sooner(out.After, r.tracker.pace.Changing/4) // an answer that says the same as before wakes nobody
		}
		s.in.Clusters[name] = c
	}
	return out, nil
}

// settle tells of a configuration that was accepted, or not. What did not answer may have accepted it, so that is told of the second time.
func (r *Reconciler) settle(s *scope, rc *rayv1.RayCluster) {
	d, failures, failure := r.tracker.settle(s.service.UID, rc.UID)
	subject := "deployment " + string(rc.UID)
	switch {
	case d == nil:
	case failure == nil && d.resized:
		s.events = append(s.events, eventCapacity(rc.Name, d.percent))
		s.said.Say(s.service.UID, subject)
	case failure == nil:
		s.events = append(s.events, eventDeployed(rc.Name))
		s.said.Say(s.service.UID, subject)
	case failures < 2 && errors.Is(failure, dashboard.ErrUnavailable):
	case s.said.News(s.service.UID, subject, failure.Error()):
		s.events = append(s.events, eventNotDeployed(rc.Name, d.resized, failure.Error()))
	}
}

// site is where the dashboard of a cluster is; nil while there is no Service for it.
func (r *Reconciler) site(ctx context.Context, rc *rayv1.RayCluster) (*dashboards.Site, error) {
	svc := &corev1.Service{}
	name := names.HeadService(rc)
	err := r.config.Client.Get(ctx, client.ObjectKey{Namespace: rc.Namespace, Name: name}, svc)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Service %s: %w", name, err)
	}
	port := service.DashboardPort(rc)
	if i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == rayv1.PortDashboard }); i >= 0 {
		port = svc.Spec.Ports[i].Port
	}
	site := dashboards.SiteOf(rc, net.JoinHostPort(names.HeadHost(rc, r.config.ClusterDomain), strconv.Itoa(int(port))))
	return &site, nil
}

// serveOf is an answer as the plan wants it.
func serveOf(s *scope, a serveAnswer, k tracked) serveplan.Serve {
	v := serveplan.Serve{
		AskedAt: a.AskedAt, FailingSince: a.FailingSince, Known: k.known, Text: k.text, Refused: k.refused,
		Busy: k.command != nil || a.AskedAt.Before(k.doneAt), Capacity: 100, Settled: true,
	}
	if a.Err != nil {
		v.Failure = a.Err.Error()
	}
	d := a.Value
	if d == nil {
		return v
	}
	v.Applications = statusesOf(d)
	for _, app := range d.Applications {
		for _, found := range app.Deployments {
			v.Settled = v.Settled && (found.TargetReplicas == nil || found.RunningReplicas >= *found.TargetReplicas)
		}
	}
	if d.TargetCapacity != nil {
		v.Capacity = int32(*d.TargetCapacity + 0.5) // the client lets 0 to 100 through
	}
	v.Deployed = s.in.ConfigError == "" && s.in.Config.Runs(deployed(d))
	return v
}
