package v1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// This file holds the blocks of RayClusterSpec that turn on a feature of its own: fault tolerance, authentication,
// history, network policy and TLS.

// GcsFaultToleranceBackend is a store for the metadata of a cluster.
// +kubebuilder:validation:Enum=redis;rocksdb
type GcsFaultToleranceBackend string

const (
	// GcsFTBackendRedis keeps the metadata in a Redis that the user runs.
	GcsFTBackendRedis GcsFaultToleranceBackend = "redis"
	// GcsFTBackendRocksDB keeps the metadata in files on a volume of the head Pod.
	GcsFTBackendRocksDB GcsFaultToleranceBackend = "rocksdb"
)

// GcsFaultToleranceOptions says where the metadata of the cluster is kept.
type GcsFaultToleranceOptions struct {
	// backend is redis or rocksdb; the latter needs the feature gate GCSFaultToleranceEmbeddedStorage. Unset means redis.
	// A value once set cannot change.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="gcsFaultToleranceOptions.backend is immutable"
	Backend GcsFaultToleranceBackend `json:"backend,omitempty"`

	// redisAddress is host:port of Redis. Empty means that the environment of the head gives it.
	// +optional
	RedisAddress string `json:"redisAddress,omitempty"`

	// redisUsername is the user name for Redis. Unset means the default user.
	// +optional
	RedisUsername *RedisCredential `json:"redisUsername,omitempty"`

	// redisPassword is the password for Redis. Unset means none.
	// +optional
	RedisPassword *RedisCredential `json:"redisPassword,omitempty"`

	// externalStorageNamespace is the key prefix in Redis. Empty means the UID of the RayCluster, so that a cluster made
	// anew starts without the metadata of its predecessor.
	// +optional
	ExternalStorageNamespace string `json:"externalStorageNamespace,omitempty"`

	// storage is the volume for the rocksdb backend.
	// +optional
	Storage *GcsEmbeddedStorage `json:"storage,omitempty"`
}

// RedisCredential is a user name or a password, given as text or by reference.
type RedisCredential struct {
	// value is the text itself. Everyone who may read the cluster can read it.
	// +optional
	Value string `json:"value,omitempty"`

	// valueFrom takes the text from elsewhere, usually a Secret.
	// +optional
	ValueFrom *corev1.EnvVarSource `json:"valueFrom,omitempty"`
}

// GCSStorageDeletionPolicy specifies what happens to the volume claim of a cluster that is deleted.
// +kubebuilder:validation:Enum=DeleteWithCluster;Retain
type GCSStorageDeletionPolicy string

const (
	// GCSStorageDeleteWithCluster deletes the claim with the cluster.
	GCSStorageDeleteWithCluster GCSStorageDeletionPolicy = "DeleteWithCluster"
	// GCSStorageRetain leaves the claim behind, for a later cluster of the same name.
	GCSStorageRetain GCSStorageDeletionPolicy = "Retain"
)

// GcsEmbeddedStorage is the volume that the rocksdb backend writes to.
type GcsEmbeddedStorage struct {
	// claimName is an existing PersistentVolumeClaim to use as it is. Empty means that the operator makes one.
	// +optional
	ClaimName string `json:"claimName,omitempty"`

	// size of the claim that the operator makes; a later change has no effect. Unset means 1Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// storageClassName of the claim that the operator makes. Unset means the default class of the Kubernetes cluster.
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`

	// accessModes of the claim that the operator makes. Empty means ReadWriteOnce.
	// +optional
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`

	// subPath is the directory within the volume to mount. Empty means its root.
	// +optional
	SubPath string `json:"subPath,omitempty"`

	// deletionPolicy specifies whether the claim that the operator created is deleted with the cluster. Unset means
	// DeleteWithCluster.
	// +optional
	DeletionPolicy *GCSStorageDeletionPolicy `json:"deletionPolicy,omitempty"`
}

// AuthMode specifies how the Ray APIs of a cluster are guarded.
// +kubebuilder:validation:Enum=disabled;token
type AuthMode string

const (
	// AuthModeDisabled leaves the APIs open.
	AuthModeDisabled AuthMode = "disabled"
	// AuthModeToken demands a token.
	AuthModeToken AuthMode = "token"
)

// AuthOptions guards the Ray APIs of a cluster.
type AuthOptions struct {
	// mode is token to demand a token, or disabled. Unset means disabled.
	// +optional
	Mode AuthMode `json:"mode,omitempty"`

	// secretName is a Secret that holds the token under the key auth_token. Unset means that the operator makes one.
	// +optional
	SecretName *string `json:"secretName,omitempty"`

	// enableK8sTokenAuth lets Ray ask the Kubernetes API whether a token is good; callers need the verb ray:write on the
	// RayCluster. Unset means false.
	// +optional
	EnableK8sTokenAuth *bool `json:"enableK8sTokenAuth,omitempty"`
}

// HistoryServerOptions ships logs and events of a cluster to the storage that the Ray history server reads.
type HistoryServerOptions struct {
	// collectorOptions describes the collector container that every Ray Pod gets. The operator insists on it.
	// +optional
	CollectorOptions *CollectorOptions `json:"collectorOptions,omitempty"`
}

// CollectorOptions describes the collector container.
type CollectorOptions struct {
	// image of the container. The operator insists on it.
	// +optional
	Image *string `json:"image,omitempty"`

	// imagePullPolicy of the container.
	// +optional
	ImagePullPolicy *corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// resources of the container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// env are environment variables of the container. STORAGE_BACKEND must be among them, as a literal value.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
}

// NetworkPolicyMode specifies which directions of traffic are denied unless a rule allows them.
// +kubebuilder:validation:Enum=DenyAll;DenyAllIngress;DenyAllEgress
type NetworkPolicyMode string

const (
	// NetworkPolicyDenyAll denies both directions.
	NetworkPolicyDenyAll NetworkPolicyMode = "DenyAll"
	// NetworkPolicyDenyAllIngress denies incoming traffic only.
	NetworkPolicyDenyAllIngress NetworkPolicyMode = "DenyAllIngress"
	// NetworkPolicyDenyAllEgress denies outgoing traffic only.
	NetworkPolicyDenyAllEgress NetworkPolicyMode = "DenyAllEgress"
)

// NetworkPolicyConfig fences the Pods of a cluster. Traffic between them is always allowed; DNS is not, unless a rule says so.
type NetworkPolicyConfig struct {
	// mode specifies which directions are denied unless a rule allows them.
	// +optional
	// +kubebuilder:default=DenyAll
	Mode *NetworkPolicyMode `json:"mode,omitempty"`

	// head are rules for the head Pod.
	// +optional
	Head *NetworkPolicyRules `json:"head,omitempty"`

	// worker are rules for the worker Pods of every group that has none of its own in workerGroups.
	// +optional
	Worker *NetworkPolicyRules `json:"worker,omitempty"`

	// workerGroups are rules for the workers of single groups; an entry replaces the rules in worker.
	// +optional
	// +listType=map
	// +listMapKey=groupName
	WorkerGroups []WorkerGroupNetworkPolicyRules `json:"workerGroups,omitempty"`
}

// NetworkPolicyRules are the exceptions from the denial.
type NetworkPolicyRules struct {
	// ingressRules allow incoming traffic.
	// +optional
	IngressRules []networkingv1.NetworkPolicyIngressRule `json:"ingressRules,omitempty"`

	// egressRules allow outgoing traffic.
	// +optional
	EgressRules []networkingv1.NetworkPolicyEgressRule `json:"egressRules,omitempty"`
}

// WorkerGroupNetworkPolicyRules are the exceptions for one worker group.
type WorkerGroupNetworkPolicyRules struct {
	// groupName is the name of the worker group.
	GroupName string `json:"groupName"`

	NetworkPolicyRules `json:",inline"`
}

// TLSOptions encrypts the traffic between the Ray processes of a cluster.
type TLSOptions struct {
	// enabled turns on mutual TLS with certificates from cert-manager. Unset means false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}
