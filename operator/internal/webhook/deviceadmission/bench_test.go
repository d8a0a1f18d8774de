package deviceadmission_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
)

// realisticPod is a worker as the operator makes it: two containers, an init container, ten volumes.
func realisticPod(i int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("demo-gpu-worker-", i), UID: types.UID(fmt.Sprint("uid-", i)), Labels: map[string]string{"ray.io/node-type": "worker"}},
		Spec: corev1.PodSpec{SchedulerName: "default-scheduler", InitContainers: []corev1.Container{container("wait-gcs-ready", "cpu=200m memory=256Mi")},
			Containers: []corev1.Container{container("ray-worker", "cpu=8 memory=32Gi nvidia.com/gpumem=4096 nvidia.com/gpucores=30 nvidia.com/priority=1"), container("log-shipper", "cpu=100m memory=64Mi")}},
	}
	for v := range 10 {
		name := fmt.Sprint("volume-", v)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		for c := range pod.Spec.Containers {
			pod.Spec.Containers[c].VolumeMounts = append(pod.Spec.Containers[c].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/mnt/" + name})
			pod.Spec.Containers[c].Env = append(pod.Spec.Containers[c].Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", v), Value: "some value that is not short"})
		}
	}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources.Requests = pod.Spec.Containers[i].Resources.Limits
	}
	return pod
}

// BenchmarkD36 is one admission with its call to the HTTP handler, in a namespace of 5000 Pods with devices. Besides the mean it reports the p99 and
// the CPU time, which include that of the caller.
func BenchmarkD36(b *testing.B) {
	registry := shippedRegistry(b)
	engine := devicequota.New(devicequota.Options{Registry: registry, Clock: clock.RealClock{}})
	for i := range 5000 {
		pod := realisticPod(i)
		slim, err := devicequota.Slim(pod)
		if err != nil {
			b.Fatal(err)
		}
		engine.SetPod(slim.(*corev1.Pod))
	}
	engine.SetQuota(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
		"limits.nvidia.com/gpu": resource.MustParse("1M"), "limits.nvidia.com/gpumem": resource.MustParse("1G"), "limits.nvidia.com/gpucores": resource.MustParse("1G"),
	}}})
	m, _ := serve(b, registry, readyEngine{engine})
	object, err := json.Marshal(realisticPod(9999))
	if err != nil {
		b.Fatal(err)
	}
	body := review(b, string(object), func(a *admissionv1.AdmissionReview) { a.Request.DryRun = new(true) })
	for name, path := range map[string]string{"mutate": deviceadmission.MutatePath, "validate": deviceadmission.ValidatePath} {
		once := func() time.Duration {
			start := time.Now()
			if _, r := ask(b, m[path], body); r == nil || !r.Allowed {
				b.Errorf("response %+v", r)
			}
			return time.Since(start)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			before := cpu(b)
			for b.Loop() {
				took = append(took, once())
			}
			report(b, took, cpu(b)-before)
		})
		// As they come: at fixed times, however long the one before takes.
		b.Run(name+"-200-per-second", func(b *testing.B) {
			took := make([]time.Duration, 400)
			before, start := cpu(b), time.Now()
			var wg sync.WaitGroup
			for i := range took {
				due := start.Add(time.Duration(i) * 5 * time.Millisecond)
				time.Sleep(time.Until(due))
				wg.Go(func() {
					once()
					took[i] = time.Since(due)
				})
			}
			wg.Wait()
			report(b, took, cpu(b)-before)
		})
	}
}

// report adds the p99 and the CPU time of one admission.
func report(b *testing.B, took []time.Duration, used time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(used.Microseconds())/float64(len(took)), "cpu-µs/op")
}

// cpu is what this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// readyEngine knows all it was given.
type readyEngine struct{ *devicequota.Engine }

func (readyEngine) Ready() bool { return true }
