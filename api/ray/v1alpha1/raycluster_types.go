package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RayClusterSpec is the wanted state of a Ray cluster: one head Pod and any number of worker groups.
type RayClusterSpec struct {
	// headGroupSpec describes the single head Pod.
	HeadGroupSpec HeadGroupSpec `json:"headGroupSpec"`

	// workerGroupSpecs are the groups of worker Pods, one entry per groupName, as in v1: a list with a name twice could
	// be stored from here and then not be changed through v1 any more.
	// +optional
	// +listType=map
	// +listMapKey=groupName
	WorkerGroupSpecs []WorkerGroupSpec `json:"workerGroupSpecs,omitempty"`

	// rayVersion is the version of Ray in the images, for example 2.52.0.
	// +optional
	RayVersion string `json:"rayVersion,omitempty"`

	// enableInTreeAutoscaling runs the Ray autoscaler next to the head. Unset means false.
	// +optional
	EnableInTreeAutoscaling *bool `json:"enableInTreeAutoscaling,omitempty"`

	// autoscalerOptions tunes the autoscaler container. Ignored unless enableInTreeAutoscaling is true.
	// +optional
	AutoscalerOptions *AutoscalerOptions `json:"autoscalerOptions,omitempty"`

	// headServiceAnnotations are annotations for the head Service that the operator builds.
	// +optional
	HeadServiceAnnotations map[string]string `json:"headServiceAnnotations,omitempty"`

	// suspend deletes all Pods of the cluster while true. Unset means false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}

// HeadGroupSpec describes the head Pod and how it is reached.
type HeadGroupSpec struct {
	// template of the head Pod. Its first container is the one that runs Ray.
	Template corev1.PodTemplateSpec `json:"template"`

	// rayStartParams are flags of "ray start" without the leading dashes. Unlike in v1 they must be there, be it empty.
	RayStartParams map[string]string `json:"rayStartParams"`

	// headService is a template for the head Service.
	// +optional
	HeadService *corev1.Service `json:"headService,omitempty"`

	// serviceType is the type of the head Service, and of the serve Service. Empty means ClusterIP.
	// +optional
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`

	// enableIngress publishes the dashboard by an Ingress, or by a Route on OpenShift. Unset means false.
	// +optional
	EnableIngress *bool `json:"enableIngress,omitempty"`
}

// WorkerGroupSpec describes a group of equal worker Pods.
type WorkerGroupSpec struct {
	// groupName identifies the group within the cluster.
	GroupName string `json:"groupName"`

	// replicas is the wanted number of replicas.
	// +optional
	// +kubebuilder:default=0
	Replicas *int32 `json:"replicas,omitempty"`

	// minReplicas is the smallest number of replicas.
	// +kubebuilder:default=0
	MinReplicas *int32 `json:"minReplicas"`

	// maxReplicas is the largest number of replicas. The default is as good as no limit.
	// +kubebuilder:default=2147483647
	MaxReplicas *int32 `json:"maxReplicas"`

	// rayStartParams are flags of "ray start" without the leading dashes. Unlike in v1 they must be there, be it empty.
	RayStartParams map[string]string `json:"rayStartParams"`

	// template of the worker Pods. Its first container is the one that runs Ray.
	Template corev1.PodTemplateSpec `json:"template"`

	// scaleStrategy lists the Pods that the operator removes.
	// +optional
	ScaleStrategy ScaleStrategy `json:"scaleStrategy,omitempty"`
}

// ScaleStrategy names the Pods that go first when a worker group shrinks.
type ScaleStrategy struct {
	// workersToDelete are names of worker Pods to remove next.
	// +optional
	WorkersToDelete []string `json:"workersToDelete,omitempty"`
}

// UpscalingMode limits how fast the autoscaler adds workers.
// +kubebuilder:validation:Enum=Default;Aggressive;Conservative
type UpscalingMode string

// AutoscalerOptions tunes the autoscaler container of the head Pod.
type AutoscalerOptions struct {
	// resources of the container. Unset means requests and limits of 500m CPU and 512Mi memory.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// image of the container. Unset means the image of the head.
	// +optional
	Image *string `json:"image,omitempty"`

	// imagePullPolicy of the container. Unset means IfNotPresent.
	// +optional
	ImagePullPolicy *corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// securityContext of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// idleTimeoutSeconds is how long a worker may be idle, in seconds, before it is removed. Unset means 60.
	// +optional
	IdleTimeoutSeconds *int32 `json:"idleTimeoutSeconds,omitempty"`

	// upscalingMode limits how fast workers are added.
	// +optional
	UpscalingMode *UpscalingMode `json:"upscalingMode,omitempty"`

	// env are more environment variables of the container.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// envFrom are more sources of environment variables of the container.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// volumeMounts are more mounts of the container.
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

// ClusterState is a one-word summary of a cluster.
type ClusterState string

const (
	// ClusterStateReady is reached when all Pods ran and were ready.
	ClusterStateReady ClusterState = "ready"
	// ClusterStateUnhealthy is never written.
	ClusterStateUnhealthy ClusterState = "unhealthy"
	// ClusterStateFailed is never written.
	ClusterStateFailed ClusterState = "failed"
	// ClusterStateSuspended means that the cluster is suspended and has no Pods.
	ClusterStateSuspended ClusterState = "suspended"
)

// RayClusterStatus is the state of a Ray cluster that the operator saw last.
type RayClusterStatus struct {
	// state is a one-word summary: ready, suspended or empty.
	// +optional
	State ClusterState `json:"state,omitempty"`

	// desiredCPU is the sum of CPU over the head and all wanted workers.
	// +optional
	DesiredCPU resource.Quantity `json:"desiredCPU,omitempty"`

	// desiredMemory is the sum of memory over the head and all wanted workers.
	// +optional
	DesiredMemory resource.Quantity `json:"desiredMemory,omitempty"`

	// desiredGPU is the sum of all kinds of GPU over the head and all wanted workers.
	// +optional
	DesiredGPU resource.Quantity `json:"desiredGPU,omitempty"`

	// desiredTPU is the sum of google.com/tpu over the head and all wanted workers.
	// +optional
	DesiredTPU resource.Quantity `json:"desiredTPU,omitempty"`

	// readyWorkerReplicas is the number of worker Pods that are ready.
	// +optional
	ReadyWorkerReplicas int32 `json:"readyWorkerReplicas,omitempty"`

	// availableWorkerReplicas is the number of worker Pods that run.
	// +optional
	AvailableWorkerReplicas int32 `json:"availableWorkerReplicas,omitempty"`

	// desiredWorkerReplicas is the number of wanted worker Pods.
	// +optional
	DesiredWorkerReplicas int32 `json:"desiredWorkerReplicas,omitempty"`

	// minWorkerReplicas is the smallest number of worker Pods that the groups allow.
	// +optional
	MinWorkerReplicas int32 `json:"minWorkerReplicas,omitempty"`

	// maxWorkerReplicas is the largest number of worker Pods that the groups allow.
	// +optional
	MaxWorkerReplicas int32 `json:"maxWorkerReplicas,omitempty"`

	// lastUpdateTime is when the status was written last.
	// +optional
	// +nullable
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// endpoints are the ports of the head Service by name.
	// +optional
	Endpoints map[string]string `json:"endpoints,omitempty"`

	// head is the address of the head Pod and its Service.
	// +optional
	Head HeadInfo `json:"head,omitempty"`

	// reason is a text about the state.
	// +optional
	Reason string `json:"reason,omitempty"`

	// observedGeneration is the metadata.generation that the status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// HeadInfo is the address of the head Pod and its Service.
type HeadInfo struct {
	// podIP is the address of the head Pod.
	// +optional
	PodIP string `json:"podIP,omitempty"`

	// serviceIP is the address of the head Service.
	// +optional
	ServiceIP string `json:"serviceIP,omitempty"`
}

// RayCluster is a Ray cluster: a head Pod, groups of worker Pods, and the Services and permissions they need.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="ray.io/v1alpha1 RayCluster is deprecated; use ray.io/v1 RayCluster. v1alpha1 receives no new fields and will be unavailable in KubeRay 1.9."
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="desired workers",type=integer,JSONPath=`.status.desiredWorkerReplicas`,priority=0
// +kubebuilder:printcolumn:name="available workers",type=integer,JSONPath=`.status.availableWorkerReplicas`,priority=0
// +kubebuilder:printcolumn:name="cpus",type=string,JSONPath=`.status.desiredCPU`,priority=0
// +kubebuilder:printcolumn:name="memory",type=string,JSONPath=`.status.desiredMemory`,priority=0
// +kubebuilder:printcolumn:name="gpus",type=string,JSONPath=`.status.desiredGPU`,priority=0
// +kubebuilder:printcolumn:name="tpus",type=string,JSONPath=`.status.desiredTPU`,priority=1
// +kubebuilder:printcolumn:name="status",type=string,JSONPath=`.status.state`,priority=0
// +kubebuilder:printcolumn:name="age",type=date,JSONPath=`.metadata.creationTimestamp`,priority=0
// +kubebuilder:printcolumn:name="head pod IP",type=string,JSONPath=`.status.head.podIP`,priority=1
// +kubebuilder:printcolumn:name="head service IP",type=string,JSONPath=`.status.head.serviceIP`,priority=1
type RayCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the wanted state of the cluster.
	// +optional
	Spec RayClusterSpec `json:"spec,omitempty"`

	// status is the state that the operator saw last.
	// +optional
	Status RayClusterStatus `json:"status,omitempty"`
}

// RayClusterList is a list of RayClusters.
//
// +kubebuilder:object:root=true
type RayClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the clusters.
	Items []RayCluster `json:"items"`
}
