package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceStatus is a one-word summary of a RayService. Objects hold values of v1.
type ServiceStatus string

// RayServiceSpec is the wanted state of a RayService: Serve applications, and the cluster that runs them.
type RayServiceSpec struct {
	// serveService is a template for the Service that users call.
	// +optional
	ServeService *corev1.Service `json:"serveService,omitempty"`

	// serviceUnhealthySecondThreshold has no effect.
	// +optional
	ServiceUnhealthySecondThreshold *int32 `json:"serviceUnhealthySecondThreshold,omitempty"`

	// deploymentUnhealthySecondThreshold has no effect.
	// +optional
	DeploymentUnhealthySecondThreshold *int32 `json:"deploymentUnhealthySecondThreshold,omitempty"`

	// serveConfigV2 is the configuration of Ray Serve for several applications, as YAML text.
	// +optional
	ServeConfigV2 string `json:"serveConfigV2,omitempty"`

	// rayClusterConfig is the cluster to run the applications on. The schema does not insist on it, v1 does.
	// +optional
	RayClusterSpec RayClusterSpec `json:"rayClusterConfig,omitempty"`
}

// RayServiceStatuses is the state of a RayService that the operator saw last.
type RayServiceStatuses struct {
	// lastUpdateTime is when the status was written last.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// serviceStatus is Running or empty.
	// +optional
	ServiceStatus ServiceStatus `json:"serviceStatus,omitempty"`

	// activeServiceStatus is about the cluster that serves now.
	// +optional
	ActiveServiceStatus RayServiceStatus `json:"activeServiceStatus,omitempty"`

	// pendingServiceStatus is about the cluster that is being prepared.
	// +optional
	PendingServiceStatus RayServiceStatus `json:"pendingServiceStatus,omitempty"`

	// observedGeneration is the metadata.generation that the status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// RayServiceStatus is the state of one cluster of a RayService.
type RayServiceStatus struct {
	// applicationStatuses are the Serve applications by name.
	// +optional
	Applications map[string]AppStatus `json:"applicationStatuses,omitempty"`

	// rayClusterName is the name of the cluster. Empty means that there is none.
	// +optional
	RayClusterName string `json:"rayClusterName,omitempty"`

	// rayClusterStatus is a copy of the status of the cluster.
	// +optional
	RayClusterStatus RayClusterStatus `json:"rayClusterStatus,omitempty"`
}

// AppStatus is the state of a Serve application.
type AppStatus struct {
	// serveDeploymentStatuses are the deployments of the application by name.
	// +optional
	Deployments map[string]ServeDeploymentStatus `json:"serveDeploymentStatuses,omitempty"`

	// healthLastUpdateTime is when the application was healthy last. v1 has no such field.
	// +optional
	HealthLastUpdateTime *metav1.Time `json:"healthLastUpdateTime,omitempty"`

	// status is the state as Serve reports it, for example RUNNING.
	// +optional
	Status string `json:"status,omitempty"`

	// message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
}

// ServeDeploymentStatus is the state of a deployment within a Serve application.
type ServeDeploymentStatus struct {
	// healthLastUpdateTime is when the deployment was healthy last. v1 has no such field.
	// +optional
	HealthLastUpdateTime *metav1.Time `json:"healthLastUpdateTime,omitempty"`

	// status is the state as Serve reports it: UPDATING, HEALTHY or UNHEALTHY.
	// +optional
	Status string `json:"status,omitempty"`

	// message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
}

// RayService is a set of Serve applications, and the cluster that runs them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="ray.io/v1alpha1 RayService is deprecated; use ray.io/v1 RayService. v1alpha1 receives no new fields and will be unavailable in KubeRay 1.9."
// +kubebuilder:resource:categories=all
type RayService struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the wanted state of the RayService.
	// +optional
	Spec RayServiceSpec `json:"spec,omitempty"`

	// status is the state that the operator saw last.
	// +optional
	Status RayServiceStatuses `json:"status,omitempty"`
}

// RayServiceList is a list of RayServices.
//
// +kubebuilder:object:root=true
type RayServiceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the services.
	Items []RayService `json:"items"`
}
