// Package servemetrics reads from Prometheus how requests to Ray Serve on a cluster end. The series are those that Ray exports, with the labels that
// observability/podmonitors sets.
package servemetrics

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Query is a question about the requests to a cluster.
type Query struct {
	Namespace, Cluster string
	// Metrics are names as in rayv1.CanaryBound.
	Metrics []string
	// Over is the time before now of which requests count.
	Over time.Duration
}

// Read returns the values of a query by its metrics. A metric has no value if there were no requests.
type Read func(ctx context.Context, q Query) (map[string]float64, error)

// Timeout limits a Read.
const Timeout = 10 * time.Second

// maxAnswer limits an answer of Prometheus in bytes. An answer has one sample.
const maxAnswer = 64 << 10

// New returns a Read that asks the Prometheus at address, which must be an http or https URL.
func New(address string) (Read, error) {
	c, err := api.NewClient(api.Config{Address: address, Client: &http.Client{
		Transport: limited{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // only the configured host is asked
		},
	}})
	if err != nil {
		return nil, fmt.Errorf("making the client of Prometheus: %w", err)
	}
	prometheus := promv1.NewAPI(c)
	return func(ctx context.Context, q Query) (map[string]float64, error) {
		values := map[string]float64{}
		for _, metric := range q.Metrics {
			answer, _, err := prometheus.Query(ctx, q.expression(metric), time.Time{}, promv1.WithTimeout(Timeout))
			if err != nil {
				return nil, fmt.Errorf("asking Prometheus for %s: %w", metric, err)
			}
			vector, ok := answer.(model.Vector)
			if !ok {
				return nil, fmt.Errorf("asking Prometheus for %s: the answer is a %s", metric, answer.Type())
			}
			if len(vector) == 1 && !math.IsNaN(float64(vector[0].Value)) {
				values[metric] = float64(vector[0].Value)
			}
		}
		return values, nil
	}, nil
}

// failed matches the status codes for which the application or Ray Serve is responsible, and not the caller: those of HTTP, with the timeouts of Ray
// Serve, and those of gRPC, which older versions of Ray write with their type.
const failed = `5..|408|(StatusCode[.])?(UNKNOWN|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|UNIMPLEMENTED|INTERNAL|UNAVAILABLE|DATA_LOSS)`

// expression returns the PromQL for a metric. Requests without an application, such as health checks, do not count.
func (q Query) expression(metric string) string {
	rate := func(name, more string) string {
		return fmt.Sprintf(`rate({__name__=~%q,job="ray",namespace=%q,ray_io_cluster=%q,application!=""%s}[%ds])`, name, q.Namespace, q.Cluster, more, int(q.Over.Seconds()))
	}
	const counter, latency = "ray_serve_num_(http|grpc)_requests_total", "ray_serve_(http|grpc)_request_latency_ms_bucket"
	if percent, ok := strings.CutPrefix(metric, "p"); ok {
		return fmt.Sprintf("histogram_quantile(0.%s, sum by (le) (%s))", percent, rate(latency, ""))
	}
	return fmt.Sprintf("(sum(%s) or vector(0)) / sum(%s)", rate(counter, fmt.Sprintf(",status_code=~%q", failed)), rate(counter, ""))
}

// limited limits the bodies of answers.
type limited struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}
