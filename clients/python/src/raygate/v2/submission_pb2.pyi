import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Submission(_message.Message):
    __slots__ = ("submission_id", "entrypoint", "metadata", "runtime_env", "entrypoint_num_cpus", "entrypoint_num_gpus", "entrypoint_memory", "entrypoint_resources", "job_id", "type", "status", "message", "error_type", "start_time", "end_time", "driver_node_id", "driver_exit_code")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class EntrypointResourcesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    SUBMISSION_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRYPOINT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_ENV_FIELD_NUMBER: _ClassVar[int]
    ENTRYPOINT_NUM_CPUS_FIELD_NUMBER: _ClassVar[int]
    ENTRYPOINT_NUM_GPUS_FIELD_NUMBER: _ClassVar[int]
    ENTRYPOINT_MEMORY_FIELD_NUMBER: _ClassVar[int]
    ENTRYPOINT_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_TYPE_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    DRIVER_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    DRIVER_EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    submission_id: str
    entrypoint: str
    metadata: _containers.ScalarMap[str, str]
    runtime_env: _struct_pb2.Struct
    entrypoint_num_cpus: float
    entrypoint_num_gpus: float
    entrypoint_memory: int
    entrypoint_resources: _containers.ScalarMap[str, float]
    job_id: str
    type: str
    status: str
    message: str
    error_type: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    driver_node_id: str
    driver_exit_code: int
    def __init__(self, submission_id: _Optional[str] = ..., entrypoint: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., runtime_env: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., entrypoint_num_cpus: _Optional[float] = ..., entrypoint_num_gpus: _Optional[float] = ..., entrypoint_memory: _Optional[int] = ..., entrypoint_resources: _Optional[_Mapping[str, float]] = ..., job_id: _Optional[str] = ..., type: _Optional[str] = ..., status: _Optional[str] = ..., message: _Optional[str] = ..., error_type: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., driver_node_id: _Optional[str] = ..., driver_exit_code: _Optional[int] = ...) -> None: ...
