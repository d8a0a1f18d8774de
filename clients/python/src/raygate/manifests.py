"""Manifests of Ray objects and their Pod templates, as types for editors and checkers. The gateway checks what is required.

Made of the CRDs by make_manifests.py. DO NOT EDIT.
"""

from __future__ import annotations

from typing import Literal, TypedDict, Union


class AuthOptions(TypedDict, total=False):
    """authOptions guards the Ray APIs of the cluster with a token. Unset means that they are open."""

    enableK8sTokenAuth: bool
    """enableK8sTokenAuth lets Ray ask the Kubernetes API whether a token is good; callers need the verb ray:write on the RayCluster. Unset means false."""
    mode: Literal['disabled', 'token']
    """mode is token to demand a token, or disabled. Unset means disabled."""
    secretName: str
    """secretName is a Secret that holds the token under the key auth_token. Unset means that the operator makes one."""


class ConfigMapKeyRef(TypedDict, total=False):
    key: str
    name: str
    optional: bool


class FieldRef(TypedDict, total=False):
    apiVersion: str
    fieldPath: str


class FileKeyRef(TypedDict, total=False):
    key: str
    optional: bool
    path: str
    volumeName: str


class ResourceFieldRef(TypedDict, total=False):
    containerName: str
    divisor: Union[int, str]
    resource: str


class EnvVarSource(TypedDict, total=False):
    configMapKeyRef: ConfigMapKeyRef
    fieldRef: FieldRef
    fileKeyRef: FileKeyRef
    resourceFieldRef: ResourceFieldRef
    secretKeyRef: ConfigMapKeyRef


class EnvVar(TypedDict, total=False):
    name: str
    value: str
    valueFrom: EnvVarSource


class ConfigMapRef(TypedDict, total=False):
    name: str
    optional: bool


class EnvFromSource(TypedDict, total=False):
    configMapRef: ConfigMapRef
    prefix: str
    secretRef: ConfigMapRef


class Claim(TypedDict, total=False):
    name: str
    request: str


class ResourceRequirements(TypedDict, total=False):
    """resources of the container. Unset means requests and limits of 500m CPU and 512Mi memory."""

    claims: list[Claim]
    limits: dict[str, Union[int, str]]
    requests: dict[str, Union[int, str]]


class AppArmorProfile(TypedDict, total=False):
    localhostProfile: str
    type: str


class Capabilities(TypedDict, total=False):
    add: list[str]
    drop: list[str]


class SeLinuxOptions(TypedDict, total=False):
    level: str
    role: str
    type: str
    user: str


class WindowsOptions(TypedDict, total=False):
    gmsaCredentialSpec: str
    gmsaCredentialSpecName: str
    hostProcess: bool
    runAsUserName: str


class SecurityContext(TypedDict, total=False):
    """securityContext of the container."""

    allowPrivilegeEscalation: bool
    appArmorProfile: AppArmorProfile
    capabilities: Capabilities
    privileged: bool
    procMount: str
    readOnlyRootFilesystem: bool
    runAsGroup: int
    runAsNonRoot: bool
    runAsUser: int
    seLinuxOptions: SeLinuxOptions
    seccompProfile: AppArmorProfile
    windowsOptions: WindowsOptions


class VolumeMount(TypedDict, total=False):
    bindMountOptions: list[str]
    mountPath: str
    mountPropagation: str
    name: str
    readOnly: bool
    recursiveReadOnly: str
    subPath: str
    subPathExpr: str


class AutoscalerOptions(TypedDict, total=False):
    """autoscalerOptions tunes the autoscaler container. Ignored unless enableInTreeAutoscaling is true."""

    args: list[str]
    """args replaces the arguments of the container."""
    command: list[str]
    """command replaces the command of the container."""
    env: list[EnvVar]
    """env are more environment variables of the container."""
    envFrom: list[EnvFromSource]
    """envFrom are more sources of environment variables of the container."""
    idleTimeoutSeconds: int
    """idleTimeoutSeconds is how long a worker may be idle, in seconds, before it is removed. Unset means 60, a default of Ray itself."""
    image: str
    """image of the container. Unset means the image of the head."""
    imagePullPolicy: str
    """imagePullPolicy of the container. Unset means IfNotPresent."""
    resources: ResourceRequirements
    """resources of the container. Unset means requests and limits of 500m CPU and 512Mi memory."""
    securityContext: SecurityContext
    """securityContext of the container."""
    upscalingMode: Literal['Default', 'Aggressive', 'Conservative']
    """upscalingMode limits how fast workers are added. Ray reads it, the operator does not."""
    version: Literal['v1', 'v2']
    """version of the autoscaler. Unset leaves the choice to the Ray image, which is v2 from Ray 2.47.0 on."""
    volumeMounts: list[VolumeMount]
    """volumeMounts are more mounts of the container; the volumes are those of the head Pod."""


class RedisPassword(TypedDict, total=False):
    """redisPassword is the password for Redis. Unset means none."""

    value: str
    """value is the text itself. Everyone who may read the cluster can read it."""
    valueFrom: EnvVarSource
    """valueFrom takes the text from elsewhere, usually a Secret."""


class Storage(TypedDict, total=False):
    """storage is the volume for the rocksdb backend."""

    accessModes: list[str]
    """accessModes of the claim that the operator makes. Empty means ReadWriteOnce."""
    claimName: str
    """claimName is an existing PersistentVolumeClaim to use as it is. Empty means that the operator makes one."""
    deletionPolicy: Literal['DeleteWithCluster', 'Retain']
    """deletionPolicy specifies whether the claim that the operator created is deleted with the cluster. Unset means DeleteWithCluster."""
    size: Union[int, str]
    """size of the claim that the operator makes; a later change has no effect. Unset means 1Gi."""
    storageClassName: str
    """storageClassName of the claim that the operator makes. Unset means the default class of the Kubernetes cluster."""
    subPath: str
    """subPath is the directory within the volume to mount. Empty means its root."""


class GcsFaultToleranceOptions(TypedDict, total=False):
    """gcsFaultToleranceOptions keeps the metadata of the cluster outside the head Pod, so that workers survive its restart. Presence alone, even as {}, turns it on."""

    backend: Literal['redis', 'rocksdb']
    """backend is redis or rocksdb; the latter needs the feature gate GCSFaultToleranceEmbeddedStorage. Unset means redis. A value once set cannot change."""
    externalStorageNamespace: str
    """externalStorageNamespace is the key prefix in Redis. Empty means the UID of the RayCluster, so that a cluster made anew starts without the metadata of its predecessor."""
    redisAddress: str
    """redisAddress is host:port of Redis. Empty means that the environment of the head gives it."""
    redisPassword: RedisPassword
    """redisPassword is the password for Redis. Unset means none."""
    redisUsername: RedisPassword
    """redisUsername is the user name for Redis. Unset means the default user."""
    storage: Storage
    """storage is the volume for the rocksdb backend."""


class ObjectMeta(TypedDict, total=False):
    annotations: dict[str, str]
    finalizers: list[str]
    labels: dict[str, str]
    name: str
    namespace: str


class Port(TypedDict, total=False):
    appProtocol: str
    name: str
    nodePort: int
    port: int
    protocol: str
    targetPort: Union[int, str]


class ClientIP(TypedDict, total=False):
    timeoutSeconds: int


class SessionAffinityConfig(TypedDict, total=False):
    clientIP: ClientIP


class HeadServiceSpec(TypedDict, total=False):
    allocateLoadBalancerNodePorts: bool
    clusterIP: str
    clusterIPs: list[str]
    externalIPs: list[str]
    externalName: str
    externalTrafficPolicy: str
    healthCheckNodePort: int
    internalTrafficPolicy: str
    ipFamilies: list[str]
    ipFamilyPolicy: str
    loadBalancerClass: str
    loadBalancerIP: str
    loadBalancerSourceRanges: list[str]
    ports: list[Port]
    publishNotReadyAddresses: bool
    selector: dict[str, str]
    sessionAffinity: str
    sessionAffinityConfig: SessionAffinityConfig
    trafficDistribution: str
    type: str


class Condition(TypedDict, total=False):
    lastTransitionTime: str
    message: str
    observedGeneration: int
    reason: str
    status: Literal['True', 'False', 'Unknown']
    type: str


class IngressPort(TypedDict, total=False):
    error: str
    port: int
    protocol: str


class Ingress(TypedDict, total=False):
    hostname: str
    ip: str
    ipMode: str
    ports: list[IngressPort]


class LoadBalancer(TypedDict, total=False):
    ingress: list[Ingress]


class Status(TypedDict, total=False):
    conditions: list[Condition]
    loadBalancer: LoadBalancer


class HeadService(TypedDict, total=False):
    """headService is a template for the head Service. The operator adds its own selector and ports to it. A name set here is used for plain clusters only."""

    apiVersion: str
    kind: str
    metadata: ObjectMeta
    spec: HeadServiceSpec
    status: Status


class IngressTLS(TypedDict, total=False):
    hosts: list[str]
    secretName: str


class IngressOptions(TypedDict, total=False):
    """ingressOptions shapes that Ingress. Ignored unless enableIngress is true."""

    host: str
    """host that the rule answers for. Unset means any host."""
    path: str
    """path below which the dashboard is served. Unset means /."""
    pathType: Literal['Exact', 'Prefix', 'ImplementationSpecific']
    """pathType specifies how path is matched. Unset means Prefix."""
    tls: list[IngressTLS]
    """tls is copied to the Ingress."""


class MatchExpression(TypedDict, total=False):
    key: str
    operator: str
    values: list[str]


class NodeSelectorTerm(TypedDict, total=False):
    matchExpressions: list[MatchExpression]
    matchFields: list[MatchExpression]


class PreferredDuringSchedulingIgnoredDuringExecution(TypedDict, total=False):
    preference: NodeSelectorTerm
    weight: int


class RequiredDuringSchedulingIgnoredDuringExecution(TypedDict, total=False):
    nodeSelectorTerms: list[NodeSelectorTerm]


class NodeAffinity(TypedDict, total=False):
    preferredDuringSchedulingIgnoredDuringExecution: list[PreferredDuringSchedulingIgnoredDuringExecution]
    requiredDuringSchedulingIgnoredDuringExecution: RequiredDuringSchedulingIgnoredDuringExecution


class LabelSelector(TypedDict, total=False):
    matchExpressions: list[MatchExpression]
    matchLabels: dict[str, str]


class PodAffinityTerm(TypedDict, total=False):
    labelSelector: LabelSelector
    matchLabelKeys: list[str]
    mismatchLabelKeys: list[str]
    namespaceSelector: LabelSelector
    namespaces: list[str]
    topologyKey: str


class PodAffinityPreferredDuringSchedulingIgnoredDuringExecution(TypedDict, total=False):
    podAffinityTerm: PodAffinityTerm
    weight: int


class PodAffinity(TypedDict, total=False):
    preferredDuringSchedulingIgnoredDuringExecution: list[PodAffinityPreferredDuringSchedulingIgnoredDuringExecution]
    requiredDuringSchedulingIgnoredDuringExecution: list[PodAffinityTerm]


class Affinity(TypedDict, total=False):
    nodeAffinity: NodeAffinity
    podAffinity: PodAffinity
    podAntiAffinity: PodAffinity


class Exec(TypedDict, total=False):
    command: list[str]


class HttpHeader(TypedDict, total=False):
    name: str
    value: str


class HttpGet(TypedDict, total=False):
    host: str
    httpHeaders: list[HttpHeader]
    path: str
    port: Union[int, str]
    protocol: str
    scheme: str


class Sleep(TypedDict, total=False):
    seconds: int


class TcpSocket(TypedDict, total=False):
    host: str
    port: Union[int, str]


class LifecycleHandler(TypedDict, total=False):
    exec: Exec
    httpGet: HttpGet
    sleep: Sleep
    tcpSocket: TcpSocket


class Lifecycle(TypedDict, total=False):
    postStart: LifecycleHandler
    preStop: LifecycleHandler
    stopSignal: str


class Grpc(TypedDict, total=False):
    mode: str
    port: int
    service: str


class Probe(TypedDict, total=False):
    exec: Exec
    failureThreshold: int
    grpc: Grpc
    httpGet: HttpGet
    initialDelaySeconds: int
    periodSeconds: int
    successThreshold: int
    tcpSocket: TcpSocket
    terminationGracePeriodSeconds: int
    timeoutSeconds: int


class ContainerPort(TypedDict, total=False):
    containerPort: int
    hostIP: str
    hostPort: int
    name: str
    protocol: str


class ResizePolicy(TypedDict, total=False):
    resourceName: str
    restartPolicy: str


class ExitCodes(TypedDict, total=False):
    operator: str
    values: list[int]


class RestartPolicyRule(TypedDict, total=False):
    action: str
    exitCodes: ExitCodes


class VolumeDevice(TypedDict, total=False):
    devicePath: str
    name: str


class Container(TypedDict, total=False):
    args: list[str]
    command: list[str]
    env: list[EnvVar]
    envFrom: list[EnvFromSource]
    image: str
    imagePullPolicy: str
    lifecycle: Lifecycle
    livenessProbe: Probe
    name: str
    ports: list[ContainerPort]
    readinessProbe: Probe
    resizePolicy: list[ResizePolicy]
    resources: ResourceRequirements
    restartPolicy: str
    restartPolicyRules: list[RestartPolicyRule]
    securityContext: SecurityContext
    startupProbe: Probe
    stdin: bool
    stdinOnce: bool
    terminationMessagePath: str
    terminationMessagePolicy: str
    tty: bool
    volumeDevices: list[VolumeDevice]
    volumeMounts: list[VolumeMount]
    workingDir: str


class DnsConfig(TypedDict, total=False):
    nameservers: list[str]
    options: list[HttpHeader]
    searches: list[str]


class EphemeralContainer(TypedDict, total=False):
    args: list[str]
    command: list[str]
    env: list[EnvVar]
    envFrom: list[EnvFromSource]
    image: str
    imagePullPolicy: str
    lifecycle: Lifecycle
    livenessProbe: Probe
    name: str
    ports: list[ContainerPort]
    readinessProbe: Probe
    resizePolicy: list[ResizePolicy]
    resources: ResourceRequirements
    restartPolicy: str
    restartPolicyRules: list[RestartPolicyRule]
    securityContext: SecurityContext
    startupProbe: Probe
    stdin: bool
    stdinOnce: bool
    targetContainerName: str
    terminationMessagePath: str
    terminationMessagePolicy: str
    tty: bool
    volumeDevices: list[VolumeDevice]
    volumeMounts: list[VolumeMount]
    workingDir: str


class EvictionResponder(TypedDict, total=False):
    name: str
    priority: int


class HostAlias(TypedDict, total=False):
    hostnames: list[str]
    ip: str


class LocalObjectReference(TypedDict, total=False):
    name: str


class ReadinessGate(TypedDict, total=False):
    conditionType: str


class ResourceClaim(TypedDict, total=False):
    name: str
    resourceClaimName: str
    resourceClaimTemplateName: str


class SchedulingGroup(TypedDict, total=False):
    podGroupName: str


class PodSecurityContext(TypedDict, total=False):
    appArmorProfile: AppArmorProfile
    fsGroup: int
    fsGroupChangePolicy: str
    runAsGroup: int
    runAsNonRoot: bool
    runAsUser: int
    seLinuxChangePolicy: str
    seLinuxOptions: SeLinuxOptions
    seccompProfile: AppArmorProfile
    supplementalGroups: list[int]
    supplementalGroupsPolicy: str
    sysctls: list[HttpHeader]
    windowsOptions: WindowsOptions


class Toleration(TypedDict, total=False):
    effect: str
    key: str
    operator: str
    tolerationSeconds: int
    value: str


class TopologySpreadConstraint(TypedDict, total=False):
    labelSelector: LabelSelector
    matchLabelKeys: list[str]
    maxSkew: int
    minDomains: int
    nodeAffinityPolicy: str
    nodeTaintsPolicy: str
    topologyKey: str
    whenUnsatisfiable: str


class AwsElasticBlockStore(TypedDict, total=False):
    fsType: str
    partition: int
    readOnly: bool
    volumeID: str


class AzureDisk(TypedDict, total=False):
    cachingMode: str
    diskName: str
    diskURI: str
    fsType: str
    kind: str
    readOnly: bool


class AzureFile(TypedDict, total=False):
    readOnly: bool
    secretName: str
    shareName: str


class Cephfs(TypedDict, total=False):
    monitors: list[str]
    path: str
    readOnly: bool
    secretFile: str
    secretRef: LocalObjectReference
    user: str


class Cinder(TypedDict, total=False):
    fsType: str
    readOnly: bool
    secretRef: LocalObjectReference
    volumeID: str


class Item(TypedDict, total=False):
    key: str
    mode: int
    path: str
    user: int


class ConfigMap(TypedDict, total=False):
    defaultMode: int
    defaultUser: int
    items: list[Item]
    name: str
    optional: bool


class Csi(TypedDict, total=False):
    driver: str
    fsType: str
    nodePublishSecretRef: LocalObjectReference
    readOnly: bool
    volumeAttributes: dict[str, str]


class DownwardAPIItem(TypedDict, total=False):
    fieldRef: FieldRef
    mode: int
    path: str
    resourceFieldRef: ResourceFieldRef
    user: int


class DownwardAPI(TypedDict, total=False):
    defaultMode: int
    defaultUser: int
    items: list[DownwardAPIItem]


class EmptyDir(TypedDict, total=False):
    medium: str
    mode: int
    sizeLimit: Union[int, str]


class DataSource(TypedDict, total=False):
    apiGroup: str
    kind: str
    name: str


class DataSourceRef(TypedDict, total=False):
    apiGroup: str
    kind: str
    name: str
    namespace: str


class SpecResourceRequirements(TypedDict, total=False):
    limits: dict[str, Union[int, str]]
    requests: dict[str, Union[int, str]]


class Spec(TypedDict, total=False):
    accessModes: list[str]
    dataSource: DataSource
    dataSourceRef: DataSourceRef
    resources: SpecResourceRequirements
    selector: LabelSelector
    storageClassName: str
    volumeAttributesClassName: str
    volumeMode: str
    volumeName: str


class VolumeClaimTemplate(TypedDict, total=False):
    metadata: ObjectMeta
    spec: Spec


class Ephemeral(TypedDict, total=False):
    volumeClaimTemplate: VolumeClaimTemplate


class Fc(TypedDict, total=False):
    fsType: str
    lun: int
    readOnly: bool
    targetWWNs: list[str]
    wwids: list[str]


class FlexVolume(TypedDict, total=False):
    driver: str
    fsType: str
    options: dict[str, str]
    readOnly: bool
    secretRef: LocalObjectReference


class Flocker(TypedDict, total=False):
    datasetName: str
    datasetUUID: str


class GcePersistentDisk(TypedDict, total=False):
    fsType: str
    partition: int
    pdName: str
    readOnly: bool


class GitRepo(TypedDict, total=False):
    directory: str
    repository: str
    revision: str


class Glusterfs(TypedDict, total=False):
    endpoints: str
    path: str
    readOnly: bool


class HostPath(TypedDict, total=False):
    path: str
    type: str


class Image(TypedDict, total=False):
    pullPolicy: str
    reference: str


class Iscsi(TypedDict, total=False):
    chapAuthDiscovery: bool
    chapAuthSession: bool
    fsType: str
    initiatorName: str
    iqn: str
    iscsiInterface: str
    lun: int
    portals: list[str]
    readOnly: bool
    secretRef: LocalObjectReference
    targetPortal: str


class Nfs(TypedDict, total=False):
    path: str
    readOnly: bool
    server: str


class PersistentVolumeClaim(TypedDict, total=False):
    claimName: str
    readOnly: bool


class PhotonPersistentDisk(TypedDict, total=False):
    fsType: str
    pdID: str


class PortworxVolume(TypedDict, total=False):
    fsType: str
    readOnly: bool
    volumeID: str


class ClusterTrustBundle(TypedDict, total=False):
    labelSelector: LabelSelector
    name: str
    optional: bool
    path: str
    signerName: str
    user: int


class SourceConfigMap(TypedDict, total=False):
    items: list[Item]
    name: str
    optional: bool


class SourceDownwardAPI(TypedDict, total=False):
    items: list[DownwardAPIItem]


class PodCertificate(TypedDict, total=False):
    certificateChainPath: str
    credentialBundlePath: str
    keyPath: str
    keyType: str
    maxExpirationSeconds: int
    signerName: str
    user: int
    userAnnotations: dict[str, str]


class ServiceAccountToken(TypedDict, total=False):
    audience: str
    expirationSeconds: int
    path: str
    user: int


class Source(TypedDict, total=False):
    clusterTrustBundle: ClusterTrustBundle
    configMap: SourceConfigMap
    downwardAPI: SourceDownwardAPI
    podCertificate: PodCertificate
    secret: SourceConfigMap
    serviceAccountToken: ServiceAccountToken


class Projected(TypedDict, total=False):
    defaultMode: int
    defaultUser: int
    sources: list[Source]


class Quobyte(TypedDict, total=False):
    group: str
    readOnly: bool
    registry: str
    tenant: str
    user: str
    volume: str


class Rbd(TypedDict, total=False):
    fsType: str
    image: str
    keyring: str
    monitors: list[str]
    pool: str
    readOnly: bool
    secretRef: LocalObjectReference
    user: str


class ScaleIO(TypedDict, total=False):
    fsType: str
    gateway: str
    protectionDomain: str
    readOnly: bool
    secretRef: LocalObjectReference
    sslEnabled: bool
    storageMode: str
    storagePool: str
    system: str
    volumeName: str


class Secret(TypedDict, total=False):
    defaultMode: int
    defaultUser: int
    items: list[Item]
    optional: bool
    secretName: str


class Storageos(TypedDict, total=False):
    fsType: str
    readOnly: bool
    secretRef: LocalObjectReference
    volumeName: str
    volumeNamespace: str


class VsphereVolume(TypedDict, total=False):
    fsType: str
    storagePolicyID: str
    storagePolicyName: str
    volumePath: str


class Volume(TypedDict, total=False):
    awsElasticBlockStore: AwsElasticBlockStore
    azureDisk: AzureDisk
    azureFile: AzureFile
    cephfs: Cephfs
    cinder: Cinder
    configMap: ConfigMap
    csi: Csi
    downwardAPI: DownwardAPI
    emptyDir: EmptyDir
    ephemeral: Ephemeral
    fc: Fc
    flexVolume: FlexVolume
    flocker: Flocker
    gcePersistentDisk: GcePersistentDisk
    gitRepo: GitRepo
    glusterfs: Glusterfs
    hostPath: HostPath
    image: Image
    iscsi: Iscsi
    name: str
    nfs: Nfs
    persistentVolumeClaim: PersistentVolumeClaim
    photonPersistentDisk: PhotonPersistentDisk
    portworxVolume: PortworxVolume
    projected: Projected
    quobyte: Quobyte
    rbd: Rbd
    scaleIO: ScaleIO
    secret: Secret
    storageos: Storageos
    vsphereVolume: VsphereVolume


class PodSpec(TypedDict, total=False):
    activeDeadlineSeconds: int
    affinity: Affinity
    automountServiceAccountToken: bool
    containers: list[Container]
    dnsConfig: DnsConfig
    dnsPolicy: str
    enableServiceLinks: bool
    ephemeralContainers: list[EphemeralContainer]
    evictionResponders: list[EvictionResponder]
    hostAliases: list[HostAlias]
    hostIPC: bool
    hostNetwork: bool
    hostPID: bool
    hostUsers: bool
    hostname: str
    hostnameOverride: str
    imagePullSecrets: list[LocalObjectReference]
    initContainers: list[Container]
    nodeName: str
    nodeSelector: dict[str, str]
    os: LocalObjectReference
    overhead: dict[str, Union[int, str]]
    preemptionPolicy: str
    priority: int
    priorityClassName: str
    readinessGates: list[ReadinessGate]
    resourceClaims: list[ResourceClaim]
    resources: ResourceRequirements
    restartPolicy: str
    runtimeClassName: str
    schedulerName: str
    schedulingGates: list[LocalObjectReference]
    schedulingGroup: SchedulingGroup
    securityContext: PodSecurityContext
    serviceAccount: str
    serviceAccountName: str
    setHostnameAsFQDN: bool
    shareProcessNamespace: bool
    subdomain: str
    terminationGracePeriodSeconds: int
    tolerations: list[Toleration]
    topologySpreadConstraints: list[TopologySpreadConstraint]
    volumes: list[Volume]


class PodTemplate(TypedDict, total=False):
    """template of the head Pod. Its first container is the one that runs Ray."""

    metadata: ObjectMeta
    spec: PodSpec


class HeadGroupSpec(TypedDict, total=False):
    """headGroupSpec describes the single head Pod."""

    enableIngress: bool
    """enableIngress publishes the dashboard by an Ingress, or by a Route on OpenShift. Unset means false."""
    headService: HeadService
    """headService is a template for the head Service. The operator adds its own selector and ports to it. A name set here is used for plain clusters only."""
    ingressOptions: IngressOptions
    """ingressOptions shapes that Ingress. Ignored unless enableIngress is true."""
    labels: dict[str, str]
    """labels are Ray node labels of the head; the Pod gets them as labels as well."""
    rayStartParams: dict[str, str]
    """rayStartParams are flags of 'ray start' without the leading dashes. Values are text, also for numbers and booleans."""
    resources: dict[str, str]
    """resources are the logical Ray resources of the head (CPU, GPU, memory or own names). They win over rayStartParams and do not change what the container requests from Kubernetes."""
    serviceType: str
    """serviceType is the type of the head Service, and of the serve Service. Empty means ClusterIP."""
    template: PodTemplate
    """template of the head Pod. Its first container is the one that runs Ray."""


class CollectorOptions(TypedDict, total=False):
    """collectorOptions describes the collector container that every Ray Pod gets. The operator insists on it."""

    env: list[EnvVar]
    """env are environment variables of the container. STORAGE_BACKEND must be among them, as a literal value."""
    image: str
    """image of the container. The operator insists on it."""
    imagePullPolicy: str
    """imagePullPolicy of the container."""
    resources: ResourceRequirements
    """resources of the container."""


class HistoryServerOptions(TypedDict, total=False):
    """historyServerOptions ships logs and events of the cluster to object storage for the Ray history server. Needs the feature gate RayClusterHistoryServer."""

    collectorOptions: CollectorOptions
    """collectorOptions describes the collector container that every Ray Pod gets. The operator insists on it."""


class EgressRulePort(TypedDict, total=False):
    endPort: int
    port: Union[int, str]
    protocol: str


IpBlock = TypedDict(
    "IpBlock",
    {
        "cidr": str,
        "except": list[str],
    },
    total=False,
)


class To(TypedDict, total=False):
    ipBlock: IpBlock
    namespaceSelector: LabelSelector
    podSelector: LabelSelector


class EgressRule(TypedDict, total=False):
    ports: list[EgressRulePort]
    to: list[To]


IngressRule = TypedDict(
    "IngressRule",
    {
        "from": list[To],
        "ports": list[EgressRulePort],
    },
    total=False,
)


class Head(TypedDict, total=False):
    """head are rules for the head Pod."""

    egressRules: list[EgressRule]
    """egressRules allow outgoing traffic."""
    ingressRules: list[IngressRule]
    """ingressRules allow incoming traffic."""


class WorkerGroup(TypedDict, total=False):
    egressRules: list[EgressRule]
    """egressRules allow outgoing traffic."""
    groupName: str
    """groupName is the name of the worker group."""
    ingressRules: list[IngressRule]
    """ingressRules allow incoming traffic."""


class NetworkPolicy(TypedDict, total=False):
    """networkPolicy fences the Pods of the cluster off from other Pods. Needs the feature gate RayClusterNetworkPolicy."""

    head: Head
    """head are rules for the head Pod."""
    mode: Literal['DenyAll', 'DenyAllIngress', 'DenyAllEgress']
    """mode specifies which directions are denied unless a rule allows them."""
    worker: Head
    """worker are rules for the worker Pods of every group that has none of its own in workerGroups."""
    workerGroups: list[WorkerGroup]
    """workerGroups are rules for the workers of single groups; an entry replaces the rules in worker."""


class TlsOptions(TypedDict, total=False):
    """tlsOptions encrypts the traffic between the Ray processes. Presence alone needs the feature gate RayClusterMTLS."""

    enabled: bool
    """enabled turns on mutual TLS with certificates from cert-manager. Unset means false."""


class UpgradeStrategy(TypedDict, total=False):
    """upgradeStrategy specifies what happens to running Pods when the spec changes."""

    type: Literal['Recreate', 'None']
    """type is Recreate (delete all Pods and make new ones) or None (leave running Pods as they are). Unset means None. Clusters that belong to a RayJob or a RayService may not set it."""


class ScaleStrategy(TypedDict, total=False):
    """scaleStrategy lists the Pods that the operator removes."""

    workersToDelete: list[str]
    """workersToDelete are names of worker Pods to remove next. The autoscaler writes and clears this list."""


class WorkerGroupSpec(TypedDict, total=False):
    groupName: str
    """groupName identifies the group within the cluster. It is part of Pod names and labels, and the node type that the autoscaler sees."""
    idleTimeoutSeconds: int
    """idleTimeoutSeconds is how long a node of this group may be idle, in seconds, before autoscaler v2 removes it. Unset means the value of autoscalerOptions."""
    labels: dict[str, str]
    """labels are Ray node labels of each worker; the Pods get them as labels as well."""
    maxReplicas: int
    """maxReplicas is the largest number of replicas. The default is as good as no limit."""
    minReplicas: int
    """minReplicas is the smallest number of replicas."""
    numOfHosts: int
    """numOfHosts is the number of Pods in one replica; above one for accelerators that span several hosts."""
    priority: int
    """priority ranks the groups when the autoscaler could use several: higher goes first. Autoscaler v2 of Ray 2.56 or later looks at it."""
    rayStartParams: dict[str, str]
    """rayStartParams are flags of 'ray start' without the leading dashes. Values are text, also for numbers and booleans."""
    replicas: int
    """replicas is the wanted number of replicas. The operator keeps it between minReplicas and maxReplicas when it acts, without changing what is stored. The autoscaler writes this field."""
    resources: dict[str, str]
    """resources are the logical Ray resources of each worker (CPU, GPU, memory or own names). They win over rayStartParams and do not change what the container requests from Kubernetes."""
    scaleStrategy: ScaleStrategy
    """scaleStrategy lists the Pods that the operator removes."""
    suspend: bool
    """suspend removes all Pods of the group. It serves the deletion rules of RayJob; to suspend by hand use the field of the cluster. Unset means false."""
    template: PodTemplate
    """template of the worker Pods. Its first container is the one that runs Ray."""


class RayClusterSpec(TypedDict, total=False):
    """spec is the wanted state of the cluster."""

    authOptions: AuthOptions
    """authOptions guards the Ray APIs of the cluster with a token. Unset means that they are open."""
    autoscalerOptions: AutoscalerOptions
    """autoscalerOptions tunes the autoscaler container. Ignored unless enableInTreeAutoscaling is true."""
    enableInTreeAutoscaling: bool
    """enableInTreeAutoscaling runs the Ray autoscaler next to the head and lets it change the replicas of the worker groups. Unset means false."""
    gcsFaultToleranceOptions: GcsFaultToleranceOptions
    """gcsFaultToleranceOptions keeps the metadata of the cluster outside the head Pod, so that workers survive its restart. Presence alone, even as {}, turns it on."""
    headGroupSpec: HeadGroupSpec
    """headGroupSpec describes the single head Pod."""
    headServiceAnnotations: dict[str, str]
    """headServiceAnnotations are annotations for the head Service that the operator builds."""
    historyServerOptions: HistoryServerOptions
    """historyServerOptions ships logs and events of the cluster to object storage for the Ray history server. Needs the feature gate RayClusterHistoryServer."""
    managedBy: str
    """managedBy names the controller that owns this object: ray.io/kuberay-operator or kueue.x-k8s.io/multikueue. With the latter the operator leaves the object alone. Unset means the operator."""
    networkPolicy: NetworkPolicy
    """networkPolicy fences the Pods of the cluster off from other Pods. Needs the feature gate RayClusterNetworkPolicy."""
    rayVersion: str
    """rayVersion is the version of Ray in the images, for example 2.52.0."""
    suspend: bool
    """suspend deletes all Pods of the cluster while true and brings them back when set to false. A suspension that has begun always runs to its end. Unset means false."""
    tlsOptions: TlsOptions
    """tlsOptions encrypts the traffic between the Ray processes. Presence alone needs the feature gate RayClusterMTLS."""
    upgradeStrategy: UpgradeStrategy
    """upgradeStrategy specifies what happens to running Pods when the spec changes."""
    workerGroupSpecs: list[WorkerGroupSpec]
    """workerGroupSpecs are the groups of worker Pods, one entry per groupName. Empty means a cluster of the head alone."""


class DeletionRuleCondition(TypedDict, total=False):
    """condition says when the rule is due."""

    jobDeploymentStatus: Literal['Failed']
    """jobDeploymentStatus is the state of the RayJob: Failed."""
    jobStatus: Literal['SUCCEEDED', 'FAILED']
    """jobStatus is the state of the Ray job: SUCCEEDED or FAILED."""
    ttlSeconds: int
    """ttlSeconds is how long to wait, in seconds, after that state was reached."""


class DeletionRule(TypedDict, total=False):
    condition: DeletionRuleCondition
    """condition says when the rule is due."""
    policy: Literal['DeleteCluster', 'DeleteWorkers', 'DeleteSelf', 'DeleteNone']
    """policy is DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone."""


class OnFailure(TypedDict, total=False):
    """onFailure specifies what is deleted after a failure. Deprecated: use deletionRules."""

    policy: Literal['DeleteCluster', 'DeleteWorkers', 'DeleteSelf', 'DeleteNone']
    """policy is DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone."""


class DeletionStrategy(TypedDict, total=False):
    """deletionStrategy says in more detail what is deleted after the job ended. Needs the feature gate RayJobDeletionPolicy."""

    deletionRules: list[DeletionRule]
    """deletionRules delete in stages. Of several rules that are due, the one that deletes most goes first."""
    onFailure: OnFailure
    """onFailure specifies what is deleted after a failure. Deprecated: use deletionRules."""
    onSuccess: OnFailure
    """onSuccess specifies what is deleted after a success. Deprecated: use deletionRules."""


class SubmitterConfig(TypedDict, total=False):
    """submitterConfig tunes the submitter."""

    backoffLimit: int
    """backoffLimit is how often the submitter is tried again. Unset means 2."""


class RayJobSpec(TypedDict, total=False):
    """spec is the wanted state of the RayJob."""

    activeDeadlineSeconds: int
    """activeDeadlineSeconds is how long the RayJob may take from its start, in seconds. Unset means no limit."""
    backoffLimit: int
    """backoffLimit is how often the whole RayJob is tried again, each time on a new cluster."""
    clusterSelector: dict[str, str]
    """clusterSelector names an existing cluster to run on, under the key ray.io/cluster. Set this or rayClusterSpec."""
    deletionStrategy: DeletionStrategy
    """deletionStrategy says in more detail what is deleted after the job ended. Needs the feature gate RayJobDeletionPolicy."""
    entrypoint: str
    """entrypoint is the shell command of the job. May be empty in InteractiveMode only."""
    entrypointNumCpus: float
    """entrypointNumCpus is the number of CPUs to reserve for the entrypoint."""
    entrypointNumGpus: float
    """entrypointNumGpus is the number of GPUs to reserve for the entrypoint."""
    entrypointResources: str
    """entrypointResources are other logical resources to reserve for the entrypoint, as JSON text."""
    jobId: str
    """jobId is the submission id to use. Empty means one made from the name of the RayJob."""
    managedBy: str
    """managedBy names the controller that owns this object: ray.io/kuberay-operator or kueue.x-k8s.io/multikueue. With the latter the operator leaves the object alone. Unset means the operator."""
    metadata: dict[str, str]
    """metadata is given to Ray together with the job."""
    preRunningDeadlineSeconds: int
    """preRunningDeadlineSeconds is how long the RayJob may take until it runs, in seconds. Unset means no limit."""
    rayClusterSpec: RayClusterSpec
    """rayClusterSpec is the cluster to create for the job. Set this or clusterSelector."""
    runtimeEnvYAML: str
    """runtimeEnvYAML is the runtime environment of the job, as YAML text."""
    shutdownAfterJobFinishes: bool
    """shutdownAfterJobFinishes deletes the cluster after the job ended."""
    submissionMode: str
    """submissionMode is the way in which the job is submitted. K8sJobMode uses a Kubernetes Job, and HTTPMode the operator. In InteractiveMode the user submits the job."""
    submitterConfig: SubmitterConfig
    """submitterConfig tunes the submitter."""
    submitterPodTemplate: PodTemplate
    """submitterPodTemplate is the Pod that submits the job in K8sJobMode. Unset means one made from the head's image."""
    suspend: bool
    """suspend deletes the cluster, or does not create it, while true. Set to false, the job starts afresh."""
    ttlSecondsAfterFinished: int
    """ttlSecondsAfterFinished is how long the cluster is kept after the job ended, in seconds. Looked at only if shutdownAfterJobFinishes is true."""


class ClusterUpgradeOptions(TypedDict, total=False):
    """clusterUpgradeOptions shapes the steps of NewClusterWithIncrementalUpgrade."""

    gatewayClassName: str
    """gatewayClassName is the class of the Gateway that splits the traffic."""
    intervalSeconds: int
    """intervalSeconds is the time between two moves, in seconds."""
    maxSurgePercent: int
    """maxSurgePercent is the capacity that is added to the new cluster in one step, in percent of the old."""
    stepSizePercent: int
    """stepSizePercent is the share of the traffic that is moved in one step, in percent."""


class RayServiceSpecUpgradeStrategy(TypedDict, total=False):
    """upgradeStrategy specifies how a change of the cluster reaches users."""

    clusterUpgradeOptions: ClusterUpgradeOptions
    """clusterUpgradeOptions shapes the steps of NewClusterWithIncrementalUpgrade."""
    type: str
    """type is NewCluster (prepare a new cluster, then move all traffic), NewClusterWithIncrementalUpgrade (move it in steps; needs the feature gate RayServiceIncrementalUpgrade) or None."""


class RayServiceSpec(TypedDict, total=False):
    """spec is the wanted state of the RayService."""

    deploymentUnhealthySecondThreshold: int
    """deploymentUnhealthySecondThreshold has no effect. Deprecated: nothing reads it."""
    excludeHeadPodFromServeSvc: bool
    """excludeHeadPodFromServeSvc keeps the head Pod out of the endpoints that users reach."""
    managedBy: str
    """managedBy names the controller that owns this object: ray.io/kuberay-operator or kueue.x-k8s.io/multikueue. With the latter the operator leaves the object alone. Unset means the operator."""
    rayClusterConfig: RayClusterSpec
    """rayClusterConfig is the cluster to run the applications on."""
    rayClusterDeletionDelaySeconds: int
    """rayClusterDeletionDelaySeconds is how long a replaced cluster is kept, in seconds. Unset means 60."""
    serveConfigV2: str
    """serveConfigV2 is the configuration of Ray Serve for several applications, as YAML text."""
    serveService: HeadService
    """serveService is a template for the Service that users call."""
    serviceUnhealthySecondThreshold: int
    """serviceUnhealthySecondThreshold has no effect. Deprecated: nothing reads it."""
    suspend: bool
    """suspend deletes everything that belongs to the RayService while true. A suspension that has begun always runs to its end."""
    upgradeStrategy: RayServiceSpecUpgradeStrategy
    """upgradeStrategy specifies how a change of the cluster reaches users."""


class RayCronJobSpec(TypedDict, total=False):
    """spec is the wanted state of the RayCronJob."""

    jobTemplate: RayJobSpec
    """jobTemplate is the spec of each RayJob."""
    schedule: str
    """schedule is a cron expression of five fields, or a descriptor such as @hourly or @every 5m."""
    suspend: bool
    """suspend stops the creation of RayJobs while true; those that run go on. Unset means false."""
    timeZone: str
    """timeZone is the IANA name of the zone of the schedule, for example Europe/Vienna. Unset means the zone of the operator."""
