// Package job builds the Jobs that the operator runs for a cluster. Like package pod, it is pure. It is separate because Jobs
// restrict their Pods.
package job

import (
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

// defaultSubmitterBackoffLimit is the number of retries of a submitter if submitterConfig does not set it.
const defaultSubmitterBackoffLimit = 2

// ErrNoContainer reports a submitterPodTemplate without a container. Validation rejects it; stored objects may be older.
var ErrNoContainer = errors.New("submitterPodTemplate has no container")

// Submitter builds the Job that submits a RayJob in K8sJobMode and follows its log, as KubeRay 1.7 does. Job id and dashboard
// address come from the status. rc is the live cluster, which provides image and authentication.
//
// Unlike KubeRay, it replaces user variables that the operator sets instead of duplicating them, and it quotes shell arguments.
func Submitter(job *rayv1.RayJob, rc *rayv1.RayCluster, o pod.Options) (*batchv1.Job, error) {
	script, err := k8sJobScript(job)
	if err != nil {
		return nil, err
	}
	template, err := submitterTemplate(job, rc)
	if err != nil {
		return nil, err
	}
	c := &template.Spec.Containers[0]
	if len(c.Command) == 0 {
		c.Command, c.Args = shell(o.For(rc).LoginShell), []string{script}
	}
	addSubmitterEnv(c, job)
	pod.AddAuth(rc, &template.Spec, c)
	own := submitterLabels(job)
	template.Labels = labels.Merge(template.Labels, own)
	limit := int32(defaultSubmitterBackoffLimit)
	if config := job.Spec.SubmitterConfig; config != nil && config.BackoffLimit != nil {
		limit = *config.BackoffLimit
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:      job.Name,
			Namespace: job.Namespace,
			// The label of the cluster is not set by KubeRay; the operator's cache selects by it.
			Labels:          labels.Merge(own, labels.Set{rayv1.LabelCluster: rc.Name}),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, rayv1.GroupVersion.WithKind("RayJob"))},
		},
		Spec: batchv1.JobSpec{BackoffLimit: &limit, Template: *template},
	}, nil
}

// submitterLabels are the labels that NetworkPolicies allow to reach the dashboard.
func submitterLabels(job *rayv1.RayJob) map[string]string {
	return map[string]string{
		rayv1.LabelOriginatedFromCRName: job.Name,
		rayv1.LabelOriginatedFromCRD:    "RayJob",
		rayv1.LabelCreatedBy:            rayv1.ControllerName,
	}
}

func submitterTemplate(job *rayv1.RayJob, rc *rayv1.RayCluster) (*corev1.PodTemplateSpec, error) {
	if user := job.Spec.SubmitterPodTemplate; user != nil {
		if len(user.Spec.Containers) == 0 {
			return nil, ErrNoContainer
		}
		return user.DeepCopy(), nil
	}
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers:    []corev1.Container{submitterContainer(rc)},
		RestartPolicy: corev1.RestartPolicyNever,
	}}, nil
}

// submitterContainer sets the resource amounts that Kueue expects.
func submitterContainer(rc *rayv1.RayCluster) corev1.Container {
	c := corev1.Container{
		Name:      rayv1.ContainerJobSubmitter,
		Resources: corev1.ResourceRequirements{Requests: pod.Amounts("500m", "200Mi"), Limits: pod.Amounts("1", "1Gi")},
	}
	if head := rc.Spec.HeadGroupSpec.Template.Spec.Containers; len(head) > 0 {
		c.Image = head[0].Image
	}
	return c
}

// addSubmitterEnv sets the dashboard address and the job id, also in a user-provided submitter.
func addSubmitterEnv(c *corev1.Container, job *rayv1.RayJob) {
	c.Env = pod.Override(c.Env, []corev1.EnvVar{
		{Name: "PYTHONUNBUFFERED", Value: "1"},
		{Name: "RAY_DASHBOARD_ADDRESS", Value: job.Status.DashboardURL},
		{Name: "RAY_JOB_SUBMISSION_ID", Value: job.Status.JobId},
	})
}

// shell stops at the first command that fails; pod.Shell does not.
func shell(login bool) []string {
	if login {
		return []string{"/bin/bash", "-cel", "--"}
	}
	return []string{"/bin/bash", "-ce", "--"}
}
