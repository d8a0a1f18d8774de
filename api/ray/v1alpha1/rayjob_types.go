package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobStatus is the state of a job as Ray reports it.
type JobStatus string

// JobDeploymentStatus is the state of a RayJob in the operator's life cycle. Objects hold values of v1 too.
type JobDeploymentStatus string

const (
	// JobDeploymentStatusInitializing means that the cluster comes up and the job is submitted.
	JobDeploymentStatusInitializing JobDeploymentStatus = "Initializing"
	// JobDeploymentStatusRunning means that the job was submitted.
	JobDeploymentStatusRunning JobDeploymentStatus = "Running"
	// JobDeploymentStatusComplete means that the job ended.
	JobDeploymentStatusComplete JobDeploymentStatus = "Complete"
	// JobDeploymentStatusSuspended means that the cluster is gone because of suspend.
	JobDeploymentStatusSuspended JobDeploymentStatus = "Suspended"
)

// RayJobSpec is the wanted state of a RayJob: a command to run on Ray, and the cluster to run it on.
type RayJobSpec struct {
	// submitterPodTemplate is the Pod that submits the job. Unset means one made from the head's image.
	// +optional
	SubmitterPodTemplate *corev1.PodTemplateSpec `json:"submitterPodTemplate,omitempty"`

	// metadata is given to Ray together with the job.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`

	// rayClusterSpec is the cluster to create for the job. Set this or clusterSelector.
	// +optional
	RayClusterSpec *RayClusterSpec `json:"rayClusterSpec,omitempty"`

	// clusterSelector names an existing cluster to run on, under the key ray.io/cluster. Set this or rayClusterSpec.
	// +optional
	ClusterSelector map[string]string `json:"clusterSelector,omitempty"`

	// entrypoint is the shell command of the job. Unlike in v1 it must be there, be it empty.
	Entrypoint string `json:"entrypoint"`

	// runtimeEnvYAML is the runtime environment of the job, as YAML text.
	// +optional
	RuntimeEnvYAML string `json:"runtimeEnvYAML,omitempty"`

	// jobId is the submission id to use. Empty means one made from the name of the RayJob.
	// +optional
	JobId string `json:"jobId,omitempty"`

	// entrypointResources are other logical resources to reserve for the entrypoint, as JSON text.
	// +optional
	EntrypointResources string `json:"entrypointResources,omitempty"`

	// ttlSecondsAfterFinished is how long the cluster is kept after the job ended, in seconds.
	// +optional
	// +kubebuilder:default=0
	TTLSecondsAfterFinished int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// entrypointNumCpus is the number of CPUs to reserve for the entrypoint.
	// +optional
	EntrypointNumCpus float32 `json:"entrypointNumCpus,omitempty"`

	// entrypointNumGpus is the number of GPUs to reserve for the entrypoint.
	// +optional
	EntrypointNumGpus float32 `json:"entrypointNumGpus,omitempty"`

	// shutdownAfterJobFinishes deletes the cluster after the job ended.
	// +optional
	ShutdownAfterJobFinishes bool `json:"shutdownAfterJobFinishes,omitempty"`

	// suspend deletes the cluster, or does not create it, while true.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// RayJobStatus is the state of a RayJob that the operator saw last.
type RayJobStatus struct {
	// jobId is the submission id in use.
	// +optional
	JobId string `json:"jobId,omitempty"`

	// rayClusterName is the cluster in use.
	// +optional
	RayClusterName string `json:"rayClusterName,omitempty"`

	// dashboardURL is host:port of the dashboard.
	// +optional
	DashboardURL string `json:"dashboardURL,omitempty"`

	// jobStatus is the state of the job as Ray reports it.
	// +optional
	JobStatus JobStatus `json:"jobStatus,omitempty"`

	// jobDeploymentStatus is the state of the RayJob.
	// +optional
	JobDeploymentStatus JobDeploymentStatus `json:"jobDeploymentStatus,omitempty"`

	// message explains the state.
	// +optional
	Message string `json:"message,omitempty"`

	// startTime is when the operator began with the current attempt.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// endTime is when the RayJob ended.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// rayClusterStatus is a copy of the status of the cluster.
	// +optional
	RayClusterStatus RayClusterStatus `json:"rayClusterStatus,omitempty"`

	// observedGeneration is the metadata.generation that the status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// RayJob is a command to run on Ray, and the cluster to run it on.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="ray.io/v1alpha1 RayJob is deprecated; use ray.io/v1 RayJob. v1alpha1 receives no new fields and will be unavailable in KubeRay 1.9."
// +kubebuilder:resource:categories=all
type RayJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the wanted state of the RayJob.
	// +optional
	Spec RayJobSpec `json:"spec,omitempty"`

	// status is the state that the operator saw last.
	// +optional
	Status RayJobStatus `json:"status,omitempty"`
}

// RayJobList is a list of RayJobs.
//
// +kubebuilder:object:root=true
type RayJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the jobs.
	Items []RayJob `json:"items"`
}
