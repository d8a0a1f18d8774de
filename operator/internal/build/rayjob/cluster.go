// Package rayjob builds the RayCluster of a RayJob and the RayJobs of a RayCronJob. Package job builds the Kubernetes Job and the
// container that submit, package service the head Service.
package rayjob

import (
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

// Options are the inputs of a RayJob's cluster besides the RayJob.
type Options struct {
	// Pod are the options of Pods; only LoginShell is used.
	Pod pod.Options
	// SubmitterRestart is the feature gate SidecarSubmitterRestart.
	SubmitterRestart bool
}

// Cluster builds the RayCluster of the current attempt of a RayJob, as KubeRay 1.7 does. Its name is the one in the status. The
// RayJob must have a rayClusterSpec and no clusterSelector. The last-applied annotation of kubectl is not copied.
func Cluster(j *rayv1.RayJob, o Options) (*rayv1.RayCluster, error) {
	rc := &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name:      j.Status.RayClusterName,
			Namespace: j.Namespace,
			Labels: labels.Merge(j.Labels, labels.Set{
				rayv1.LabelOriginatedFromCRName: j.Name,
				rayv1.LabelOriginatedFromCRD:    "RayJob",
				rayv1.LabelJobSubmissionMode:    string(j.Spec.SubmissionMode),
			}),
			Annotations:     child.Annotations(j),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, rayv1.GroupVersion.WithKind("RayJob"))},
		},
	}
	if j.Spec.RayClusterSpec != nil {
		rc.Spec = *j.Spec.RayClusterSpec.DeepCopy()
	}
	setStopTime(j, rc)
	if j.Spec.SubmissionMode != rayv1.SidecarMode {
		return rc, nil
	}
	// A recreated head has lost the job and would submit it again.
	metav1.SetMetaDataAnnotation(&rc.ObjectMeta, rayv1.AnnotationDisableProvisionedHeadRestart, "true")
	submitter, err := job.Sidecar(j, rc, o.Pod, o.SubmitterRestart)
	if err != nil {
		return nil, err
	}
	head := &rc.Spec.HeadGroupSpec.Template.Spec
	head.Containers = append(head.Containers, submitter)
	head.RestartPolicy = corev1.RestartPolicyNever
	return rc, nil
}

// envStopTime is how long Ray waits for a program after the signal to stop, in whole seconds, before it kills the program.
const envStopTime = "RAY_JOB_STOP_WAIT_TIME_S"

// setStopTime gives the program of the job the time that a suspension waits for it. The program may run on any node.
func setStopTime(j *rayv1.RayJob, rc *rayv1.RayCluster) {
	wanted, _ := rayv1.ExpiryOf(j.Annotations)
	if wanted.SuspendGrace == 0 {
		return
	}
	seconds := strconv.Itoa(int(math.Ceil(wanted.SuspendGrace.Seconds())))
	templates := []*corev1.PodTemplateSpec{&rc.Spec.HeadGroupSpec.Template}
	for i := range rc.Spec.WorkerGroupSpecs {
		templates = append(templates, &rc.Spec.WorkerGroupSpecs[i].Template)
	}
	for _, t := range templates {
		if len(t.Spec.Containers) == 0 {
			continue
		}
		c := &t.Spec.Containers[0]
		if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == envStopTime }) {
			c.Env = append(c.Env, corev1.EnvVar{Name: envStopTime, Value: seconds})
		}
	}
}
