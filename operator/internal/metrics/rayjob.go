package metrics

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// RayJob are the metrics about RayJobs, with the names and labels of KubeRay 1.7. It lists them from the cache when it is scraped.
type RayJob struct {
	reader client.Reader

	mu   sync.Mutex
	ends map[types.UID]map[attemptEnd]float64

	duration, info, state *prometheus.Desc
}

// attemptEnd are the labels of how an attempt ended.
type attemptEnd struct{ state, retries string }

// NewRayJob returns metrics about what the reader lists.
func NewRayJob(reader client.Reader) *RayJob {
	object := []string{"name", "namespace", "uid"}
	return &RayJob{
		reader: reader, ends: map[types.UID]map[attemptEnd]float64{},
		duration: prometheus.NewDesc("kuberay_job_execution_duration_seconds",
			"Seconds from the start of an attempt at a RayJob to its end, with the attempts that had failed before.",
			append(object, "job_deployment_status", "retry_count"), nil),
		info: prometheus.NewDesc("kuberay_job_info", "One per RayJob.", object, nil),
		state: prometheus.NewDesc("kuberay_job_deployment_status", "One per RayJob, with its state.",
			append(object, "deployment_status"), nil),
	}
}

// ObserveEnd notes that an attempt ended in a state: Complete, Failed or Retrying. The RayJob is as before that.
func (m *RayJob) ObserveEnd(before *rayv1.RayJob, state rayv1.JobDeploymentStatus, now time.Time) {
	if before.Status.StartTime == nil {
		return
	}
	retries := int32(0)
	if n := before.Status.Failed; n != nil {
		retries = *n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ends[before.UID] == nil {
		m.ends[before.UID] = map[attemptEnd]float64{}
	}
	m.ends[before.UID][attemptEnd{string(state), strconv.Itoa(int(retries))}] = now.Sub(before.Status.StartTime.Time).Seconds()
}

// Describe implements prometheus.Collector.
func (m *RayJob) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.duration
	ch <- m.info
	ch <- m.state
}

// Collect implements prometheus.Collector.
func (m *RayJob) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var list rayv1.RayJobList
	if err := m.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ch <- prometheus.NewInvalidMetric(m.info, err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	alive := make(map[types.UID]struct{}, len(list.Items))
	for i := range list.Items {
		j := &list.Items[i]
		alive[j.UID] = struct{}{}
		object := []string{j.Name, j.Namespace, string(j.UID)}
		ch <- one(m.info, object...)
		ch <- one(m.state, append(object, string(j.Status.JobDeploymentStatus))...)
		for end, seconds := range m.ends[j.UID] {
			ch <- prometheus.MustNewConstMetric(m.duration, prometheus.GaugeValue, seconds, append(object, end.state, end.retries)...)
		}
	}
	for uid := range m.ends {
		if _, ok := alive[uid]; !ok {
			delete(m.ends, uid)
		}
	}
}
