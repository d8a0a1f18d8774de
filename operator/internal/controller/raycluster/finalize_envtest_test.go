package raycluster

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func (w *world) redis(name string, opts ...raytest.ClusterOption) *rayv1.RayCluster {
	return w.cluster(name, append([]raytest.ClusterOption{raytest.Workers("cpu", 1), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
	})}, opts...)...)
}

func (w *world) gone(name string) bool {
	w.T.Helper()
	err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, &rayv1.RayCluster{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.T.Fatal(err)
	}
	return err != nil
}

func (w *world) delete(name string, opts ...client.DeleteOption) {
	w.T.Helper()
	if err := w.Client.Delete(w.T.Context(), w.get(name), opts...); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) cleanUpJob(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name + "-redis-cleanup"}}
}

// endJob ends the Pod of the Job as its program would, and leaves the rest to the Job controller.
func (w *world) endJob(j *batchv1.Job, how corev1.PodPhase) {
	w.T.Helper()
	w.Eventually("the Pod of the Job to end", func() bool {
		var list corev1.PodList
		if err := w.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{batchv1.JobNameLabel: j.Name}); err != nil {
			w.T.Fatal(err)
		}
		if len(list.Items) != 1 {
			return false
		}
		p := &list.Items[0]
		p.Status.Phase = how
		for i := range p.Status.ContainerStatuses {
			p.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Ended"}}
		}
		return w.Client.Status().Update(w.T.Context(), p) == nil
	})
}

func TestRedisIsEmptiedBeforeTheClusterGoes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		opts      []client.DeleteOption
		end       corev1.PodPhase
		wantEvent string
	}{
		"the Job succeeds":              {end: corev1.PodSucceeded},
		"the Job fails":                 {end: corev1.PodFailed, wantEvent: "RedisCleanupFailed"},
		"somebody waits for dependents": {opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}, end: corev1.PodSucceeded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.asOperator()
			w.startOperator()
			w.Create(w.redis("demo"))
			rc := w.eventuallyReady("demo")
			if !controllerutil.ContainsFinalizer(rc, rayv1.FinalizerGCSFTRedisCleanup) {
				t.Fatal("the cluster is ready without the finalizer")
			}
			w.delete("demo", tc.opts...)
			j := w.cleanUpJob("demo")
			w.Eventually("the Job", func() bool {
				if !w.Read(j) {
					return false
				}
				for _, p := range w.pods("demo") {
					if p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) {
						t.Error("Redis is emptied while the head still writes to it")
					}
				}
				return true
			})
			w.fence("demo")
			if w.gone("demo") {
				t.Fatal("the cluster went before Redis was emptied")
			}
			w.endJob(j, tc.end)
			w.Eventually("the cluster to go", func() bool { return w.gone("demo") })
			w.Eventually("the event of the creation", func() bool { return len(w.Events("demo", "CreatedRedisCleanupJob")) > 0 })
			if tc.wantEvent != "" {
				w.Eventually("the event of the failure", func() bool {
					got := strings.Join(w.Events("demo", tc.wantEvent), "")
					return strings.Contains(got, "backoff limit") && strings.Contains(got, string(rc.UID))
				})
			}
		})
	}
}
