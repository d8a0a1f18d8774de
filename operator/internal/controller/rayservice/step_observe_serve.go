package rayservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
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

// observeServe records the last answers of Ray Serve on the clusters in use, and the results of configurations that were sent.
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
		c.Measured = r.measured(ctx, s, rc)
		c.Serve = serveOf(s, answer, r.tracker.known(s.service.UID, rc.UID))
		if c.Serve.Deployed && !c.Serve.Known {
			r.tracker.adopt(s.service.UID, rc.UID, s.service.Spec.ServeConfigV2)
			c.Serve.Known, c.Serve.Text = true, s.service.Spec.ServeConfigV2
		}
		if c.Serve.Busy && c.HeadReady && c.Serve.FailingSince.IsZero() { // a failing request triggers a reconcile when it is answered
			out.After = reconcile.Sooner(out.After, r.tracker.pace.Changing/4) // an unchanged answer triggers no reconcile
		}
		s.in.Clusters[name] = c
	}
	return out, nil
}

// settle sends an event for an accepted or failed configuration. A request without an answer may have succeeded, so only its
// second failure is reported.
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

// site returns the dashboard of a cluster; nil if the cluster has no Service for it yet.
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
	port := cmp.Or(service.DashboardPortOf(svc), service.DashboardPort(rc))
	site := dashboards.SiteOf(rc, net.JoinHostPort(names.HeadHost(rc, r.config.ClusterDomain), strconv.Itoa(int(port))))
	return &site, nil
}

// serveOf converts an answer to the form that the plan uses.
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
		v.Capacity = int32(*d.TargetCapacity + 0.5) // the client accepts only 0 to 100
	}
	v.Deployed = s.in.ConfigError == "" && s.in.Config.Runs(deployed(d))
	return v
}
