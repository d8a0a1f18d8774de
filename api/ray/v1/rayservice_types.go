package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceStatus is a one-word summary of a RayService, kept for old clients.
type ServiceStatus string

const (
	// ServiceRunning means the same as the condition Ready being True.
	ServiceRunning ServiceStatus = "Running"
	// ServiceNotRunning is every other state.
	ServiceNotRunning ServiceStatus = ""
)

// RayServiceUpgradeType specifies how a change of the cluster reaches users. The schema accepts any text; the operator
// refuses unknown ones.
type RayServiceUpgradeType string

const (
	// RayServiceNewCluster prepares a new cluster and moves all traffic to it at once.
	RayServiceNewCluster RayServiceUpgradeType = "NewCluster"
	// RayServiceNewClusterWithIncrementalUpgrade prepares a new cluster and moves the traffic to it in steps.
	RayServiceNewClusterWithIncrementalUpgrade RayServiceUpgradeType = "NewClusterWithIncrementalUpgrade"
	// RayServiceUpgradeNone keeps the running cluster.
	RayServiceUpgradeNone RayServiceUpgradeType = "None"
)

// RayServiceUpgradeStrategy specifies how a change of the cluster reaches users.
type RayServiceUpgradeStrategy struct {
	// type is NewCluster (prepare a new cluster, then move all traffic), NewClusterWithIncrementalUpgrade (move it in
	// steps; needs the feature gate RayServiceIncrementalUpgrade) or None. Unset means NewCluster, unless the operator
	// has another setting.
	// +optional
	Type *RayServiceUpgradeType `json:"type,omitempty"`

	// clusterUpgradeOptions shapes the steps of NewClusterWithIncrementalUpgrade.
	// +optional
	ClusterUpgradeOptions *ClusterUpgradeOptions `json:"clusterUpgradeOptions,omitempty"`
}

// ClusterUpgradeOptions shapes the steps of an incremental upgrade.
type ClusterUpgradeOptions struct {
	// maxSurgePercent is the capacity that is added to the new cluster in one step, in percent of the old.
	// +optional
	// +kubebuilder:default=100
	MaxSurgePercent *int32 `json:"maxSurgePercent,omitempty"`

	// stepSizePercent is the share of the traffic that is moved in one step, in percent.
	StepSizePercent *int32 `json:"stepSizePercent"`

	// intervalSeconds is the time between two moves, in seconds.
	IntervalSeconds *int32 `json:"intervalSeconds"`

	// gatewayClassName is the class of the Gateway that splits the traffic.
	GatewayClassName string `json:"gatewayClassName"`
}

// RayServiceSpec is the wanted state of a RayService: Serve applications, and the cluster that runs them.
type RayServiceSpec struct {
	// rayClusterConfig is the cluster to run the applications on.
	RayClusterSpec RayClusterSpec `json:"rayClusterConfig"`

	// serveConfigV2 is the configuration of Ray Serve for several applications, as YAML text.
	// +optional
	ServeConfigV2 string `json:"serveConfigV2,omitempty"`

	// serveService is a template for the Service that users call.
	// +optional
	ServeService *corev1.Service `json:"serveService,omitempty"`

	// upgradeStrategy specifies how a change of the cluster reaches users.
	// +optional
	UpgradeStrategy *RayServiceUpgradeStrategy `json:"upgradeStrategy,omitempty"`

	// rayClusterDeletionDelaySeconds is how long a replaced cluster is kept, in seconds. Unset means 60.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RayClusterDeletionDelaySeconds *int32 `json:"rayClusterDeletionDelaySeconds,omitempty"`

	// serviceUnhealthySecondThreshold has no effect.
	//
	// Deprecated: nothing reads it.
	// +optional
	ServiceUnhealthySecondThreshold *int32 `json:"serviceUnhealthySecondThreshold,omitempty"`

	// deploymentUnhealthySecondThreshold has no effect.
	//
	// Deprecated: nothing reads it.
	// +optional
	DeploymentUnhealthySecondThreshold *int32 `json:"deploymentUnhealthySecondThreshold,omitempty"`

	// managedBy names the controller that owns this object: ray.io/kuberay-operator or kueue.x-k8s.io/multikueue. With
	// the latter the operator leaves the object alone. Unset means the operator. A value once set cannot change.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the managedBy field is immutable"
	// +kubebuilder:validation:XValidation:rule="self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",message="the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'"
	ManagedBy *string `json:"managedBy,omitempty"`

	// excludeHeadPodFromServeSvc keeps the head Pod out of the endpoints that users reach.
	// +optional
	ExcludeHeadPodFromServeSvc bool `json:"excludeHeadPodFromServeSvc,omitempty"`

	// suspend deletes everything that belongs to the RayService while true. A suspension that has begun always runs to
	// its end.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// RayServiceStatuses is the state of a RayService that the operator saw last.
type RayServiceStatuses struct {
	// conditions of the RayService; their types are Ready, UpgradeInProgress, RollbackInProgress, Suspending,
	// Suspended, UpgradePaused, CanaryAnalysis, UpgradeAborted, GatewayReady, Reconciling and Stalled.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// lastUpdateTime is when the status was written last.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// serviceStatus is Running or empty. Prefer the condition Ready.
	// +optional
	ServiceStatus ServiceStatus `json:"serviceStatus,omitempty"`

	// activeServiceStatus is about the cluster that users reach.
	// +optional
	ActiveServiceStatus RayServiceStatus `json:"activeServiceStatus,omitempty"`

	// pendingServiceStatus is about the cluster that is being prepared.
	// +optional
	PendingServiceStatus RayServiceStatus `json:"pendingServiceStatus,omitempty"`

	// numServeEndpoints is the number of ready endpoints of the serve Service.
	// +optional
	NumServeEndpoints int32 `json:"numServeEndpoints,omitempty"`

	// observedGeneration is the metadata.generation that the status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// RayServiceStatus is about one of the two clusters of a RayService.
type RayServiceStatus struct {
	// rayClusterName is the name of the cluster. Empty means that there is none.
	// +optional
	RayClusterName string `json:"rayClusterName,omitempty"`

	// rayClusterStatus is a copy of the status of the cluster.
	// +optional
	RayClusterStatus RayClusterStatus `json:"rayClusterStatus,omitempty"`

	// applicationStatuses are the Serve applications by name.
	// +optional
	Applications map[string]AppStatus `json:"applicationStatuses,omitempty"`

	// targetCapacity is the share of its full size that Serve is to have on this cluster, in percent. Set during
	// incremental upgrades.
	// +optional
	TargetCapacity *int32 `json:"targetCapacity,omitempty"`

	// trafficRoutedPercent is the share of the traffic that goes to this cluster, in percent. Set during incremental
	// upgrades.
	// +optional
	TrafficRoutedPercent *int32 `json:"trafficRoutedPercent,omitempty"`

	// lastTrafficMigratedTime is when that share changed last.
	// +optional
	LastTrafficMigratedTime *metav1.Time `json:"lastTrafficMigratedTime,omitempty"`
}

// Values of AppStatus.Status, as Ray Serve spells them.
const (
	// ApplicationNotStarted means that Serve has not begun with the application.
	ApplicationNotStarted = "NOT_STARTED"
	// ApplicationDeploying means that the application comes up.
	ApplicationDeploying = "DEPLOYING"
	// ApplicationRunning means that the application serves.
	ApplicationRunning = "RUNNING"
	// ApplicationDeployFailed means that the application did not come up.
	ApplicationDeployFailed = "DEPLOY_FAILED"
	// ApplicationDeleting means that the application is being deleted.
	ApplicationDeleting = "DELETING"
	// ApplicationUnhealthy means that the application does not serve any more.
	ApplicationUnhealthy = "UNHEALTHY"
)

// AppStatus is the state of a Serve application.
type AppStatus struct {
	// status is the state as Serve reports it, for example RUNNING.
	// +optional
	Status string `json:"status,omitempty"`

	// message explains the state.
	// +optional
	Message string `json:"message,omitempty"`

	// serveDeploymentStatuses are the deployments of the application by name.
	// +optional
	Deployments map[string]ServeDeploymentStatus `json:"serveDeploymentStatuses,omitempty"`
}

// Values of ServeDeploymentStatus.Status, as Ray Serve spells them.
const (
	// DeploymentUpdating means that replicas of the deployment come up or change.
	DeploymentUpdating = "UPDATING"
	// DeploymentHealthy means that the deployment serves.
	DeploymentHealthy = "HEALTHY"
	// DeploymentUnhealthy means that the deployment does not serve.
	DeploymentUnhealthy = "UNHEALTHY"
)

// ServeDeploymentStatus is the state of a deployment within a Serve application.
type ServeDeploymentStatus struct {
	// status is the state as Serve reports it: UPDATING, HEALTHY or UNHEALTHY.
	// +optional
	Status string `json:"status,omitempty"`

	// message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
}

// RayService is a set of Serve applications, and the cluster that runs them.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="service status",type=string,JSONPath=`.status.serviceStatus`,priority=0
// +kubebuilder:printcolumn:name="num serve endpoints",type=string,JSONPath=`.status.numServeEndpoints`,priority=0
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
