package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

func fieldsOf(v validation.Verdict) []string {
	var fields []string
	for _, v := range validation.Violations(append(v.Errors, v.Warnings...)) {
		fields = append(fields, v.Field)
	}
	return fields
}

// TestViolationsAreInTheOrderOfTheirKind breaks fields that stand in another order in another kind.
func TestViolationsAreInTheOrderOfTheirKind(t *testing.T) {
	breakCluster := func(s *rayv1.RayClusterSpec) {
		g := &s.WorkerGroupSpecs[0]
		g.GroupName, g.MinReplicas, g.NumOfHosts = "a_b", new(int32(-1)), -1
		g.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "A", ContainerPort: 99999}}
		g.RayStartParams = map[string]string{"num-cpus": "x", "num-gpus": "y"}
		s.HeadGroupSpec.Labels = map[string]string{"b!": "", "a!": ""}
		s.HeadGroupSpec.ServiceType = "Internal"
		s.HeadGroupSpec.Template.Spec.Containers = nil
		s.ManagedBy = new("me")
		s.AutoscalerOptions = &rayv1.AutoscalerOptions{Version: new(rayv1.AutoscalerVersion("v3"))}
	}
	inCluster := func(root string) []string {
		fields := []string{
			"headGroupSpec.template.spec.containers", "headGroupSpec.labels[a!]", "headGroupSpec.labels[b!]", "headGroupSpec.serviceType",
			"workerGroupSpecs[0].groupName", "workerGroupSpecs[0].minReplicas", "workerGroupSpecs[0].numOfHosts",
			"workerGroupSpecs[0].rayStartParams[num-cpus]", "workerGroupSpecs[0].rayStartParams[num-gpus]",
			"workerGroupSpecs[0].template.spec.containers[0].ports[0].name", "workerGroupSpecs[0].template.spec.containers[0].ports[0].containerPort",
			"autoscalerOptions", "autoscalerOptions.version", "managedBy",
		}
		for i := range fields {
			fields[i] = root + "." + fields[i]
		}
		return fields
	}
	cluster := examples.Base()
	cluster.Name = "A"
	breakCluster(&cluster.Spec)

	job := examples.BaseJob()
	job.Name = "A"
	breakCluster(job.Spec.RayClusterSpec)
	job.Spec.SubmissionMode, job.Spec.Entrypoint, job.Spec.ManagedBy, job.Spec.BackoffLimit = "None", "", new("me"), new(int32(-1))
	job.Spec.RuntimeEnvYAML, job.Spec.EntrypointNumCpus = "x", -1

	service := examples.BaseService()
	service.Annotations = map[string]string{rayv1.AnnotationInitializingTimeout: "x"}
	breakCluster(&service.Spec.RayClusterSpec)
	service.Spec.ServeConfigV2, service.Spec.ManagedBy, service.Spec.RayClusterDeletionDelaySeconds = "x", new("me"), new(int32(-1))
	service.Spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: new(rayv1.RayServiceUpgradeType("x"))}

	cron := examples.BaseCronJob()
	cron.Spec.JobTemplate = *job.Spec.DeepCopy()
	cron.Spec.Schedule, cron.Spec.TimeZone = "x", new("x")

	inJob := func(root string) []string {
		fields := append([]string{root + ".entrypoint"}, inCluster(root+".rayClusterSpec")...)
		for _, name := range []string{"submissionMode", "backoffLimit", "managedBy", "runtimeEnvYAML", "entrypointNumCpus"} {
			fields = append(fields, root+"."+name)
		}
		return fields
	}
	tests := map[string]struct {
		object validation.Object
		want   []string
	}{
		"RayCluster": {cluster, append([]string{"metadata.name"}, inCluster("spec")...)},
		"RayJob":     {job, append([]string{"metadata.name"}, inJob("spec")...)},
		"RayService": {service, append(append([]string{"metadata.annotations[ray.io/initializing-timeout]"}, inCluster("spec.rayClusterConfig")...),
			"spec.serveConfigV2", "spec.upgradeStrategy.type", "spec.rayClusterDeletionDelaySeconds", "spec.managedBy")},
		"RayCronJob": {cron, append([]string{"kind", "spec.schedule", "spec.timeZone"}, inJob("spec.jobTemplate")...)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			checks, _ := validation.For(tc.object)
			if diff := cmp.Diff(tc.want, fieldsOf(checks.Create(tc.object, validation.Options{}))); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
