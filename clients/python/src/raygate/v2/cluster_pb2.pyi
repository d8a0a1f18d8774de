import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from raygate.v2 import meta_pb2 as _meta_pb2
from raygate.v2 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RayCluster(_message.Message):
    __slots__ = ("api_version", "kind", "metadata", "spec", "status")
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    api_version: str
    kind: str
    metadata: _meta_pb2.ObjectMeta
    spec: RayClusterSpec
    status: RayClusterStatus
    def __init__(self, api_version: _Optional[str] = ..., kind: _Optional[str] = ..., metadata: _Optional[_Union[_meta_pb2.ObjectMeta, _Mapping]] = ..., spec: _Optional[_Union[RayClusterSpec, _Mapping]] = ..., status: _Optional[_Union[RayClusterStatus, _Mapping]] = ...) -> None: ...

class RayClusterSpec(_message.Message):
    __slots__ = ("head_group_spec", "worker_group_specs", "ray_version", "enable_in_tree_autoscaling", "autoscaler_options", "suspend", "managed_by", "head_service_annotations", "gcs_fault_tolerance_options", "upgrade_strategy", "auth_options", "history_server_options", "network_policy", "tls_options")
    class HeadServiceAnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    HEAD_GROUP_SPEC_FIELD_NUMBER: _ClassVar[int]
    WORKER_GROUP_SPECS_FIELD_NUMBER: _ClassVar[int]
    RAY_VERSION_FIELD_NUMBER: _ClassVar[int]
    ENABLE_IN_TREE_AUTOSCALING_FIELD_NUMBER: _ClassVar[int]
    AUTOSCALER_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_FIELD_NUMBER: _ClassVar[int]
    MANAGED_BY_FIELD_NUMBER: _ClassVar[int]
    HEAD_SERVICE_ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    GCS_FAULT_TOLERANCE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    UPGRADE_STRATEGY_FIELD_NUMBER: _ClassVar[int]
    AUTH_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_SERVER_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    NETWORK_POLICY_FIELD_NUMBER: _ClassVar[int]
    TLS_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    head_group_spec: HeadGroupSpec
    worker_group_specs: _containers.RepeatedCompositeFieldContainer[WorkerGroupSpec]
    ray_version: str
    enable_in_tree_autoscaling: bool
    autoscaler_options: AutoscalerOptions
    suspend: bool
    managed_by: str
    head_service_annotations: _containers.ScalarMap[str, str]
    gcs_fault_tolerance_options: GcsFaultToleranceOptions
    upgrade_strategy: RayClusterUpgradeStrategy
    auth_options: AuthOptions
    history_server_options: HistoryServerOptions
    network_policy: NetworkPolicyConfig
    tls_options: TLSOptions
    def __init__(self, head_group_spec: _Optional[_Union[HeadGroupSpec, _Mapping]] = ..., worker_group_specs: _Optional[_Iterable[_Union[WorkerGroupSpec, _Mapping]]] = ..., ray_version: _Optional[str] = ..., enable_in_tree_autoscaling: bool = ..., autoscaler_options: _Optional[_Union[AutoscalerOptions, _Mapping]] = ..., suspend: bool = ..., managed_by: _Optional[str] = ..., head_service_annotations: _Optional[_Mapping[str, str]] = ..., gcs_fault_tolerance_options: _Optional[_Union[GcsFaultToleranceOptions, _Mapping]] = ..., upgrade_strategy: _Optional[_Union[RayClusterUpgradeStrategy, _Mapping]] = ..., auth_options: _Optional[_Union[AuthOptions, _Mapping]] = ..., history_server_options: _Optional[_Union[HistoryServerOptions, _Mapping]] = ..., network_policy: _Optional[_Union[NetworkPolicyConfig, _Mapping]] = ..., tls_options: _Optional[_Union[TLSOptions, _Mapping]] = ...) -> None: ...

class HeadGroupSpec(_message.Message):
    __slots__ = ("template", "ray_start_params", "resources", "labels", "head_service", "service_type", "enable_ingress", "ingress_options")
    class ResourcesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    RAY_START_PARAMS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    HEAD_SERVICE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_TYPE_FIELD_NUMBER: _ClassVar[int]
    ENABLE_INGRESS_FIELD_NUMBER: _ClassVar[int]
    INGRESS_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    template: _struct_pb2.Struct
    ray_start_params: _struct_pb2.Struct
    resources: _containers.ScalarMap[str, str]
    labels: _containers.ScalarMap[str, str]
    head_service: _struct_pb2.Struct
    service_type: str
    enable_ingress: bool
    ingress_options: IngressOptions
    def __init__(self, template: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., ray_start_params: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., resources: _Optional[_Mapping[str, str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., head_service: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., service_type: _Optional[str] = ..., enable_ingress: bool = ..., ingress_options: _Optional[_Union[IngressOptions, _Mapping]] = ...) -> None: ...

class IngressOptions(_message.Message):
    __slots__ = ("host", "path", "path_type", "tls")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_TYPE_FIELD_NUMBER: _ClassVar[int]
    TLS_FIELD_NUMBER: _ClassVar[int]
    host: str
    path: str
    path_type: str
    tls: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    def __init__(self, host: _Optional[str] = ..., path: _Optional[str] = ..., path_type: _Optional[str] = ..., tls: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ...) -> None: ...

class WorkerGroupSpec(_message.Message):
    __slots__ = ("group_name", "replicas", "min_replicas", "max_replicas", "num_of_hosts", "idle_timeout_seconds", "priority", "suspend", "resources", "labels", "ray_start_params", "template", "scale_strategy")
    class ResourcesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    GROUP_NAME_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MIN_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MAX_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    NUM_OF_HOSTS_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    RAY_START_PARAMS_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    SCALE_STRATEGY_FIELD_NUMBER: _ClassVar[int]
    group_name: str
    replicas: int
    min_replicas: int
    max_replicas: int
    num_of_hosts: int
    idle_timeout_seconds: int
    priority: int
    suspend: bool
    resources: _containers.ScalarMap[str, str]
    labels: _containers.ScalarMap[str, str]
    ray_start_params: _struct_pb2.Struct
    template: _struct_pb2.Struct
    scale_strategy: ScaleStrategy
    def __init__(self, group_name: _Optional[str] = ..., replicas: _Optional[int] = ..., min_replicas: _Optional[int] = ..., max_replicas: _Optional[int] = ..., num_of_hosts: _Optional[int] = ..., idle_timeout_seconds: _Optional[int] = ..., priority: _Optional[int] = ..., suspend: bool = ..., resources: _Optional[_Mapping[str, str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., ray_start_params: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., template: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., scale_strategy: _Optional[_Union[ScaleStrategy, _Mapping]] = ...) -> None: ...

class ScaleStrategy(_message.Message):
    __slots__ = ("workers_to_delete",)
    WORKERS_TO_DELETE_FIELD_NUMBER: _ClassVar[int]
    workers_to_delete: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, workers_to_delete: _Optional[_Iterable[str]] = ...) -> None: ...

class AutoscalerOptions(_message.Message):
    __slots__ = ("resources", "image", "image_pull_policy", "security_context", "idle_timeout_seconds", "upscaling_mode", "version", "env", "env_from", "volume_mounts", "command", "args")
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    IMAGE_PULL_POLICY_FIELD_NUMBER: _ClassVar[int]
    SECURITY_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    UPSCALING_MODE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    ENV_FROM_FIELD_NUMBER: _ClassVar[int]
    VOLUME_MOUNTS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    resources: _struct_pb2.Struct
    image: str
    image_pull_policy: str
    security_context: _struct_pb2.Struct
    idle_timeout_seconds: int
    upscaling_mode: str
    version: str
    env: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    env_from: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    volume_mounts: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    command: _containers.RepeatedScalarFieldContainer[str]
    args: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, resources: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., image: _Optional[str] = ..., image_pull_policy: _Optional[str] = ..., security_context: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., idle_timeout_seconds: _Optional[int] = ..., upscaling_mode: _Optional[str] = ..., version: _Optional[str] = ..., env: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ..., env_from: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ..., volume_mounts: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ..., command: _Optional[_Iterable[str]] = ..., args: _Optional[_Iterable[str]] = ...) -> None: ...

class GcsFaultToleranceOptions(_message.Message):
    __slots__ = ("backend", "redis_address", "redis_username", "redis_password", "external_storage_namespace", "storage")
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    REDIS_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REDIS_USERNAME_FIELD_NUMBER: _ClassVar[int]
    REDIS_PASSWORD_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_STORAGE_NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    backend: str
    redis_address: str
    redis_username: RedisCredential
    redis_password: RedisCredential
    external_storage_namespace: str
    storage: GcsEmbeddedStorage
    def __init__(self, backend: _Optional[str] = ..., redis_address: _Optional[str] = ..., redis_username: _Optional[_Union[RedisCredential, _Mapping]] = ..., redis_password: _Optional[_Union[RedisCredential, _Mapping]] = ..., external_storage_namespace: _Optional[str] = ..., storage: _Optional[_Union[GcsEmbeddedStorage, _Mapping]] = ...) -> None: ...

class RedisCredential(_message.Message):
    __slots__ = ("value", "value_from")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FROM_FIELD_NUMBER: _ClassVar[int]
    value: str
    value_from: _struct_pb2.Struct
    def __init__(self, value: _Optional[str] = ..., value_from: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class GcsEmbeddedStorage(_message.Message):
    __slots__ = ("claim_name", "size", "storage_class_name", "access_modes", "sub_path", "deletion_policy")
    CLAIM_NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    STORAGE_CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    ACCESS_MODES_FIELD_NUMBER: _ClassVar[int]
    SUB_PATH_FIELD_NUMBER: _ClassVar[int]
    DELETION_POLICY_FIELD_NUMBER: _ClassVar[int]
    claim_name: str
    size: str
    storage_class_name: str
    access_modes: _containers.RepeatedScalarFieldContainer[str]
    sub_path: str
    deletion_policy: str
    def __init__(self, claim_name: _Optional[str] = ..., size: _Optional[str] = ..., storage_class_name: _Optional[str] = ..., access_modes: _Optional[_Iterable[str]] = ..., sub_path: _Optional[str] = ..., deletion_policy: _Optional[str] = ...) -> None: ...

class RayClusterUpgradeStrategy(_message.Message):
    __slots__ = ("type",)
    TYPE_FIELD_NUMBER: _ClassVar[int]
    type: str
    def __init__(self, type: _Optional[str] = ...) -> None: ...

class AuthOptions(_message.Message):
    __slots__ = ("mode", "secret_name", "enable_k8s_token_auth")
    MODE_FIELD_NUMBER: _ClassVar[int]
    SECRET_NAME_FIELD_NUMBER: _ClassVar[int]
    ENABLE_K8S_TOKEN_AUTH_FIELD_NUMBER: _ClassVar[int]
    mode: str
    secret_name: str
    enable_k8s_token_auth: bool
    def __init__(self, mode: _Optional[str] = ..., secret_name: _Optional[str] = ..., enable_k8s_token_auth: bool = ...) -> None: ...

class HistoryServerOptions(_message.Message):
    __slots__ = ("collector_options",)
    COLLECTOR_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    collector_options: CollectorOptions
    def __init__(self, collector_options: _Optional[_Union[CollectorOptions, _Mapping]] = ...) -> None: ...

class CollectorOptions(_message.Message):
    __slots__ = ("image", "image_pull_policy", "resources", "env")
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    IMAGE_PULL_POLICY_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    image: str
    image_pull_policy: str
    resources: _struct_pb2.Struct
    env: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    def __init__(self, image: _Optional[str] = ..., image_pull_policy: _Optional[str] = ..., resources: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., env: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ...) -> None: ...

class NetworkPolicyConfig(_message.Message):
    __slots__ = ("mode", "head", "worker", "worker_groups")
    MODE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_GROUPS_FIELD_NUMBER: _ClassVar[int]
    mode: str
    head: NetworkPolicyRules
    worker: NetworkPolicyRules
    worker_groups: _containers.RepeatedCompositeFieldContainer[WorkerGroupNetworkPolicyRules]
    def __init__(self, mode: _Optional[str] = ..., head: _Optional[_Union[NetworkPolicyRules, _Mapping]] = ..., worker: _Optional[_Union[NetworkPolicyRules, _Mapping]] = ..., worker_groups: _Optional[_Iterable[_Union[WorkerGroupNetworkPolicyRules, _Mapping]]] = ...) -> None: ...

class NetworkPolicyRules(_message.Message):
    __slots__ = ("ingress_rules", "egress_rules")
    INGRESS_RULES_FIELD_NUMBER: _ClassVar[int]
    EGRESS_RULES_FIELD_NUMBER: _ClassVar[int]
    ingress_rules: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    egress_rules: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    def __init__(self, ingress_rules: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ..., egress_rules: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ...) -> None: ...

class WorkerGroupNetworkPolicyRules(_message.Message):
    __slots__ = ("group_name", "ingress_rules", "egress_rules")
    GROUP_NAME_FIELD_NUMBER: _ClassVar[int]
    INGRESS_RULES_FIELD_NUMBER: _ClassVar[int]
    EGRESS_RULES_FIELD_NUMBER: _ClassVar[int]
    group_name: str
    ingress_rules: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    egress_rules: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    def __init__(self, group_name: _Optional[str] = ..., ingress_rules: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ..., egress_rules: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ...) -> None: ...

class TLSOptions(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class RayClusterStatus(_message.Message):
    __slots__ = ("state", "reason", "desired_cpu", "desired_memory", "desired_gpu", "desired_tpu", "ready_worker_replicas", "available_worker_replicas", "desired_worker_replicas", "min_worker_replicas", "max_worker_replicas", "last_update_time", "state_transition_times", "endpoints", "head", "conditions", "observed_generation")
    class StateTransitionTimesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _timestamp_pb2.Timestamp
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
    class EndpointsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DESIRED_CPU_FIELD_NUMBER: _ClassVar[int]
    DESIRED_MEMORY_FIELD_NUMBER: _ClassVar[int]
    DESIRED_GPU_FIELD_NUMBER: _ClassVar[int]
    DESIRED_TPU_FIELD_NUMBER: _ClassVar[int]
    READY_WORKER_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_WORKER_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    DESIRED_WORKER_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MIN_WORKER_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MAX_WORKER_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    STATE_TRANSITION_TIMES_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    state: str
    reason: str
    desired_cpu: str
    desired_memory: str
    desired_gpu: str
    desired_tpu: str
    ready_worker_replicas: int
    available_worker_replicas: int
    desired_worker_replicas: int
    min_worker_replicas: int
    max_worker_replicas: int
    last_update_time: _timestamp_pb2.Timestamp
    state_transition_times: _containers.MessageMap[str, _timestamp_pb2.Timestamp]
    endpoints: _containers.ScalarMap[str, str]
    head: HeadInfo
    conditions: _containers.RepeatedCompositeFieldContainer[_meta_pb2.Condition]
    observed_generation: int
    def __init__(self, state: _Optional[str] = ..., reason: _Optional[str] = ..., desired_cpu: _Optional[str] = ..., desired_memory: _Optional[str] = ..., desired_gpu: _Optional[str] = ..., desired_tpu: _Optional[str] = ..., ready_worker_replicas: _Optional[int] = ..., available_worker_replicas: _Optional[int] = ..., desired_worker_replicas: _Optional[int] = ..., min_worker_replicas: _Optional[int] = ..., max_worker_replicas: _Optional[int] = ..., last_update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state_transition_times: _Optional[_Mapping[str, _timestamp_pb2.Timestamp]] = ..., endpoints: _Optional[_Mapping[str, str]] = ..., head: _Optional[_Union[HeadInfo, _Mapping]] = ..., conditions: _Optional[_Iterable[_Union[_meta_pb2.Condition, _Mapping]]] = ..., observed_generation: _Optional[int] = ...) -> None: ...

class HeadInfo(_message.Message):
    __slots__ = ("pod_ip", "pod_name", "service_ip", "service_name")
    POD_IP_FIELD_NUMBER: _ClassVar[int]
    POD_NAME_FIELD_NUMBER: _ClassVar[int]
    SERVICE_IP_FIELD_NUMBER: _ClassVar[int]
    SERVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    pod_ip: str
    pod_name: str
    service_ip: str
    service_name: str
    def __init__(self, pod_ip: _Optional[str] = ..., pod_name: _Optional[str] = ..., service_ip: _Optional[str] = ..., service_name: _Optional[str] = ...) -> None: ...
