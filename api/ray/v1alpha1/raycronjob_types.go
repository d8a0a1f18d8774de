package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// RayCronJob creates a RayJob at each time of a schedule. It is the same as in v1 but for the version: KubeRay never had it
// here, so there is no older form to keep, and the template of its jobs has all fields of v1.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="ray.io/v1alpha1 RayCronJob is deprecated; use ray.io/v1 RayCronJob. The two differ in nothing but the version."
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
	Spec rayv1.RayCronJobSpec `json:"spec,omitempty"`

	// status is the state that the operator saw last.
	// +optional
	Status rayv1.RayCronJobStatus `json:"status,omitempty"`
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
