package v1

import (
	"cmp"
	"maps"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// Default resources of the submitter.
const (
	defaultSubmitterCPU    = "1"
	defaultSubmitterMemory = "1Gi"
)

// JobToRay returns the RayJob that a message describes. Problems have the paths of the message.
func JobToRay(j *kuberay.RayJob, templates Templates) (*rayv1.RayJob, field.ErrorList) {
	job := &rayv1.RayJob{TypeMeta: typeMeta("RayJob"), ObjectMeta: objectMeta(j.GetName(), j.GetNamespace())}
	job.Labels[labelClusterName] = j.GetName()
	maps.Copy(job.Annotations, j.GetMetadata())
	errs := setUser(j.GetUser(), job.Labels, job.Annotations)
	job.Spec = rayv1.RayJobSpec{
		Entrypoint: j.GetEntrypoint(), Metadata: j.GetMetadata(), RuntimeEnvYAML: j.GetRuntimeEnv(), JobId: j.GetJobId(),
		ShutdownAfterJobFinishes: j.GetShutdownAfterJobFinishes(), TTLSecondsAfterFinished: j.GetTtlSecondsAfterFinished(), ClusterSelector: j.GetClusterSelector(),
		EntrypointNumCpus: max(j.GetEntrypointNumCpus(), 0), EntrypointNumGpus: max(j.GetEntrypointNumGpus(), 0), EntrypointResources: j.GetEntrypointResources(),
		ActiveDeadlineSeconds: nonZero(max(j.GetActiveDeadlineSeconds(), 0)),
	}
	var more field.ErrorList
	job.Spec.RayClusterSpec, more = specToRay(j.GetClusterSpec(), specOptions{version: j.GetVersion(), templates: templates})
	errs = append(errs, more...)
	job.Spec.SubmitterPodTemplate, more = submitterToRay(j.GetJobSubmitter())
	return job, append(errs, more...)
}

func submitterToRay(s *kuberay.RayJobSubmitter) (*corev1.PodTemplateSpec, field.ErrorList) {
	if s == nil {
		return nil, nil
	}
	resources, errs := resourcesOf(cmp.Or(s.GetCpu(), defaultSubmitterCPU), cmp.Or(s.GetMemory(), defaultSubmitterMemory), field.NewPath("jobSubmitter"))
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers:    []corev1.Container{{Name: rayv1.ContainerJobSubmitter, Image: s.GetImage(), Resources: *resources}},
		RestartPolicy: corev1.RestartPolicyNever,
	}}, errs
}

// JobFromRay returns the V1 form of a RayJob.
func JobFromRay(job *rayv1.RayJob) *kuberay.RayJob {
	spec, status := &job.Spec, &job.Status
	j := &kuberay.RayJob{
		Name: job.Name, Namespace: job.Namespace, User: userOf(job.Labels, job.Annotations), Entrypoint: spec.Entrypoint, Metadata: spec.Metadata,
		RuntimeEnv: spec.RuntimeEnvYAML, ShutdownAfterJobFinishes: spec.ShutdownAfterJobFinishes, ClusterSelector: spec.ClusterSelector,
		TtlSecondsAfterFinished: spec.TTLSecondsAfterFinished, JobSubmitter: submitterFromRay(spec.SubmitterPodTemplate), EntrypointNumCpus: spec.EntrypointNumCpus,
		EntrypointNumGpus: spec.EntrypointNumGpus, EntrypointResources: spec.EntrypointResources, ActiveDeadlineSeconds: ptr.Deref(spec.ActiveDeadlineSeconds, 0),
		CreatedAt: seconds(&job.CreationTimestamp), DeleteAt: seconds(job.DeletionTimestamp), JobId: status.JobId, JobStatus: string(status.JobStatus),
		JobDeploymentStatus: string(status.JobDeploymentStatus), Message: status.Message, RayClusterName: status.RayClusterName,
		StartTime: instant(status.StartTime), EndTime: instant(status.EndTime),
	}
	if spec.RayClusterSpec != nil {
		j.Version, j.ClusterSpec = spec.RayClusterSpec.RayVersion, specFromRay(spec.RayClusterSpec)
	}
	return j
}

func submitterFromRay(t *corev1.PodTemplateSpec) *kuberay.RayJobSubmitter {
	if t == nil || len(t.Spec.Containers) == 0 {
		return nil
	}
	c := &t.Spec.Containers[0]
	s := &kuberay.RayJobSubmitter{Image: c.Image, Cpu: amountOf(&c.Resources, corev1.ResourceCPU), Memory: amountOf(&c.Resources, corev1.ResourceMemory)}
	if s.GetCpu() == defaultSubmitterCPU {
		s.Cpu = ""
	}
	if s.GetMemory() == defaultSubmitterMemory {
		s.Memory = ""
	}
	return s
}

// instant is a time as precise as it is; nil for none.
func instant(t *metav1.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Time)
}
