package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RayCronJobSpec is the wanted state of a RayCronJob: a schedule and what to run on it.
type RayCronJobSpec struct {
	// schedule is a cron expression of five fields, or a descriptor such as @hourly or @every 5m.
	Schedule string `json:"schedule"`

	// timeZone is the IANA name of the zone of the schedule, for example Europe/Vienna. Unset means the zone of the
	// operator.
	// +optional
	// +kubebuilder:validation:MinLength=1
	TimeZone *string `json:"timeZone,omitempty"`

	// jobTemplate is the spec of each RayJob.
	JobTemplate RayJobSpec `json:"jobTemplate"`

	// suspend stops the creation of RayJobs while true; those that run go on. Unset means false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}

// RayCronJobStatus is the state of a RayCronJob that the operator saw last.
type RayCronJobStatus struct {
	// lastScheduleTime is when a RayJob was created last. Unset means never.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// nextScheduleTime is when the next RayJob is due. Unset while suspend is true or the spec is refused. KubeRay has no such field.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// conditions of the RayCronJob; their types are Ready, Reconciling and Stalled. KubeRay has no such field.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// observedGeneration is the metadata.generation that the status was computed from. KubeRay has no such field.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// RayCronJob creates a RayJob at each time of a schedule.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="schedule",type=string,JSONPath=`.spec.schedule`,priority=0
// +kubebuilder:printcolumn:name="timezone",type=string,JSONPath=`.spec.timeZone`,priority=0
// +kubebuilder:printcolumn:name="last schedule",type=date,JSONPath=`.status.lastScheduleTime`,priority=0
// +kubebuilder:printcolumn:name="age",type=date,JSONPath=`.metadata.creationTimestamp`,priority=0
// +kubebuilder:printcolumn:name="suspend",type=boolean,JSONPath=`.spec.suspend`,priority=0
// +kubebuilder:printcolumn:name="next schedule",type=string,JSONPath=`.status.nextScheduleTime`,priority=0
type RayCronJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the wanted state of the RayCronJob.
	// +optional
	Spec RayCronJobSpec `json:"spec,omitempty"`

	// status is the state that the operator saw last.
	// +optional
	Status RayCronJobStatus `json:"status,omitempty"`
}

// RayCronJobList is a list of RayCronJobs.
//
// +kubebuilder:object:root=true
type RayCronJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the cron jobs.
	Items []RayCronJob `json:"items"`
}
