package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/servemetrics"
)

// prometheus has the rates at which requests to clusters fail. It outlives the operator.
type prometheus struct {
	world *world

	mu   sync.Mutex
	fail map[string]bool // whether requests to a cluster fail; decided by the first query
}

// read implements servemetrics.Read.
func (p *prometheus) read(ctx context.Context, q servemetrics.Query) (map[string]float64, error) {
	w := p.world
	if err := wait(ctx, w.between("prometheus "+q.Cluster, time.Millisecond, 2*time.Second)); err != nil {
		return nil, err
	}
	if w.fault(faultPrometheus, "") > 0 {
		return nil, errors.New("connection refused")
	}
	if w.fault(faultCallers, "") > 0 {
		return map[string]float64{}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fails, known := p.fail[q.Cluster]
	if !known {
		fails = w.chance("requests to "+q.Cluster, 0.4)
		p.fail[q.Cluster] = fails
	}
	value := 0.01
	if fails {
		value = 0.2
	}
	w.log("Prometheus: errorRate of %s in %s is %g", q.Cluster, q.Over, value)
	return map[string]float64{"errorRate": value}, nil
}

// approves reports whether an answer allowed a cluster to get all traffic.
func (p *prometheus) approves(cluster string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	fails, known := p.fail[cluster]
	return known && !fails
}

// analyses has canaries analysed instead of confirmed.
func (s *scenario) analyses(r *rand.Rand) {
	s.add(r, "canaries are analysed", func(w *world) {
		annotate(rayv1.AnnotationCanaryWeight, "10")(w)
		annotate(rayv1.AnnotationCanaryAnalysis, "errorRate<0.1,for=1m")(w)
	})
	for _, kind := range []string{faultPrometheus, faultCallers} {
		if lasts := time.Duration(r.Int64N(int64(15 * time.Minute))); r.IntN(3) == 0 {
			s.add(r, kind+" for "+lasts.Truncate(time.Second).String(), func(w *world) { w.begins(kind, "", 1, lasts) })
		}
	}
}
