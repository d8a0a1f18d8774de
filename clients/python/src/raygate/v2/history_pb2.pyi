import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HistoryRecord(_message.Message):
    __slots__ = ("kind", "namespace", "name", "uid", "attempt", "create_time", "start_time", "end_time", "result", "reason", "message", "job_id", "cluster", "queue", "has_log", "log_bytes", "lost")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    HAS_LOG_FIELD_NUMBER: _ClassVar[int]
    LOG_BYTES_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    kind: str
    namespace: str
    name: str
    uid: str
    attempt: int
    create_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    result: str
    reason: str
    message: str
    job_id: str
    cluster: str
    queue: str
    has_log: bool
    log_bytes: int
    lost: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[str] = ..., attempt: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., result: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., job_id: _Optional[str] = ..., cluster: _Optional[str] = ..., queue: _Optional[str] = ..., has_log: bool = ..., log_bytes: _Optional[int] = ..., lost: _Optional[_Iterable[str]] = ...) -> None: ...

class NodeLog(_message.Message):
    __slots__ = ("node", "ip", "pod", "head", "file", "bytes")
    NODE_FIELD_NUMBER: _ClassVar[int]
    IP_FIELD_NUMBER: _ClassVar[int]
    POD_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    node: str
    ip: str
    pod: str
    head: bool
    file: str
    bytes: int
    def __init__(self, node: _Optional[str] = ..., ip: _Optional[str] = ..., pod: _Optional[str] = ..., head: bool = ..., file: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("queue", "owner", "clusters", "cpu_seconds", "gpu_seconds", "tpu_seconds", "memory_gib_seconds")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    CPU_SECONDS_FIELD_NUMBER: _ClassVar[int]
    GPU_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TPU_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_GIB_SECONDS_FIELD_NUMBER: _ClassVar[int]
    queue: str
    owner: str
    clusters: int
    cpu_seconds: float
    gpu_seconds: float
    tpu_seconds: float
    memory_gib_seconds: float
    def __init__(self, queue: _Optional[str] = ..., owner: _Optional[str] = ..., clusters: _Optional[int] = ..., cpu_seconds: _Optional[float] = ..., gpu_seconds: _Optional[float] = ..., tpu_seconds: _Optional[float] = ..., memory_gib_seconds: _Optional[float] = ...) -> None: ...
