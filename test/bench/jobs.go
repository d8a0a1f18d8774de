package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

const (
	// warmUpJobs are run before the first round.
	warmUpJobs = 20
	// hangsFor is how long the dashboards of one job in four answer nothing; longer than a request may take.
	hangsFor = "20s"
	// jobsLimit is for a round, which runs a thousand processes.
	jobsLimit = 10 * time.Minute
)

// jobs runs RayJobs all at once on simulated Ray, once with dashboards that all answer and once with every fourth that hangs first.
// Every fourth of the others is submitted by a Kubernetes Job, the rest by the operator.
func jobs(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	proxy, err := newCountingProxy(s.config)
	if err != nil {
		return err
	}
	defer proxy.close()
	operator, err := s.startOperatorBehind(ctx, proxy, "--use-kubernetes-proxy")
	if err != nil {
		return err
	}
	metrics, err := metricsOf(operator)
	if err != nil {
		return err
	}
	b := &jobRounds{session: s, namespace: namespace, proxy: proxy, metrics: metrics}
	var with, without jobFigures
	rounds := 2*s.opts.Rounds - 1
	for round := range rounds + 1 { // the first warms up
		n := s.opts.Jobs
		for _, hangs := range []bool{round%2 == 0, round%2 != 0} {
			figures := &without
			if hangs {
				figures = &with
			}
			if round == 0 {
				figures, n = &jobFigures{}, min(n, warmUpJobs)
			}
			if err := b.round(ctx, n, hangs, figures); err != nil {
				return err
			}
			s.logf("round %d of %d, %d jobs, hanging %t: %s", round, rounds, n, hangs, figures.last())
		}
	}
	s.reportJobs(with, without)
	return nil
}

// jobFigures are the figures of the rounds, one each.
type jobFigures struct {
	perMinute, reconcile, queue, own, all []float64 // reconcile and queue are p99 in ms; own and all are writes per job
	verbs                                 map[request][]float64
}

func (f *jobFigures) last() string {
	end := func(list []float64) float64 { return list[len(list)-1] }
	return fmt.Sprintf("%.0f jobs per minute, p99 of a reconcile %.1f ms, of the wait for it %.1f ms, %.1f writes per RayJob", end(f.perMinute), end(f.reconcile), end(f.queue), end(f.own))
}

// jobRounds are the rounds of RayJobs in a namespace.
type jobRounds struct {
	*session
	namespace string
	// proxy counts the requests of the operator, and metrics is the URL of its metrics.
	proxy   *countingProxy
	metrics string
}

// round runs jobs, every fourth with a dashboard that hangs if hangs is set, and adds the figures.
func (s *jobRounds) round(ctx context.Context, jobs int, hangs bool, f *jobFigures) error {
	ctx, cancel := context.WithTimeout(ctx, jobsLimit)
	defer cancel()
	var objects []client.Object
	for i := range jobs {
		objects = append(objects, benchJob(s.namespace, i, hangs && i%4 == 3))
	}
	wait, err := s.whenReady(ctx, &rayv1.RayJobList{}, s.namespace, len(objects), jobEnded)
	if err != nil {
		return err
	}
	before, err := histograms(ctx, s.metrics)
	if err != nil {
		return err
	}
	s.proxy.reset()
	seconds, err := s.createAndWait(ctx, objects, wait)
	if err != nil {
		return err
	}
	after, err := histograms(ctx, s.metrics)
	if err != nil {
		return err
	}
	if after.reconcile == nil || after.queue == nil {
		return errors.New("reading metrics: there are none about reconciles of RayJobs")
	}
	if err := s.checkJobs(ctx, s.namespace); err != nil {
		return err
	}
	if err := pause(ctx, eventsSettle); err != nil {
		return err
	}
	counts := s.proxy.reset()
	f.perMinute = append(f.perMinute, float64(jobs)/seconds*60)
	f.reconcile = append(f.reconcile, 1000*quantile(0.99, before.reconcile, after.reconcile))
	f.queue = append(f.queue, 1000*quantile(0.99, before.queue, after.queue))
	f.count(counts, jobs)
	return s.clearJobs(ctx, s.namespace)
}

// count adds the writes of a round.
func (f *jobFigures) count(counts map[request]int, jobs int) {
	if f.verbs == nil {
		f.verbs = map[request][]float64{}
	}
	own, all := 0, 0
	for q, n := range counts {
		if !q.isWrite() || q.resource == "services/proxy" { // to Ray, not to the API server
			continue
		}
		all += n
		if strings.HasPrefix(q.resource, "rayjobs.") {
			own += n
		}
		f.verbs[q] = append(f.verbs[q], float64(n)/float64(jobs))
	}
	f.own, f.all = append(f.own, float64(own)/float64(jobs)), append(f.all, float64(all)/float64(jobs))
}

// benchJob is a RayJob with a cluster of one head, which is deleted at the end of the job.
func benchJob(namespace string, i int, hangs bool) *rayv1.RayJob {
	rc := raytest.RayCluster("x/y")
	head := &rc.Spec.HeadGroupSpec.Template
	head.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}
	mode := rayv1.HTTPMode
	if i%4 == 1 {
		mode = rayv1.K8sJobMode
	}
	if hangs {
		head.Annotations = map[string]string{"raygate.io/sim-dashboard-hang": hangsFor}
	}
	j := &rayv1.RayJob{Spec: rayv1.RayJobSpec{Entrypoint: "echo done", SubmissionMode: mode, ShutdownAfterJobFinishes: true, RayClusterSpec: &rc.Spec}}
	j.Namespace, j.Name = namespace, fmt.Sprintf("job-%d", i)
	return j
}

func jobEnded(obj client.Object) bool {
	j, ok := obj.(*rayv1.RayJob)
	return ok && j.Status.JobDeploymentStatus.IsTerminal()
}

// checkJobs makes sure that each job succeeded at its first attempt.
func (s *session) checkJobs(ctx context.Context, namespace string) error {
	var list rayv1.RayJobList
	if err := s.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing RayJobs: %w", err)
	}
	var problems []error
	for i := range list.Items {
		j := &list.Items[i]
		if st := &j.Status; st.JobDeploymentStatus != rayv1.JobDeploymentStatusComplete || st.JobStatus != rayv1.JobStatusSucceeded || st.Failed == nil || *st.Failed != 0 {
			problems = append(problems, fmt.Errorf("RayJob %s is %s %s: %s", j.Name, st.JobDeploymentStatus, st.JobStatus, st.Message))
		}
	}
	return errors.Join(problems...)
}

func (s *session) clearJobs(ctx context.Context, namespace string) error {
	if err := s.deleteAll(ctx, &rayv1.RayJob{}, client.InNamespace(namespace)); err != nil {
		return err
	}
	if err := s.gone(ctx, namespace, 4*time.Minute, &rayv1.RayJobList{}, &rayv1.RayClusterList{}, &corev1.PodList{}, &corev1.ServiceList{}); err != nil {
		return err
	}
	return pause(ctx, 2*time.Second)
}

func (s *session) reportJobs(with, without jobFigures) {
	n, slow := s.opts.Jobs, s.opts.Jobs/4
	s.add(fmt.Sprintf("%d RayJobs at once, jobs per minute", n), "", without.perMinute, nil, nil)
	s.add(fmt.Sprintf("the same, %d of them with dashboards that hang for %s first", slow, hangsFor), "", with.perMinute, nil, nil)
	s.add("p99 of a reconcile with the hanging ones; direct is without them", "ms", with.reconcile, without.reconcile, ratioAtMost(1.5))
	s.add("p99 of the wait for a reconcile with the hanging ones; direct is without them", "ms", with.queue, without.queue, ratioAtMost(1.5))
	s.add("API writes to the RayJob itself, per job", "", without.own, nil, atMost(8))
	s.add("API writes per job, children, status of clusters and events included", "", without.all, nil, nil)
	means := map[request]int{}
	for q, list := range without.verbs {
		means[q] = int(math.Round(1000 * median(list)))
	}
	for _, q := range sorted(means) {
		s.add("  of these "+q.verb+" "+q.resource, "", without.verbs[q], nil, nil)
	}
}

// measured are the operator's histograms of reconciles of RayJobs since its start; nil before the first one.
type measured struct{ reconcile, queue *dto.Histogram }

func histograms(ctx context.Context, url string) (m measured, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return m, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return m, fmt.Errorf("reading metrics: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return m, fmt.Errorf("reading metrics: %w", err)
	}
	m.reconcile = histogram(families["controller_runtime_reconcile_time_seconds"], "controller", "rayjob")
	m.queue = histogram(families["workqueue_queue_duration_seconds"], "controller", "rayjob")
	return m, nil
}

// histogram sums up those with a label: there is one for each priority.
func histogram(family *dto.MetricFamily, label, value string) *dto.Histogram {
	var sum *dto.Histogram
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() != label || l.GetValue() != value {
				continue
			}
			if sum == nil {
				sum = m.GetHistogram()
				continue
			}
			for i, b := range m.GetHistogram().GetBucket() {
				*sum.Bucket[i].CumulativeCount += b.GetCumulativeCount()
			}
		}
	}
	return sum
}

// quantile is the quantile of the observations between two moments, interpolated within its bucket as Prometheus does.
func quantile(q float64, before, after *dto.Histogram) float64 {
	type bucket struct{ end, count float64 }
	var list []bucket
	for i, b := range after.GetBucket() {
		count := float64(b.GetCumulativeCount())
		if old := before.GetBucket(); i < len(old) {
			count -= float64(old[i].GetCumulativeCount())
		}
		list = append(list, bucket{b.GetUpperBound(), count})
	}
	if len(list) == 0 || list[len(list)-1].count == 0 {
		return 0
	}
	want, begin, below := q*list[len(list)-1].count, 0.0, 0.0
	for _, b := range list {
		if b.count >= want {
			if math.IsInf(b.end, 1) {
				return begin
			}
			return begin + (b.end-begin)*(want-below)/(b.count-below)
		}
		begin, below = b.end, b.count
	}
	return begin
}

// metricsOf is the address of the metrics of the operator.
func metricsOf(p *process) (string, error) {
	for _, arg := range p.cmd.Args {
		if address, ok := strings.CutPrefix(arg, "--metrics-bind-address="); ok {
			return "http://" + address + "/metrics", nil
		}
	}
	return "", errors.New("the operator serves no metrics")
}
