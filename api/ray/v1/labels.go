package v1

// Labels that the operator puts on what it creates. Selectors of running Services and policies depend on them, so none
// of these texts may ever change.
const (
	// LabelCluster is the name of the RayCluster. It is also the only key that clusterSelector of a RayJob uses.
	LabelCluster = "ray.io/cluster"
	// LabelNodeType is a RayNodeType.
	LabelNodeType = "ray.io/node-type"
	// LabelGroup is the name of the worker group, or HeadGroupName or SubmitterGroupName.
	LabelGroup = "ray.io/group"
	// LabelIsRayNode is LabelIsRayNodeValue on Pods that run Ray.
	LabelIsRayNode = "ray.io/is-ray-node"
	// LabelIdentifier is the cluster's name, a dash and the node type, clipped to 63 characters.
	LabelIdentifier = "ray.io/identifier"
	// LabelServe is true or false: whether the Pod may serve requests of Ray Serve.
	LabelServe = "ray.io/serve"
	// LabelHeadlessWorkerService marks the headless Service of multi-host worker groups.
	LabelHeadlessWorkerService = "ray.io/headless-worker-svc"
	// LabelOriginatedFromCRName is the name of the custom resource that the object was made for.
	LabelOriginatedFromCRName = "ray.io/originated-from-cr-name"
	// LabelOriginatedFromCRD is the kind of that custom resource.
	LabelOriginatedFromCRD = "ray.io/originated-from-crd"
	// LabelJobSubmissionMode is the submission mode of the RayJob that made the RayCluster.
	LabelJobSubmissionMode = "ray.io/job-submission-mode"
	// LabelCronJobName is the name of the RayCronJob that made the RayJob.
	LabelCronJobName = "ray.io/cronjob-name"
	// LabelWorkerGroupReplicaName is the name of the multi-host replica that the worker belongs to.
	LabelWorkerGroupReplicaName = "ray.io/worker-group-replica-name"
	// LabelWorkerGroupReplicaIndex is the index of that replica within its group.
	LabelWorkerGroupReplicaIndex = "ray.io/worker-group-replica-index"
	// LabelReplicaHostIndex is the index of the worker within that replica.
	LabelReplicaHostIndex = "ray.io/replica-host-index"
	// LabelAppName is AppName on everything that the operator creates.
	LabelAppName = "app.kubernetes.io/name"
	// LabelCreatedBy is ControllerName on everything that the operator creates.
	LabelCreatedBy = "app.kubernetes.io/created-by"
)

// Fixed values of the labels above.
const (
	// HeadGroupName is the LabelGroup of the head Pod.
	HeadGroupName = "headgroup"
	// SubmitterGroupName is the LabelGroup of the Pod that submits a RayJob.
	SubmitterGroupName = "submittergroup"
	// LabelIsRayNodeValue is the only value of LabelIsRayNode.
	LabelIsRayNodeValue = "yes"
	// LabelServeTrue is the LabelServe of a Pod that may serve.
	LabelServeTrue = "true"
	// LabelServeFalse is the LabelServe of a Pod that must not serve.
	LabelServeFalse = "false"
	// AppName is the value of LabelAppName. It names the peer, because objects made by either operator must match.
	AppName = "kuberay"
	// ControllerName is the value of LabelCreatedBy.
	ControllerName = "kuberay-operator"
)

// Labels that users set for batch schedulers.
const (
	// LabelPriorityClassName is the priority class of the gang.
	LabelPriorityClassName = "ray.io/priority-class-name"
	// LabelGangSchedulingEnabled enables gang scheduling, whatever its value is.
	LabelGangSchedulingEnabled = "ray.io/gang-scheduling-enabled"
	// LabelVolcanoQueueName is the Volcano queue.
	LabelVolcanoQueueName = "volcano.sh/queue-name"
	// LabelVolcanoNetworkTopologyMode is the topology mode of the Volcano PodGroup.
	LabelVolcanoNetworkTopologyMode = "volcano.sh/network-topology-mode"
	// LabelVolcanoNetworkTopologyHighestTierAllowed is the highest topology tier that the gang may span.
	LabelVolcanoNetworkTopologyHighestTierAllowed = "volcano.sh/network-topology-highest-tier-allowed"
	// LabelYuniKornAppID is the YuniKorn application.
	LabelYuniKornAppID = "yunikorn.apache.org/app-id"
	// LabelYuniKornQueue is the YuniKorn queue.
	LabelYuniKornQueue = "yunikorn.apache.org/queue"
	// LabelKAIQueue is the queue of the KAI scheduler.
	LabelKAIQueue = "kai.scheduler/queue"
)

// The user for whom an object was made. The V1 API of the gateway writes them; otherwise users do. The operator copies them to the
// RayClusters that it creates.
const (
	// LabelUser is the user as far as that is a label value.
	LabelUser = "ray.io/user"
	// AnnotationUser is a user who is not a valid label value, such as a mail address.
	AnnotationUser = "raygate.io/user"
)

// Annotations that make a create by the gateway idempotent. They are stored on the object, so that this works across restarts and replicas.
const (
	// AnnotationRequestID has the request_id of the create that made the object.
	AnnotationRequestID = "raygate.io/request-id"
	// AnnotationRequestHash has a hash of the body of that create.
	AnnotationRequestHash = "raygate.io/request-hash"
)

// Profiles of the gateway.
const (
	// LabelProfile is the profile that the gateway adds to an object when the object is created or applied: the name of a ConfigMap.
	LabelProfile = "raygate.io/profile"
	// LabelConfigType on a ConfigMap is its use in the gateway.
	LabelConfigType = "raygate.io/config-type"
	// ConfigTypeProfile is the config type of a profile.
	ConfigTypeProfile = "profile"
)

// Annotations that users set.
const (
	// AnnotationFTEnabled set to true, in any case of letters, is the old way to turn on GCS fault tolerance.
	AnnotationFTEnabled = "ray.io/ft-enabled"
	// AnnotationExternalStorageNamespace is the old way to give the key prefix in Redis.
	AnnotationExternalStorageNamespace = "ray.io/external-storage-namespace"
	// AnnotationGCSFTDeletionTimeout is how long deletion waits for the Redis clean-up, in whole positive seconds. Default 300.
	AnnotationGCSFTDeletionTimeout = "ray.io/gcs-ft-deletion-timeout"
	// AnnotationOverwriteContainerCmd set to true, on the cluster or a Pod template, keeps the command of the user.
	AnnotationOverwriteContainerCmd = "ray.io/overwrite-container-cmd"
	// AnnotationInitializingTimeout limits the time until a RayService is ready: a Go duration, or whole seconds.
	AnnotationInitializingTimeout = "ray.io/initializing-timeout"
	// AnnotationWaitForHead set to true or false on a RayCluster has workers wait, or not, for the head in an init container,
	// whatever the operator does by default. KubeRay does not have it.
	AnnotationWaitForHead = "raygate.io/wait-for-head"
	// AnnotationProbes set to true or false on a RayCluster has probes added to Ray containers, or not, likewise.
	AnnotationProbes = "raygate.io/probes"
	// AnnotationLoginShell set to true or false on a RayCluster starts Ray in a login shell, or not, likewise.
	AnnotationLoginShell = "raygate.io/login-shell"
	// AnnotationTPUEnvironment set to true or false on a RayCluster gives workers with TPUs the variables of their place in a slice, or
	// not, likewise.
	AnnotationTPUEnvironment = "raygate.io/tpu-environment"
	// AnnotationEnableServeService set to true gives a plain RayCluster a serve Service.
	AnnotationEnableServeService = "ray.io/enable-serve-service"
)

// Annotations that the operator sets.
const (
	// AnnotationKubeRayVersion is the version of the operator that wrote the hash next to it.
	AnnotationKubeRayVersion = "ray.io/kuberay-version"
	// AnnotationHashWithoutReplicasAndWorkersToDelete is the hash of the cluster spec that a RayService made.
	AnnotationHashWithoutReplicasAndWorkersToDelete = "ray.io/hash-without-replicas-and-workers-to-delete"
	// AnnotationNumWorkerGroups is the number of worker groups at the time of that hash.
	AnnotationNumWorkerGroups = "ray.io/num-worker-groups"
	// AnnotationUpgradeStrategyRecreateHash is the hash of the cluster spec that a Pod was made from.
	AnnotationUpgradeStrategyRecreateHash = "ray.io/upgrade-strategy-recreate-hash"
	// AnnotationDisableProvisionedHeadRestart set to true forbids replacing the head of a cluster that was provisioned.
	AnnotationDisableProvisionedHeadRestart = "ray.io/disable-provisioned-head-restart"
	// AnnotationCronJobScheduledTimestamp is the time that a RayJob of a RayCronJob was scheduled for.
	AnnotationCronJobScheduledTimestamp = "ray.io/cronjob-scheduled-timestamp"
	// AnnotationDeleteAfter on a RayCluster that its RayService no longer uses is when it is deleted, in RFC 3339. KubeRay keeps
	// that in memory.
	AnnotationDeleteAfter = "raygate.io/delete-after"
	// AnnotationGroupSizes on a RayCluster of a RayService is how many workers the service asked for when that was last brought to the
	// cluster, as JSON: by group, replicas, minReplicas and maxReplicas. It distinguishes new values of the spec from changes by others on
	// the cluster. KubeRay does not have it.
	AnnotationGroupSizes = "raygate.io/group-sizes"
	// AnnotationAppliedAnnotations lists, sorted and joined by commas, the other annotations of a child that the operator
	// put there. KubeRay does not have it.
	AnnotationAppliedAnnotations = "raygate.io/applied-annotations"
	// AnnotationClaimedDevices on a Pod lists the devices of the ResourceClaims that are made for it, as Ray resources with amounts:
	// GPU=2,TPU=4. KubeRay does not have it.
	AnnotationClaimedDevices = "raygate.io/claimed-devices"
	// AnnotationTokenReplaced on a Secret with a token of the operator reports that the token replaces one that was lost. Pods
	// that were started before the Secret was made hold the lost token.
	AnnotationTokenReplaced = "raygate.io/token-replaced"
	// AnnotationYuniKornTaskGroupName is the YuniKorn task group of a Pod.
	AnnotationYuniKornTaskGroupName = "yunikorn.apache.org/task-group-name"
	// AnnotationYuniKornTaskGroups describes all YuniKorn task groups of an application.
	AnnotationYuniKornTaskGroups = "yunikorn.apache.org/task-groups"
)

// Finalizers.
const (
	// FinalizerGCSFTRedisCleanup keeps a RayCluster until its metadata is gone from Redis.
	FinalizerGCSFTRedisCleanup = "ray.io/gcs-ft-redis-cleanup-finalizer"
	// FinalizerRayJob keeps a RayJob until its Ray job is stopped.
	FinalizerRayJob = "ray.io/rayjob-finalizer"
	// FinalizerRayService keeps a RayService until its clusters are gone.
	FinalizerRayService = "ray.io/rayservice-finalizer"
)

// Labels of Kueue on the objects that it queues.
const (
	// LabelKueueQueue is the LocalQueue in the namespace of the object.
	LabelKueueQueue = "kueue.x-k8s.io/queue-name"
	// LabelKueuePriorityClass is the WorkloadPriorityClass.
	LabelKueuePriorityClass = "kueue.x-k8s.io/priority-class"
)

// Values of the field managedBy.
const (
	// ManagedByKubeRayOperator is the operator; the same as leaving the field unset.
	ManagedByKubeRayOperator = "ray.io/kuberay-operator"
	// ManagedByMultiKueue is Kueue's dispatcher to other Kubernetes clusters.
	ManagedByMultiKueue = "kueue.x-k8s.io/multikueue"
)
