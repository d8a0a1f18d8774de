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

class RayJob(_message.Message):
    __slots__ = ("api_version", "kind", "metadata", "spec", "status")
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    api_version: str
    kind: str
    metadata: _meta_pb2.ObjectMeta
    spec: RayJobSpec
    status: RayJobStatus
    def __init__(self, api_version: _Optional[str] = ..., kind: _Optional[str] = ..., metadata: _Optional[_Union[_meta_pb2.ObjectMeta, _Mapping]] = ..., spec: _Optional[_Union[RayJobSpec, _Mapping]] = ..., status: _Optional[_Union[RayJobStatus, _Mapping]] = ...) -> None: ...

class RayJobSpec(_message.Message):
    __slots__ = ("entrypoint", "ray_cluster_spec", "cluster_selector", "submission_mode", "submitter_pod_template", "submitter_config", "backoff_limit", "active_deadline_seconds", "pre_running_deadline_seconds", "ttl_seconds_after_finished", "shutdown_after_job_finishes", "deletion_strategy", "suspend", "managed_by", "metadata", "runtime_env_yaml", "job_id", "entrypoint_num_cpus", "entrypoint_num_gpus", "entrypoint_resources")
    class ClusterSelectorEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENTRYPOINT_FIELD_NUMBER: _ClassVar[int]
    RAY_CLUSTER_SPEC_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_MODE_FIELD_NUMBER: _ClassVar[int]
    SUBMITTER_POD_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    SUBMITTER_CONFIG_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_LIMIT_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_DEADLINE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PRE_RUNNING_DEADLINE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TTL_SECONDS_AFTER_FINISHED_FIELD_NUMBER: _ClassVar[int]
    SHUTDOWN_AFTER_JOB_FINISHES_FIELD_NUMBER: _ClassVar[int]
    DELETION_STRATEGY_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_FIELD_NUMBER: _ClassVar[int]
    MANAGED_BY_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_ENV_YAML_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRYPOINT_NUM_CPUS_FIELD_NUMBER: _ClassVar[int]
    ENTRYPOINT_NUM_GPUS_FIELD_NUMBER: _ClassVar[int]
    ENTRYPOINT_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    entrypoint: str
    ray_cluster_spec: _cluster_pb2.RayClusterSpec
    cluster_selector: _containers.ScalarMap[str, str]
    submission_mode: str
    submitter_pod_template: _struct_pb2.Struct
    submitter_config: SubmitterConfig
    backoff_limit: int
    active_deadline_seconds: int
    pre_running_deadline_seconds: int
    ttl_seconds_after_finished: int
    shutdown_after_job_finishes: bool
    deletion_strategy: DeletionStrategy
    suspend: bool
    managed_by: str
    metadata: _containers.ScalarMap[str, str]
    runtime_env_yaml: str
    job_id: str
    entrypoint_num_cpus: float
    entrypoint_num_gpus: float
    entrypoint_resources: str
    def __init__(self, entrypoint: _Optional[str] = ..., ray_cluster_spec: _Optional[_Union[_cluster_pb2.RayClusterSpec, _Mapping]] = ..., cluster_selector: _Optional[_Mapping[str, str]] = ..., submission_mode: _Optional[str] = ..., submitter_pod_template: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., submitter_config: _Optional[_Union[SubmitterConfig, _Mapping]] = ..., backoff_limit: _Optional[int] = ..., active_deadline_seconds: _Optional[int] = ..., pre_running_deadline_seconds: _Optional[int] = ..., ttl_seconds_after_finished: _Optional[int] = ..., shutdown_after_job_finishes: bool = ..., deletion_strategy: _Optional[_Union[DeletionStrategy, _Mapping]] = ..., suspend: bool = ..., managed_by: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., runtime_env_yaml: _Optional[str] = ..., job_id: _Optional[str] = ..., entrypoint_num_cpus: _Optional[float] = ..., entrypoint_num_gpus: _Optional[float] = ..., entrypoint_resources: _Optional[str] = ...) -> None: ...

class SubmitterConfig(_message.Message):
    __slots__ = ("backoff_limit",)
    BACKOFF_LIMIT_FIELD_NUMBER: _ClassVar[int]
    backoff_limit: int
    def __init__(self, backoff_limit: _Optional[int] = ...) -> None: ...

class DeletionStrategy(_message.Message):
    __slots__ = ("on_success", "on_failure", "deletion_rules")
    ON_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    ON_FAILURE_FIELD_NUMBER: _ClassVar[int]
    DELETION_RULES_FIELD_NUMBER: _ClassVar[int]
    on_success: DeletionPolicy
    on_failure: DeletionPolicy
    deletion_rules: _containers.RepeatedCompositeFieldContainer[DeletionRule]
    def __init__(self, on_success: _Optional[_Union[DeletionPolicy, _Mapping]] = ..., on_failure: _Optional[_Union[DeletionPolicy, _Mapping]] = ..., deletion_rules: _Optional[_Iterable[_Union[DeletionRule, _Mapping]]] = ...) -> None: ...

class DeletionPolicy(_message.Message):
    __slots__ = ("policy",)
    POLICY_FIELD_NUMBER: _ClassVar[int]
    policy: str
    def __init__(self, policy: _Optional[str] = ...) -> None: ...

class DeletionRule(_message.Message):
    __slots__ = ("policy", "condition")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    policy: str
    condition: DeletionCondition
    def __init__(self, policy: _Optional[str] = ..., condition: _Optional[_Union[DeletionCondition, _Mapping]] = ...) -> None: ...

class DeletionCondition(_message.Message):
    __slots__ = ("job_status", "job_deployment_status", "ttl_seconds")
    JOB_STATUS_FIELD_NUMBER: _ClassVar[int]
    JOB_DEPLOYMENT_STATUS_FIELD_NUMBER: _ClassVar[int]
    TTL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    job_status: str
    job_deployment_status: str
    ttl_seconds: int
    def __init__(self, job_status: _Optional[str] = ..., job_deployment_status: _Optional[str] = ..., ttl_seconds: _Optional[int] = ...) -> None: ...

class RayJobStatus(_message.Message):
    __slots__ = ("ray_job_info", "job_id", "ray_cluster_name", "dashboard_url", "job_status", "job_deployment_status", "reason", "message", "start_time", "end_time", "succeeded", "failed", "ray_cluster_status", "job_status_check_failure_start_time", "observed_generation", "conditions", "previous_attempts")
    RAY_JOB_INFO_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    RAY_CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    DASHBOARD_URL_FIELD_NUMBER: _ClassVar[int]
    JOB_STATUS_FIELD_NUMBER: _ClassVar[int]
    JOB_DEPLOYMENT_STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    RAY_CLUSTER_STATUS_FIELD_NUMBER: _ClassVar[int]
    JOB_STATUS_CHECK_FAILURE_START_TIME_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ray_job_info: RayJobStatusInfo
    job_id: str
    ray_cluster_name: str
    dashboard_url: str
    job_status: str
    job_deployment_status: str
    reason: str
    message: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    succeeded: int
    failed: int
    ray_cluster_status: _cluster_pb2.RayClusterStatus
    job_status_check_failure_start_time: _timestamp_pb2.Timestamp
    observed_generation: int
    conditions: _containers.RepeatedCompositeFieldContainer[_meta_pb2.Condition]
    previous_attempts: _containers.RepeatedCompositeFieldContainer[RayJobAttempt]
    def __init__(self, ray_job_info: _Optional[_Union[RayJobStatusInfo, _Mapping]] = ..., job_id: _Optional[str] = ..., ray_cluster_name: _Optional[str] = ..., dashboard_url: _Optional[str] = ..., job_status: _Optional[str] = ..., job_deployment_status: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., succeeded: _Optional[int] = ..., failed: _Optional[int] = ..., ray_cluster_status: _Optional[_Union[_cluster_pb2.RayClusterStatus, _Mapping]] = ..., job_status_check_failure_start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., observed_generation: _Optional[int] = ..., conditions: _Optional[_Iterable[_Union[_meta_pb2.Condition, _Mapping]]] = ..., previous_attempts: _Optional[_Iterable[_Union[RayJobAttempt, _Mapping]]] = ...) -> None: ...

class RayJobAttempt(_message.Message):
    __slots__ = ("attempt", "ray_cluster_name", "job_id", "start_time", "end_time", "reason")
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    RAY_CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    ray_cluster_name: str
    job_id: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, attempt: _Optional[int] = ..., ray_cluster_name: _Optional[str] = ..., job_id: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class RayJobStatusInfo(_message.Message):
    __slots__ = ("start_time", "end_time")
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    def __init__(self, start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
