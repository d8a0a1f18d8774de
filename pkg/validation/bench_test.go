package validation_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// largeCluster has groups of three containers each, with the usual trimmings.
func largeCluster(groups int) *rayv1.RayCluster {
	rc := examples.Base()
	base := rc.Spec.WorkerGroupSpecs[0]
	rc.Spec.WorkerGroupSpecs = nil
	for i := range groups {
		g := base.DeepCopy()
		g.GroupName = fmt.Sprintf("group-%d", i)
		for c := range 2 {
			g.Template.Spec.Containers = append(g.Template.Spec.Containers, corev1.Container{Name: fmt.Sprintf("sidecar-%d", c), Image: "sidecar:1"})
		}
		for c := range g.Template.Spec.Containers {
			for e := range 10 {
				g.Template.Spec.Containers[c].Env = append(g.Template.Spec.Containers[c].Env, corev1.EnvVar{Name: fmt.Sprintf("E%d", e), Value: "v"})
			}
		}
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *g)
	}
	return rc
}

func BenchmarkRayClusterLarge(b *testing.B) {
	rc := largeCluster(50)
	if errs := validation.Create(rc, validation.Options{}).Errors; len(errs) > 0 {
		b.Fatalf("the cluster is invalid: %v", errs)
	}
	b.ReportAllocs()
	for b.Loop() {
		validation.Create(rc, validation.Options{})
	}
}

// BenchmarkRayClusterScale shows that the time grows with the size: compare ns/group.
func BenchmarkRayClusterScale(b *testing.B) {
	for _, groups := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			rc := largeCluster(groups)
			for b.Loop() {
				validation.Create(rc, validation.Options{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(groups), "ns/group")
		})
	}
}

// BenchmarkVerdict gives errors and warnings, as the webhook does, of 50 groups of three containers.
func BenchmarkVerdict(b *testing.B) {
	rc := largeCluster(50)
	job, service := examples.BaseJob(), examples.BaseService()
	job.Spec.RayClusterSpec, service.Spec.RayClusterSpec = &rc.Spec, rc.Spec
	for _, object := range []validation.Object{rc, job, service} {
		checks, _ := validation.For(object)
		b.Run("create/"+checks.Kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				checks.Create(object, validation.Options{})
			}
		})
		old := object.DeepCopyObject().(validation.Object)
		clusterOf(old).WorkerGroupSpecs[0].Replicas = new(int32(2))
		b.Run("update/"+checks.Kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				checks.Update(object, old, validation.Options{})
			}
		})
		b.Run("update-invalid/"+checks.Kind, func(b *testing.B) {
			broken, stored := object.DeepCopyObject().(validation.Object), old.DeepCopyObject().(validation.Object)
			for _, o := range []validation.Object{broken, stored} {
				for i := range clusterOf(o).WorkerGroupSpecs {
					clusterOf(o).WorkerGroupSpecs[i].NumOfHosts = -1
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				checks.Update(broken, stored, validation.Options{})
			}
		})
	}
}
