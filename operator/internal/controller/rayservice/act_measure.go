package rayservice

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/operator/internal/servemetrics"
	"github.com/raygate/raygate/operator/internal/serveplan"
)

// measureInterval is the time between two questions about a cluster. Prometheus reads the metrics of Ray about as often.
const measureInterval = 15 * time.Second

// measure asks Prometheus about the requests to a cluster while the plan wants that.
func (r *Reconciler) measure(_ context.Context, s *scope) {
	m, service := s.plan.Measure, client.ObjectKeyFromObject(s.service) // not s: it changes while Prometheus answers
	for name, rc := range s.clusters {
		if m == nil || m.Cluster != name || r.config.Metrics == nil {
			r.tracker.metrics.Unobserve(rc.UID, string(s.service.UID))
			continue
		}
		q := servemetrics.Query{Namespace: rc.Namespace, Cluster: name}
		for _, b := range m.Analysis.Bounds {
			q.Metrics = append(q.Metrics, b.Metric)
		}
		r.tracker.metrics.Observe(rc.UID, string(s.service.UID), poll.Query[map[string]float64]{
			Interval: measureInterval, Timeout: servemetrics.Timeout, Revision: fmt.Sprint(m.Since.Unix(), m.Analysis),
			Ask: func(ctx context.Context) (map[string]float64, error) {
				q := q
				q.Over = max(serveplan.MinAnalysis, min(m.Analysis.For, r.config.Clock.Since(m.Since)))
				return r.config.Metrics(ctx, q)
			},
		}, poll.Observer[map[string]float64]{Wake: func() { r.tracker.wake(service) }})
	}
}

// measured returns the last answer of Prometheus about a cluster. Only the log has addresses and errors of Prometheus.
func (r *Reconciler) measured(ctx context.Context, s *scope, rc *rayv1.RayCluster) serveplan.Measured {
	answer := r.tracker.metrics.Answer(rc.UID)
	m := serveplan.Measured{AskedAt: answer.AskedAt, Values: answer.Value}
	switch {
	case r.config.Metrics == nil:
		m.Failure = "the operator has no Prometheus (--prometheus-url)"
	case answer.Err != nil:
		m.Failure = "Prometheus does not answer"
		if s.said.News(s.service.UID, "metrics of "+rc.Name, answer.Err.Error()) {
			ctrllog.FromContext(ctx).Error(answer.Err, "Could not read metrics for the analysis of a canary", "RayCluster", rc.Name)
		}
	}
	return m
}
