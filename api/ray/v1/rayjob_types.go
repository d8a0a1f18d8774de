package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobStatus is the state of a job as Ray reports it.
type JobStatus string

const (
	// JobStatusNew is the state before Ray knows of the job.
	JobStatusNew JobStatus = ""
	// JobStatusPending means that Ray accepted the job and did not start it yet.
	JobStatusPending JobStatus = "PENDING"
	// JobStatusRunning means that the entrypoint runs.
	JobStatusRunning JobStatus = "RUNNING"
	// JobStatusStopped means that the job was stopped on request.
	JobStatusStopped JobStatus = "STOPPED"
	// JobStatusSucceeded means that the entrypoint ended well.
	JobStatusSucceeded JobStatus = "SUCCEEDED"
	// JobStatusFailed means that the entrypoint, or its start, failed.
	JobStatusFailed JobStatus = "FAILED"
)

// IsTerminal reports whether Ray will never change this state again.
func (s JobStatus) IsTerminal() bool {
	switch s {
	case JobStatusStopped, JobStatusSucceeded, JobStatusFailed:
		return true
	default:
		return false
	}
}

// JobDeploymentStatus is the state of a RayJob in the operator's life cycle.
type JobDeploymentStatus string

const (
	// JobDeploymentStatusNew is the state of an object that the operator has not begun with.
	JobDeploymentStatusNew JobDeploymentStatus = ""
	// JobDeploymentStatusInitializing means that the cluster comes up and the job is submitted.
	JobDeploymentStatusInitializing JobDeploymentStatus = "Initializing"
	// JobDeploymentStatusRunning means that the job was submitted.
	JobDeploymentStatusRunning JobDeploymentStatus = "Running"
	// JobDeploymentStatusComplete means that the job ended, well or by being stopped.
	JobDeploymentStatusComplete JobDeploymentStatus = "Complete"
	// JobDeploymentStatusFailed means that the RayJob failed for good.
	JobDeploymentStatusFailed JobDeploymentStatus = "Failed"
	// JobDeploymentStatusValidationFailed means that the spec breaks a rule.
	JobDeploymentStatusValidationFailed JobDeploymentStatus = "ValidationFailed"
	// JobDeploymentStatusSuspending means that the cluster is being deleted because of suspend.
	JobDeploymentStatusSuspending JobDeploymentStatus = "Suspending"
	// JobDeploymentStatusSuspended means that the cluster is gone because of suspend.
	JobDeploymentStatusSuspended JobDeploymentStatus = "Suspended"
	// JobDeploymentStatusRetrying means that the cluster is being deleted before the next attempt.
	JobDeploymentStatusRetrying JobDeploymentStatus = "Retrying"
	// JobDeploymentStatusWaiting means that an interactive RayJob waits for the user to submit the job.
	JobDeploymentStatusWaiting JobDeploymentStatus = "Waiting"
)

// IsTerminal reports whether the RayJob is over.
func (s JobDeploymentStatus) IsTerminal() bool {
	return s == JobDeploymentStatusComplete || s == JobDeploymentStatusFailed
}

// Attempt returns the number of the current attempt, from 1, or of the last one if that is over.
func (s *RayJobStatus) Attempt() int {
	failed := 0
	if s.Failed != nil {
		failed = int(max(*s.Failed, 0))
	}
	if s.JobDeploymentStatus == JobDeploymentStatusFailed || s.JobDeploymentStatus == JobDeploymentStatusRetrying {
		return max(failed, 1) // the failure of this attempt is counted
	}
	return failed + 1
}

// JobFailedReason says why a RayJob failed.
type JobFailedReason string

const (
	// SubmissionFailed means that the submitter gave up.
	SubmissionFailed JobFailedReason = "SubmissionFailed"
	// DeadlineExceeded means that activeDeadlineSeconds passed.
	DeadlineExceeded JobFailedReason = "DeadlineExceeded"
	// PreRunningDeadlineExceeded means that preRunningDeadlineSeconds passed before the job ran.
	PreRunningDeadlineExceeded JobFailedReason = "PreRunningDeadlineExceeded"
	// AppFailed means that the user's program failed.
	AppFailed JobFailedReason = "AppFailed"
	// JobDeploymentStatusTransitionGracePeriodExceeded means that the submitter ended and Ray did not report an end of
	// the job in time.
	JobDeploymentStatusTransitionGracePeriodExceeded JobFailedReason = "JobDeploymentStatusTransitionGracePeriodExceeded"
	// JobStatusCheckTimeoutExceeded means that the dashboard could not be asked for too long.
	JobStatusCheckTimeoutExceeded JobFailedReason = "JobStatusCheckTimeoutExceeded"
	// ValidationFailed means that the spec breaks a rule.
	ValidationFailed JobFailedReason = "ValidationFailed"
)

// JobSubmissionMode specifies how a job reaches Ray. The schema accepts any text; the operator refuses unknown ones.
type JobSubmissionMode string

const (
	// K8sJobMode submits from a Kubernetes Job.
	K8sJobMode JobSubmissionMode = "K8sJobMode"
	// HTTPMode submits by an HTTP call of the operator.
	HTTPMode JobSubmissionMode = "HTTPMode"
	// InteractiveMode leaves the submission to the user.
	InteractiveMode JobSubmissionMode = "InteractiveMode"
	// SidecarMode submits from a container in the head Pod.
	SidecarMode JobSubmissionMode = "SidecarMode"
)

// HasSubmitter reports whether a container submits the job and follows its log. An empty mode means K8sJobMode.
func (m JobSubmissionMode) HasSubmitter() bool {
	return m == "" || m == K8sJobMode || m == SidecarMode
}

// SubmitterConfig tunes the submitter.
type SubmitterConfig struct {
	// backoffLimit is how often the submitter is tried again. Unset means 2.
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// DeletionPolicyType specifies what is deleted after a job ended.
// +kubebuilder:validation:Enum=DeleteCluster;DeleteWorkers;DeleteSelf;DeleteNone
type DeletionPolicyType string

const (
	// DeleteCluster deletes the cluster and keeps the RayJob.
	DeleteCluster DeletionPolicyType = "DeleteCluster"
	// DeleteWorkers deletes the workers and keeps the head.
	DeleteWorkers DeletionPolicyType = "DeleteWorkers"
	// DeleteSelf deletes the RayJob and with it all that belongs to it.
	DeleteSelf DeletionPolicyType = "DeleteSelf"
	// DeleteNone deletes nothing.
	DeleteNone DeletionPolicyType = "DeleteNone"
)

// DeletionStrategy specifies what is deleted after a job ended, in one of two forms: deletionRules, or the older pair of
// onSuccess and onFailure.
//
// +kubebuilder:validation:XValidation:rule="!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))",message="legacy policies (onSuccess/onFailure) and deletionRules cannot be used together within the same deletionStrategy"
// +kubebuilder:validation:XValidation:rule="((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))",message="deletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field (cannot be empty)"
type DeletionStrategy struct {
	// onSuccess specifies what is deleted after a success.
	//
	// Deprecated: use deletionRules.
	// +optional
	OnSuccess *DeletionPolicy `json:"onSuccess,omitempty"`

	// onFailure specifies what is deleted after a failure.
	//
	// Deprecated: use deletionRules.
	// +optional
	OnFailure *DeletionPolicy `json:"onFailure,omitempty"`

	// deletionRules delete in stages. Of several rules that are due, the one that deletes most goes first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	DeletionRules []DeletionRule `json:"deletionRules,omitempty"`
}

// DeletionPolicy specifies what is deleted.
type DeletionPolicy struct {
	// policy is DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone.
	// +optional
	Policy *DeletionPolicyType `json:"policy,omitempty"`
}

// DeletionRule deletes something when its condition is met.
type DeletionRule struct {
	// policy is DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone.
	Policy DeletionPolicyType `json:"policy"`

	// condition says when the rule is due.
	Condition DeletionCondition `json:"condition"`
}

// DeletionCondition is met some time after the job reached a state. Exactly one of the two states is given.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.jobStatus) && has(self.jobDeploymentStatus))",message="JobStatus and JobDeploymentStatus cannot be used together within the same deletion condition."
// +kubebuilder:validation:XValidation:rule="has(self.jobStatus) || has(self.jobDeploymentStatus)",message="the deletion condition requires either the JobStatus or the JobDeploymentStatus field."
type DeletionCondition struct {
	// jobStatus is the state of the Ray job: SUCCEEDED or FAILED.
	// +optional
	// +kubebuilder:validation:Enum=SUCCEEDED;FAILED
	JobStatus *JobStatus `json:"jobStatus,omitempty"`

	// jobDeploymentStatus is the state of the RayJob: Failed.
	// +optional
	// +kubebuilder:validation:Enum=Failed
	JobDeploymentStatus *JobDeploymentStatus `json:"jobDeploymentStatus,omitempty"`

	// ttlSeconds is how long to wait, in seconds, after that state was reached.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	TTLSeconds int32 `json:"ttlSeconds,omitempty"`
}

// RayJobSpec is the wanted state of a RayJob: a command to run on Ray, and the cluster to run it on.
type RayJobSpec struct {
	// entrypoint is the shell command of the job. May be empty in InteractiveMode only.
	// +optional
	Entrypoint string `json:"entrypoint,omitempty"`

	// rayClusterSpec is the cluster to create for the job. Set this or clusterSelector.
	// +optional
	RayClusterSpec *RayClusterSpec `json:"rayClusterSpec,omitempty"`

	// clusterSelector names an existing cluster to run on, under the key ray.io/cluster. Set this or rayClusterSpec.
	// +optional
	ClusterSelector map[string]string `json:"clusterSelector,omitempty"`

	// submissionMode is the way in which the job is submitted. K8sJobMode uses a Kubernetes Job, and HTTPMode the
	// operator. In InteractiveMode the user submits the job. SidecarMode uses a container in the head Pod.
	// +optional
	// +kubebuilder:default=K8sJobMode
	SubmissionMode JobSubmissionMode `json:"submissionMode,omitempty"`

	// submitterPodTemplate is the Pod that submits the job in K8sJobMode. Unset means one made from the head's image.
	// +optional
	SubmitterPodTemplate *corev1.PodTemplateSpec `json:"submitterPodTemplate,omitempty"`

	// submitterConfig tunes the submitter.
	// +optional
	SubmitterConfig *SubmitterConfig `json:"submitterConfig,omitempty"`

	// backoffLimit is how often the whole RayJob is tried again, each time on a new cluster.
	// +optional
	// +kubebuilder:default=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// activeDeadlineSeconds is how long the RayJob may take from its start, in seconds. Unset means no limit.
	// +optional
	ActiveDeadlineSeconds *int32 `json:"activeDeadlineSeconds,omitempty"`

	// preRunningDeadlineSeconds is how long the RayJob may take until it runs, in seconds. Unset means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PreRunningDeadlineSeconds *int32 `json:"preRunningDeadlineSeconds,omitempty"`

	// ttlSecondsAfterFinished is how long the cluster is kept after the job ended, in seconds. Looked at only if
	// shutdownAfterJobFinishes is true.
	// +optional
	// +kubebuilder:default=0
	TTLSecondsAfterFinished int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// shutdownAfterJobFinishes deletes the cluster after the job ended.
	// +optional
	ShutdownAfterJobFinishes bool `json:"shutdownAfterJobFinishes,omitempty"`

	// deletionStrategy says in more detail what is deleted after the job ended. Needs the feature gate
	// RayJobDeletionPolicy.
	// +optional
	DeletionStrategy *DeletionStrategy `json:"deletionStrategy,omitempty"`

	// suspend deletes the cluster, or does not create it, while true. Set to false, the job starts afresh.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// managedBy names the controller that owns this object: ray.io/kuberay-operator or kueue.x-k8s.io/multikueue. With
	// the latter the operator leaves the object alone. Unset means the operator. A value once set cannot change.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the managedBy field is immutable"
	// +kubebuilder:validation:XValidation:rule="self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",message="the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'"
	ManagedBy *string `json:"managedBy,omitempty"`

	// metadata is given to Ray together with the job.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`

	// runtimeEnvYAML is the runtime environment of the job, as YAML text.
	// +optional
	RuntimeEnvYAML string `json:"runtimeEnvYAML,omitempty"`

	// jobId is the submission id to use. Empty means one made from the name of the RayJob.
	// +optional
	JobId string `json:"jobId,omitempty"`

	// entrypointNumCpus is the number of CPUs to reserve for the entrypoint.
	// +optional
	EntrypointNumCpus float32 `json:"entrypointNumCpus,omitempty"`

	// entrypointNumGpus is the number of GPUs to reserve for the entrypoint.
	// +optional
	EntrypointNumGpus float32 `json:"entrypointNumGpus,omitempty"`

	// entrypointResources are other logical resources to reserve for the entrypoint, as JSON text.
	// +optional
	EntrypointResources string `json:"entrypointResources,omitempty"`
}

// RayJobStatusInfo holds the times of the job as Ray reports them.
type RayJobStatusInfo struct {
	// startTime is when Ray started the job.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// endTime is when the job ended.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
}

// RayJobAttempt is an attempt of a RayJob that has ended.
type RayJobAttempt struct {
	// attempt is the number of the attempt, from 1.
	// +required
	Attempt int32 `json:"attempt"`

	// rayClusterName is the cluster on which it ran.
	// +optional
	RayClusterName string `json:"rayClusterName,omitempty"`

	// jobId is its submission id.
	// +optional
	JobId string `json:"jobId,omitempty"`

	// startTime is when the operator began with it.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// endTime is when it ended.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// reason says, in one word, why it failed.
	// +optional
	Reason JobFailedReason `json:"reason,omitempty"`
}

// RayJobStatus is the state of a RayJob that the operator saw last.
type RayJobStatus struct {
	// rayJobInfo holds the times of the job as Ray reports them.
	// +optional
	RayJobStatusInfo RayJobStatusInfo `json:"rayJobInfo,omitempty"`

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

	// reason says, in one word, why the RayJob failed.
	// +optional
	Reason JobFailedReason `json:"reason,omitempty"`

	// message says it in more words.
	// +optional
	Message string `json:"message,omitempty"`

	// startTime is when the operator began with the current attempt.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// endTime is when the RayJob ended.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// succeeded is the number of attempts that succeeded.
	// +optional
	// +kubebuilder:default=0
	Succeeded *int32 `json:"succeeded,omitempty"`

	// failed is the number of attempts that failed.
	// +optional
	// +kubebuilder:default=0
	Failed *int32 `json:"failed,omitempty"`

	// previousAttempts are the last ten attempts that failed and were retried, the oldest first. KubeRay has none.
	// +optional
	// +listType=atomic
	PreviousAttempts []RayJobAttempt `json:"previousAttempts,omitempty"`

	// rayClusterStatus is a copy of the status of the cluster.
	// +optional
	RayClusterStatus RayClusterStatus `json:"rayClusterStatus,omitempty"`

	// jobStatusCheckFailureStartTime is when the dashboard stopped answering. Unset while it answers.
	// +optional
	JobStatusCheckFailureStartTime *metav1.Time `json:"jobStatusCheckFailureStartTime,omitempty"`

	// observedGeneration is the metadata.generation that the status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions say the same as the states above, for clients that wait. KubeRay has none. Types are Running, Suspended, Complete, Failed,
	// InvalidSpec, DashboardUnreachable, Ready, Reconciling and Stalled.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// RayJob is a command to run on Ray, and the cluster to run it on.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="job status",type=string,JSONPath=`.status.jobStatus`,priority=0
// +kubebuilder:printcolumn:name="deployment status",type=string,JSONPath=`.status.jobDeploymentStatus`,priority=0
// +kubebuilder:printcolumn:name="ray cluster name",type=string,JSONPath=`.status.rayClusterName`,priority=0
// +kubebuilder:printcolumn:name="start time",type=string,JSONPath=`.status.startTime`,priority=0
// +kubebuilder:printcolumn:name="end time",type=string,JSONPath=`.status.endTime`,priority=0
// +kubebuilder:printcolumn:name="age",type=date,JSONPath=`.metadata.creationTimestamp`,priority=0
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
