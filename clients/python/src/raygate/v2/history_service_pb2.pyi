import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from raygate.v2 import event_pb2 as _event_pb2
from raygate.v2 import history_pb2 as _history_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListHistoryRequest(_message.Message):
    __slots__ = ("namespace", "kind", "name", "since", "until", "filter", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    kind: str
    name: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    filter: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., filter: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListHistoryResponse(_message.Message):
    __slots__ = ("records", "next_page_token")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[_history_pb2.HistoryRecord]
    next_page_token: str
    def __init__(self, records: _Optional[_Iterable[_Union[_history_pb2.HistoryRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetHistoryRequest(_message.Message):
    __slots__ = ("namespace", "kind", "name", "attempt", "uid")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    kind: str
    name: str
    attempt: int
    uid: str
    def __init__(self, namespace: _Optional[str] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., attempt: _Optional[int] = ..., uid: _Optional[str] = ...) -> None: ...

class GetHistoryResponse(_message.Message):
    __slots__ = ("record", "object", "ray_cluster", "events", "pods", "ray_job", "node_logs")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    RAY_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    RAY_JOB_FIELD_NUMBER: _ClassVar[int]
    NODE_LOGS_FIELD_NUMBER: _ClassVar[int]
    record: _history_pb2.HistoryRecord
    object: _struct_pb2.Struct
    ray_cluster: _struct_pb2.Struct
    events: _containers.RepeatedCompositeFieldContainer[_event_pb2.Event]
    pods: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    ray_job: _struct_pb2.Struct
    node_logs: _containers.RepeatedCompositeFieldContainer[_history_pb2.NodeLog]
    def __init__(self, record: _Optional[_Union[_history_pb2.HistoryRecord, _Mapping]] = ..., object: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., ray_cluster: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., events: _Optional[_Iterable[_Union[_event_pb2.Event, _Mapping]]] = ..., pods: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ..., ray_job: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., node_logs: _Optional[_Iterable[_Union[_history_pb2.NodeLog, _Mapping]]] = ...) -> None: ...

class GetUsageRequest(_message.Message):
    __slots__ = ("namespace", "month", "group_by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MONTH_FIELD_NUMBER: _ClassVar[int]
    GROUP_BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    month: str
    group_by: str
    def __init__(self, namespace: _Optional[str] = ..., month: _Optional[str] = ..., group_by: _Optional[str] = ...) -> None: ...

class GetUsageResponse(_message.Message):
    __slots__ = ("namespace", "month", "items")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MONTH_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    month: str
    items: _containers.RepeatedCompositeFieldContainer[_history_pb2.Usage]
    def __init__(self, namespace: _Optional[str] = ..., month: _Optional[str] = ..., items: _Optional[_Iterable[_Union[_history_pb2.Usage, _Mapping]]] = ...) -> None: ...
