import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from raygate.v2 import cluster_pb2 as _cluster_pb2
from raygate.v2 import meta_pb2 as _meta_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RayService(_message.Message):
    __slots__ = ("api_version", "kind", "metadata", "spec", "status")
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    api_version: str
    kind: str
    metadata: _meta_pb2.ObjectMeta
    spec: RayServiceSpec
    status: RayServiceStatuses
    def __init__(self, api_version: _Optional[str] = ..., kind: _Optional[str] = ..., metadata: _Optional[_Union[_meta_pb2.ObjectMeta, _Mapping]] = ..., spec: _Optional[_Union[RayServiceSpec, _Mapping]] = ..., status: _Optional[_Union[RayServiceStatuses, _Mapping]] = ...) -> None: ...

class RayServiceSpec(_message.Message):
    __slots__ = ("ray_cluster_config", "serve_config_v2", "serve_service", "upgrade_strategy", "ray_cluster_deletion_delay_seconds", "service_unhealthy_second_threshold", "deployment_unhealthy_second_threshold", "managed_by", "exclude_head_pod_from_serve_svc", "suspend")
    RAY_CLUSTER_CONFIG_FIELD_NUMBER: _ClassVar[int]
    SERVE_CONFIG_V2_FIELD_NUMBER: _ClassVar[int]
    SERVE_SERVICE_FIELD_NUMBER: _ClassVar[int]
    UPGRADE_STRATEGY_FIELD_NUMBER: _ClassVar[int]
    RAY_CLUSTER_DELETION_DELAY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_UNHEALTHY_SECOND_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    DEPLOYMENT_UNHEALTHY_SECOND_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    MANAGED_BY_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_HEAD_POD_FROM_SERVE_SVC_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_FIELD_NUMBER: _ClassVar[int]
    ray_cluster_config: _cluster_pb2.RayClusterSpec
    serve_config_v2: str
    serve_service: _struct_pb2.Struct
    upgrade_strategy: RayServiceUpgradeStrategy
    ray_cluster_deletion_delay_seconds: int
    service_unhealthy_second_threshold: int
    deployment_unhealthy_second_threshold: int
    managed_by: str
    exclude_head_pod_from_serve_svc: bool
    suspend: bool
    def __init__(self, ray_cluster_config: _Optional[_Union[_cluster_pb2.RayClusterSpec, _Mapping]] = ..., serve_config_v2: _Optional[str] = ..., serve_service: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., upgrade_strategy: _Optional[_Union[RayServiceUpgradeStrategy, _Mapping]] = ..., ray_cluster_deletion_delay_seconds: _Optional[int] = ..., service_unhealthy_second_threshold: _Optional[int] = ..., deployment_unhealthy_second_threshold: _Optional[int] = ..., managed_by: _Optional[str] = ..., exclude_head_pod_from_serve_svc: bool = ..., suspend: bool = ...) -> None: ...

class RayServiceUpgradeStrategy(_message.Message):
    __slots__ = ("type", "cluster_upgrade_options")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_UPGRADE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    type: str
    cluster_upgrade_options: ClusterUpgradeOptions
    def __init__(self, type: _Optional[str] = ..., cluster_upgrade_options: _Optional[_Union[ClusterUpgradeOptions, _Mapping]] = ...) -> None: ...

class ClusterUpgradeOptions(_message.Message):
    __slots__ = ("max_surge_percent", "step_size_percent", "interval_seconds", "gateway_class_name")
    MAX_SURGE_PERCENT_FIELD_NUMBER: _ClassVar[int]
    STEP_SIZE_PERCENT_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    GATEWAY_CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    max_surge_percent: int
    step_size_percent: int
    interval_seconds: int
    gateway_class_name: str
    def __init__(self, max_surge_percent: _Optional[int] = ..., step_size_percent: _Optional[int] = ..., interval_seconds: _Optional[int] = ..., gateway_class_name: _Optional[str] = ...) -> None: ...

class RayServiceStatuses(_message.Message):
    __slots__ = ("conditions", "last_update_time", "service_status", "active_service_status", "pending_service_status", "num_serve_endpoints", "observed_generation")
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    LAST_UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    SERVICE_STATUS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_SERVICE_STATUS_FIELD_NUMBER: _ClassVar[int]
    PENDING_SERVICE_STATUS_FIELD_NUMBER: _ClassVar[int]
    NUM_SERVE_ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    conditions: _containers.RepeatedCompositeFieldContainer[_meta_pb2.Condition]
    last_update_time: _timestamp_pb2.Timestamp
    service_status: str
    active_service_status: RayServiceStatus
    pending_service_status: RayServiceStatus
    num_serve_endpoints: int
    observed_generation: int
    def __init__(self, conditions: _Optional[_Iterable[_Union[_meta_pb2.Condition, _Mapping]]] = ..., last_update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., service_status: _Optional[str] = ..., active_service_status: _Optional[_Union[RayServiceStatus, _Mapping]] = ..., pending_service_status: _Optional[_Union[RayServiceStatus, _Mapping]] = ..., num_serve_endpoints: _Optional[int] = ..., observed_generation: _Optional[int] = ...) -> None: ...

class RayServiceStatus(_message.Message):
    __slots__ = ("ray_cluster_name", "ray_cluster_status", "application_statuses", "target_capacity", "traffic_routed_percent", "last_traffic_migrated_time")
    class ApplicationStatusesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: AppStatus
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[AppStatus, _Mapping]] = ...) -> None: ...
    RAY_CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    RAY_CLUSTER_STATUS_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_STATUSES_FIELD_NUMBER: _ClassVar[int]
    TARGET_CAPACITY_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_ROUTED_PERCENT_FIELD_NUMBER: _ClassVar[int]
    LAST_TRAFFIC_MIGRATED_TIME_FIELD_NUMBER: _ClassVar[int]
    ray_cluster_name: str
    ray_cluster_status: _cluster_pb2.RayClusterStatus
    application_statuses: _containers.MessageMap[str, AppStatus]
    target_capacity: int
    traffic_routed_percent: int
    last_traffic_migrated_time: _timestamp_pb2.Timestamp
    def __init__(self, ray_cluster_name: _Optional[str] = ..., ray_cluster_status: _Optional[_Union[_cluster_pb2.RayClusterStatus, _Mapping]] = ..., application_statuses: _Optional[_Mapping[str, AppStatus]] = ..., target_capacity: _Optional[int] = ..., traffic_routed_percent: _Optional[int] = ..., last_traffic_migrated_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class AppStatus(_message.Message):
    __slots__ = ("status", "message", "serve_deployment_statuses")
    class ServeDeploymentStatusesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ServeDeploymentStatus
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ServeDeploymentStatus, _Mapping]] = ...) -> None: ...
    STATUS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SERVE_DEPLOYMENT_STATUSES_FIELD_NUMBER: _ClassVar[int]
    status: str
    message: str
    serve_deployment_statuses: _containers.MessageMap[str, ServeDeploymentStatus]
    def __init__(self, status: _Optional[str] = ..., message: _Optional[str] = ..., serve_deployment_statuses: _Optional[_Mapping[str, ServeDeploymentStatus]] = ...) -> None: ...

class ServeDeploymentStatus(_message.Message):
    __slots__ = ("status", "message")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    status: str
    message: str
    def __init__(self, status: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...
