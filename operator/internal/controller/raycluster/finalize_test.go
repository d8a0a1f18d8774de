package raycluster

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestCleanUpTimeout(t *testing.T) {
	const byDefault = 300 * time.Second
	for value, want := range map[string]time.Duration{
		"": byDefault, "60": time.Minute, "1": time.Second, "0": byDefault, "-5": byDefault, "1.5": byDefault, "5m": byDefault, "99999999999": byDefault,
	} {
		rc := raytest.RayCluster("ns/demo", raytest.Annotations(map[string]string{rayv1.AnnotationGCSFTDeletionTimeout: value}))
		if got := timeout(rc); got != want {
			t.Errorf("timeout for %q: want %s, got %s", value, want, got)
		}
	}
}

// deleted is a cluster with its metadata in Redis that was deleted at raytest.Epoch.
func deleted(opts ...raytest.ClusterOption) *rayv1.RayCluster {
	return raytest.RayCluster("ns/demo", append(opts, raytest.Workers("cpu", 1), func(rc *rayv1.RayCluster) {
		rc.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
		rc.Finalizers = []string{rayv1.FinalizerGCSFTRedisCleanup}
		rc.DeletionTimestamp = new(raytest.Epoch)
	})...)
}

func (b *bench) cleaningUp() *bench {
	b.restart(func(c *Config) { c.CleanUpRedis = true })
	return b
}

func (b *bench) gone() bool {
	b.t.Helper()
	return apierrors.IsNotFound(b.client.Get(b.t.Context(), key(b.rc), &rayv1.RayCluster{}))
}

func TestHowTheJobEndsIsHowTheClusterGoes(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) []batchv1.JobCondition {
		return []batchv1.JobCondition{{Type: kind, Status: status, Message: "it says so"}}
	}
	cases := map[string]struct {
		conditions []batchv1.JobCondition
		wantGone   bool
		wantEvent  string
	}{
		"it runs":                     {},
		"it succeeded":                {condition(batchv1.JobComplete, corev1.ConditionTrue), true, ""},
		"it has not succeeded":        {condition(batchv1.JobComplete, corev1.ConditionFalse), false, ""},
		"it failed":                   {condition(batchv1.JobFailed, corev1.ConditionTrue), true, "RedisCleanupFailed"},
		"it is about to have failed":  {condition(batchv1.JobFailureTarget, corev1.ConditionTrue), true, "RedisCleanupFailed"},
		"it is about to have success": {condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue), false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := deleted()
			stuck := raytest.WorkerPod(rc, "cpu", "stuck", func(p *corev1.Pod) { p.Finalizers = []string{"x/stuck"} })
			b := newBench(t, rc, interceptor.Funcs{}, raytest.HeadPod(rc, "h"), stuck).cleaningUp()
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo-redis-cleanup"}}
			b.mustReconcile()
			if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
				t.Fatalf("the Job is there before the head is gone: %v", err)
			}
			b.mustReconcile() // a worker is not waited for
			if got := b.events(); len(got) != 1 || !strings.Contains(got[0], "CreatedRedisCleanupJob") {
				t.Fatalf("events %q, want that of the Job", got)
			}
			if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
				t.Fatal(err)
			}
			job.Status.Conditions = tc.conditions
			if err := b.client.Status().Update(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			result := b.mustReconcile()
			if b.gone() != tc.wantGone {
				t.Errorf("the cluster is gone: %t, want %t", b.gone(), tc.wantGone)
			}
			if !tc.wantGone && result.RequeueAfter != 300*time.Second {
				t.Errorf("looks again after %s, want when the time is up", result.RequeueAfter)
			}
			got := strings.Join(b.events(), "\n")
			if (got == "") != (tc.wantEvent == "") || !strings.Contains(got, tc.wantEvent) {
				t.Errorf("events %q, want %q", got, tc.wantEvent)
			}
			if tc.wantEvent != "" && !strings.Contains(got, "(it says so)") {
				t.Errorf("event %q does not say why", got)
			}
		})
	}
}

func TestTheClusterGoesWhenTheTimeIsUp(t *testing.T) {
	rc := deleted(raytest.Annotations(map[string]string{rayv1.AnnotationGCSFTDeletionTimeout: "20"}))
	stuck := raytest.HeadPod(rc, "h", func(p *corev1.Pod) { p.Finalizers = []string{"x/stuck"} })
	b := newBench(t, rc, interceptor.Funcs{}, stuck).cleaningUp()
	if result := b.mustReconcile(); result.RequeueAfter != 20*time.Second || b.gone() {
		t.Errorf("looks again after %s, gone %t", result.RequeueAfter, b.gone())
	}
	b.clock.Step(20 * time.Second)
	b.mustReconcile()
	got := b.events()
	if !b.gone() || len(got) != 1 || !strings.Contains(got[0], "ForceDeletedStuckCluster") || !strings.Contains(got[0], string(rc.UID)) {
		t.Errorf("gone %t, events %q", b.gone(), got)
	}
}

func TestFinalizerIsNeverStranded(t *testing.T) {
	limit := raytest.Annotations(map[string]string{rayv1.AnnotationGCSFTDeletionTimeout: "8"})
	cases := map[string]struct {
		change    raytest.ClusterOption
		operator  func(*Config)
		job       bool // somebody else has the name of the Job
		wantEvent string
	}{
		"fault tolerance was turned off": {
			change:    raytest.Spec(func(s *rayv1.RayClusterSpec) { s.GcsFaultToleranceOptions = nil }),
			wantEvent: "RedisCleanupSkipped",
		},
		"the operator no longer cleans up": {operator: func(c *Config) { c.CleanUpRedis = false }, wantEvent: "RedisCleanupSkipped"},
		"the spec became invalid": { // without the feature gate
			change:    raytest.Spec(func(s *rayv1.RayClusterSpec) { s.TLSOptions = &rayv1.TLSOptions{} }),
			wantEvent: "ForceDeletedStuckCluster",
		},
		"the name of the Job is taken": {job: true, wantEvent: "FailedToCreateRedisCleanupJob"},
		"somebody else manages it":     {change: raytest.ManagedBy(rayv1.ManagedByMultiKueue), wantEvent: "ForceDeletedStuckCluster"},
		"the store is embedded, after an earlier life with Redis": {change: raytest.Spec(func(s *rayv1.RayClusterSpec) {
			s.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB}
		})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := deleted(limit)
			if tc.change != nil {
				tc.change(rc)
			}
			objects := []client.Object{raytest.HeadPod(rc, "h")}
			if tc.job {
				objects = append(objects, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo-redis-cleanup"}})
			}
			b := newBench(t, rc, interceptor.Funcs{}, objects...).cleaningUp()
			if tc.operator != nil {
				b.restart(tc.operator)
			}
			for range 10 {
				b.mustReconcile()
				b.clock.Step(time.Second)
			}
			if got := strings.Join(b.events(), "\n"); !b.gone() || !strings.Contains(got, tc.wantEvent) || tc.wantEvent == "" && strings.Contains(got, "RedisCleanup") {
				t.Errorf("gone %t, events %q, want %q", b.gone(), got, tc.wantEvent)
			}
		})
	}
}
