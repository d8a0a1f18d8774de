import datetime

from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from raygate.v2 import job_pb2 as _job_pb2
from raygate.v2 import meta_pb2 as _meta_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RayCronJob(_message.Message):
    __slots__ = ("api_version", "kind", "metadata", "spec", "status")
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    api_version: str
    kind: str
    metadata: _meta_pb2.ObjectMeta
    spec: RayCronJobSpec
    status: RayCronJobStatus
    def __init__(self, api_version: _Optional[str] = ..., kind: _Optional[str] = ..., metadata: _Optional[_Union[_meta_pb2.ObjectMeta, _Mapping]] = ..., spec: _Optional[_Union[RayCronJobSpec, _Mapping]] = ..., status: _Optional[_Union[RayCronJobStatus, _Mapping]] = ...) -> None: ...

class RayCronJobSpec(_message.Message):
    __slots__ = ("schedule", "time_zone", "job_template", "suspend")
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    JOB_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_FIELD_NUMBER: _ClassVar[int]
    schedule: str
    time_zone: str
    job_template: _job_pb2.RayJobSpec
    suspend: bool
    def __init__(self, schedule: _Optional[str] = ..., time_zone: _Optional[str] = ..., job_template: _Optional[_Union[_job_pb2.RayJobSpec, _Mapping]] = ..., suspend: bool = ...) -> None: ...

class RayCronJobStatus(_message.Message):
    __slots__ = ("last_schedule_time", "next_schedule_time", "conditions", "observed_generation")
    LAST_SCHEDULE_TIME_FIELD_NUMBER: _ClassVar[int]
    NEXT_SCHEDULE_TIME_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    last_schedule_time: _timestamp_pb2.Timestamp
    next_schedule_time: _timestamp_pb2.Timestamp
    conditions: _containers.RepeatedCompositeFieldContainer[_meta_pb2.Condition]
    observed_generation: int
    def __init__(self, last_schedule_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_schedule_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., conditions: _Optional[_Iterable[_Union[_meta_pb2.Condition, _Mapping]]] = ..., observed_generation: _Optional[int] = ...) -> None: ...
