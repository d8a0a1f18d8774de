package v1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RayClusterSpec is the wanted state of a Ray cluster: one head Pod and any number of worker groups.
type RayClusterSpec struct {
	// headGroupSpec describes the single head Pod.
	HeadGroupSpec HeadGroupSpec `json:"headGroupSpec"`

	// workerGroupSpecs are the groups of worker Pods, one entry per groupName. Empty means a cluster of the head alone.
	// +optional
	// +listType=map
	// +listMapKey=groupName
	WorkerGroupSpecs []WorkerGroupSpec `json:"workerGroupSpecs,omitempty"`

	// rayVersion is the version of Ray in the images, for example 2.52.0. The operator cannot look into an image: it
	// trusts this text when it picks command forms and decides which features the cluster can have.
	// +optional
	RayVersion string `json:"rayVersion,omitempty"`

	// enableInTreeAutoscaling runs the Ray autoscaler next to the head and lets it change the replicas of the worker
	// groups. Unset means false.
	// +optional
	EnableInTreeAutoscaling *bool `json:"enableInTreeAutoscaling,omitempty"`

	// autoscalerOptions tunes the autoscaler container. Ignored unless enableInTreeAutoscaling is true.
	// +optional
	AutoscalerOptions *AutoscalerOptions `json:"autoscalerOptions,omitempty"`

	// suspend deletes all Pods of the cluster while true and brings them back when set to false. A suspension that has
	// begun always runs to its end. Unset means false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// managedBy names the controller that owns this object: ray.io/kuberay-operator or kueue.x-k8s.io/multikueue. With
	// the latter the operator leaves the object alone. Unset means the operator. A value once set cannot change.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the managedBy field is immutable"
	// +kubebuilder:validation:XValidation:rule="self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",message="the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'"
	ManagedBy *string `json:"managedBy,omitempty"`

	// headServiceAnnotations are annotations for the head Service that the operator builds.
	// +optional
	HeadServiceAnnotations map[string]string `json:"headServiceAnnotations,omitempty"`

	// gcsFaultToleranceOptions keeps the metadata of the cluster outside the head Pod, so that workers survive its
	// restart. Presence alone, even as {}, turns it on.
	// +optional
	GcsFaultToleranceOptions *GcsFaultToleranceOptions `json:"gcsFaultToleranceOptions,omitempty"`

	// upgradeStrategy specifies what happens to running Pods when the spec changes.
	// +optional
	UpgradeStrategy *RayClusterUpgradeStrategy `json:"upgradeStrategy,omitempty"`

	// authOptions guards the Ray APIs of the cluster with a token. Unset means that they are open.
	// +optional
	AuthOptions *AuthOptions `json:"authOptions,omitempty"`

	// historyServerOptions ships logs and events of the cluster to object storage for the Ray history server. Needs the
	// feature gate RayClusterHistoryServer.
	// +optional
	HistoryServerOptions *HistoryServerOptions `json:"historyServerOptions,omitempty"`

	// networkPolicy fences the Pods of the cluster off from other Pods. Needs the feature gate RayClusterNetworkPolicy.
	// +optional
	NetworkPolicy *NetworkPolicyConfig `json:"networkPolicy,omitempty"`

	// tlsOptions encrypts the traffic between the Ray processes. Presence alone needs the feature gate RayClusterMTLS.
	// +optional
	TLSOptions *TLSOptions `json:"tlsOptions,omitempty"`
}

// RayNodeType is the value of the label ray.io/node-type.
type RayNodeType string

const (
	// HeadNode marks the head Pod.
	HeadNode RayNodeType = "head"
	// WorkerNode marks a worker Pod.
	WorkerNode RayNodeType = "worker"
	// RedisCleanupNode marks the Pod that empties Redis after the cluster is gone; it is not part of the cluster.
	RedisCleanupNode RayNodeType = "redis-cleanup"
)

// IsHead reports whether the Pod of this type is the head.
func (t RayNodeType) IsHead() bool { return t == HeadNode }

// HeadGroupSpec describes the head Pod and how it is reached.
type HeadGroupSpec struct {
	// template of the head Pod. Its first container is the one that runs Ray.
	Template corev1.PodTemplateSpec `json:"template"`

	// rayStartParams are flags of "ray start" without the leading dashes. Values are text, also for numbers and booleans.
	// +optional
	RayStartParams map[string]string `json:"rayStartParams"`

	// resources are the logical Ray resources of the head (CPU, GPU, memory or own names). They win over rayStartParams
	// and do not change what the container requests from Kubernetes.
	// +optional
	Resources map[string]string `json:"resources,omitempty"`

	// labels are Ray node labels of the head; the Pod gets them as labels as well.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// headService is a template for the head Service. The operator adds its own selector and ports to it. A name set here
	// is used for plain clusters only.
	// +optional
	HeadService *corev1.Service `json:"headService,omitempty"`

	// serviceType is the type of the head Service, and of the serve Service. Empty means ClusterIP.
	// +optional
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`

	// enableIngress publishes the dashboard by an Ingress, or by a Route on OpenShift. Unset means false.
	// +optional
	EnableIngress *bool `json:"enableIngress,omitempty"`

	// ingressOptions shapes that Ingress. Ignored unless enableIngress is true.
	// +optional
	IngressOptions *IngressOptions `json:"ingressOptions,omitempty"`
}

// IngressPathType specifies how the path of the dashboard Ingress is matched.
// +kubebuilder:validation:Enum=Exact;Prefix;ImplementationSpecific
type IngressPathType string

const (
	// IngressPathTypeExact matches the path alone.
	IngressPathTypeExact IngressPathType = "Exact"
	// IngressPathTypePrefix matches the path and all below it.
	IngressPathTypePrefix IngressPathType = "Prefix"
	// IngressPathTypeImplementationSpecific leaves the match to the ingress class.
	IngressPathTypeImplementationSpecific IngressPathType = "ImplementationSpecific"
)

// IngressOptions shapes the Ingress of the dashboard.
type IngressOptions struct {
	// host that the rule answers for. Unset means any host.
	// +optional
	Host *string `json:"host,omitempty"`

	// path below which the dashboard is served. Unset means /.
	// +optional
	Path *string `json:"path,omitempty"`

	// pathType specifies how path is matched. Unset means Prefix.
	// +optional
	PathType *IngressPathType `json:"pathType,omitempty"`

	// tls is copied to the Ingress.
	// +optional
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
}

// WorkerGroupSpec describes a group of equal worker Pods.
type WorkerGroupSpec struct {
	// groupName identifies the group within the cluster. It is part of Pod names and labels, and the node type that the
	// autoscaler sees.
	GroupName string `json:"groupName"`

	// replicas is the wanted number of replicas. The operator keeps it between minReplicas and maxReplicas when it acts,
	// without changing what is stored. The autoscaler writes this field.
	// +optional
	// +kubebuilder:default=0
	Replicas *int32 `json:"replicas,omitempty"`

	// minReplicas is the smallest number of replicas.
	// +kubebuilder:default=0
	MinReplicas *int32 `json:"minReplicas"`

	// maxReplicas is the largest number of replicas. The default is as good as no limit.
	// +kubebuilder:default=2147483647
	MaxReplicas *int32 `json:"maxReplicas"`

	// numOfHosts is the number of Pods in one replica; above one for accelerators that span several hosts.
	// +optional
	// +kubebuilder:default=1
	NumOfHosts int32 `json:"numOfHosts,omitempty"`

	// idleTimeoutSeconds is how long a node of this group may be idle, in seconds, before autoscaler v2 removes it.
	// Unset means the value of autoscalerOptions.
	// +optional
	IdleTimeoutSeconds *int32 `json:"idleTimeoutSeconds,omitempty"`

	// priority ranks the groups when the autoscaler could use several: higher goes first. Autoscaler v2 of Ray 2.56 or
	// later looks at it.
	// +optional
	// +kubebuilder:default=0
	Priority *int32 `json:"priority,omitempty"`

	// suspend removes all Pods of the group. It serves the deletion rules of RayJob; to suspend by hand use the field of
	// the cluster. Unset means false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// resources are the logical Ray resources of each worker (CPU, GPU, memory or own names). They win over
	// rayStartParams and do not change what the container requests from Kubernetes.
	// +optional
	Resources map[string]string `json:"resources,omitempty"`

	// labels are Ray node labels of each worker; the Pods get them as labels as well.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// rayStartParams are flags of "ray start" without the leading dashes. Values are text, also for numbers and booleans.
	// +optional
	RayStartParams map[string]string `json:"rayStartParams"`

	// template of the worker Pods. Its first container is the one that runs Ray.
	Template corev1.PodTemplateSpec `json:"template"`

	// scaleStrategy lists the Pods that the operator removes.
	// +optional
	ScaleStrategy ScaleStrategy `json:"scaleStrategy,omitempty"`
}

// ScaleStrategy names the Pods that go first when a worker group shrinks.
type ScaleStrategy struct {
	// workersToDelete are names of worker Pods to remove next. The autoscaler writes and clears this list.
	// +optional
	WorkersToDelete []string `json:"workersToDelete,omitempty"`
}

// UpscalingMode limits how fast the autoscaler adds workers.
// +kubebuilder:validation:Enum=Default;Aggressive;Conservative
type UpscalingMode string

const (
	// UpscalingModeDefault does not limit the rate, as UpscalingModeAggressive.
	UpscalingModeDefault UpscalingMode = "Default"
	// UpscalingModeAggressive does not limit the rate.
	UpscalingModeAggressive UpscalingMode = "Aggressive"
	// UpscalingModeConservative keeps the number of pending workers at or below the number of connected ones.
	UpscalingModeConservative UpscalingMode = "Conservative"
)

// AutoscalerVersion is a generation of the Ray autoscaler.
// +kubebuilder:validation:Enum=v1;v2
type AutoscalerVersion string

const (
	// AutoscalerVersionV1 is the first generation.
	AutoscalerVersionV1 AutoscalerVersion = "v1"
	// AutoscalerVersionV2 is the second generation; Pods it manages are never restarted in place.
	AutoscalerVersionV2 AutoscalerVersion = "v2"
)

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

	// idleTimeoutSeconds is how long a worker may be idle, in seconds, before it is removed. Unset means 60, a default of
	// Ray itself.
	// +optional
	IdleTimeoutSeconds *int32 `json:"idleTimeoutSeconds,omitempty"`

	// upscalingMode limits how fast workers are added. Ray reads it, the operator does not.
	// +optional
	UpscalingMode *UpscalingMode `json:"upscalingMode,omitempty"`

	// version of the autoscaler. Unset leaves the choice to the Ray image, which is v2 from Ray 2.47.0 on.
	// +optional
	Version *AutoscalerVersion `json:"version,omitempty"`

	// env are more environment variables of the container.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// envFrom are more sources of environment variables of the container.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// volumeMounts are more mounts of the container; the volumes are those of the head Pod.
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// command replaces the command of the container.
	// +optional
	Command []string `json:"command,omitempty"`

	// args replaces the arguments of the container.
	// +optional
	Args []string `json:"args,omitempty"`
}

// RayClusterUpgradeType specifies what happens to running Pods when the spec changes.
// +kubebuilder:validation:Enum=Recreate;None
type RayClusterUpgradeType string

const (
	// RayClusterRecreate deletes all Pods and makes new ones.
	RayClusterRecreate RayClusterUpgradeType = "Recreate"
	// RayClusterUpgradeNone leaves running Pods as they are.
	RayClusterUpgradeNone RayClusterUpgradeType = "None"
)

// RayClusterUpgradeStrategy specifies what happens to running Pods when the spec changes.
type RayClusterUpgradeStrategy struct {
	// type is Recreate (delete all Pods and make new ones) or None (leave running Pods as they are). Unset means None.
	// Clusters that belong to a RayJob or a RayService may not set it.
	// +optional
	Type *RayClusterUpgradeType `json:"type,omitempty"`
}

// RayCluster is a Ray cluster: a head Pod, groups of worker Pods, and the Services and permissions they need.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
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

// ClusterState is a one-word summary of a cluster, kept for old clients; conditions say more.
type ClusterState string

const (
	// ClusterStateReady is reached when all Pods run and are ready, and is kept for as long as the head is: workers that
	// come and go do not change it.
	ClusterStateReady ClusterState = "ready"
	// ClusterStateFailed means that the spec is refused.
	ClusterStateFailed ClusterState = "failed"
	// ClusterStateSuspended means that the cluster is suspended and has no Pods.
	ClusterStateSuspended ClusterState = "suspended"
)

// RayClusterStatus is the state of a Ray cluster that the operator saw last.
type RayClusterStatus struct {
	// state is a one-word summary: ready, suspended, failed (the spec is refused) or empty. Prefer the conditions.
	// +optional
	State ClusterState `json:"state,omitempty"`

	// reason says why the state is failed, or what keeps the cluster from what the spec asks for. Empty if nothing does.
	// +optional
	Reason string `json:"reason,omitempty"`

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

	// maxWorkerReplicas is the largest number of worker Pods that the groups allow, at most 2147483647.
	// +optional
	MaxWorkerReplicas int32 `json:"maxWorkerReplicas,omitempty"`

	// lastUpdateTime is when the status was written last.
	// +optional
	// +nullable
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// stateTransitionTimes holds, for each state, when the cluster entered it last.
	// +optional
	StateTransitionTimes map[ClusterState]*metav1.Time `json:"stateTransitionTimes,omitempty"`

	// endpoints are the ports of the head Service by name: the node port when there is one, else the target port.
	// +optional
	Endpoints map[string]string `json:"endpoints,omitempty"`

	// head is the address of the head Pod and its Service.
	// +optional
	Head HeadInfo `json:"head,omitempty"`

	// conditions of the cluster; their types are RayClusterProvisioned, HeadPodReady, ReplicaFailure,
	// RayClusterSuspending, RayClusterSuspended, InvalidSpec, ChildFailure, BatchSchedulerProblem, UpgradeInProgress, Idle, Expired, Ready, Reconciling and Stalled.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// observedGeneration is the metadata.generation that the status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// HeadInfo is the address of the head Pod and its Service.
type HeadInfo struct {
	// podIP is the address of the head Pod.
	// +optional
	PodIP string `json:"podIP,omitempty"`

	// podName is the name of the head Pod.
	// +optional
	PodName string `json:"podName,omitempty"`

	// serviceIP is the address of the head Service, or of the head Pod when the Service is headless.
	// +optional
	ServiceIP string `json:"serviceIP,omitempty"`

	// serviceName is the name of the head Service.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
}
