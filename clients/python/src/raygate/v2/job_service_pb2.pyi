import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.api import field_behavior_pb2 as _field_behavior_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from raygate.v2 import diagnosis_pb2 as _diagnosis_pb2
from raygate.v2 import event_pb2 as _event_pb2
from raygate.v2 import job_pb2 as _job_pb2
from raygate.v2 import meta_pb2 as _meta_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateJobRequest(_message.Message):
    __slots__ = ("namespace", "job", "request_id", "validate_only")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    job: _job_pb2.RayJob
    request_id: str
    validate_only: bool
    def __init__(self, namespace: _Optional[str] = ..., job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ..., request_id: _Optional[str] = ..., validate_only: bool = ...) -> None: ...

class CreateJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "view")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    view: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., view: _Optional[str] = ...) -> None: ...

class GetJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token", "label_selector", "filter", "order_by", "view")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    label_selector: str
    filter: str
    order_by: str
    view: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., label_selector: _Optional[str] = ..., filter: _Optional[str] = ..., order_by: _Optional[str] = ..., view: _Optional[str] = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ("api_version", "kind", "metadata", "items", "next_page_token", "total_size")
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    api_version: str
    kind: str
    metadata: _meta_pb2.ListMeta
    items: _containers.RepeatedCompositeFieldContainer[_job_pb2.RayJob]
    next_page_token: str
    total_size: int
    def __init__(self, api_version: _Optional[str] = ..., kind: _Optional[str] = ..., metadata: _Optional[_Union[_meta_pb2.ListMeta, _Mapping]] = ..., items: _Optional[_Iterable[_Union[_job_pb2.RayJob, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ...) -> None: ...

class UpdateJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "job", "update_mask", "validate_only", "etag")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    job: _job_pb2.RayJob
    update_mask: _field_mask_pb2.FieldMask
    validate_only: bool
    etag: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., validate_only: bool = ..., etag: _Optional[str] = ...) -> None: ...

class UpdateJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...

class ReplaceJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "job", "validate_only", "allow_overwrite", "etag")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    ALLOW_OVERWRITE_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    job: _job_pb2.RayJob
    validate_only: bool
    allow_overwrite: bool
    etag: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ..., validate_only: bool = ..., allow_overwrite: bool = ..., etag: _Optional[str] = ...) -> None: ...

class ReplaceJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...

class ApplyJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "job", "field_manager", "force", "validate_only", "etag")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    FIELD_MANAGER_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    job: _job_pb2.RayJob
    field_manager: str
    force: bool
    validate_only: bool
    etag: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ..., field_manager: _Optional[str] = ..., force: bool = ..., validate_only: bool = ..., etag: _Optional[str] = ...) -> None: ...

class ApplyJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...

class DeleteJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "uid", "etag", "propagation", "allow_missing", "validate_only")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    PROPAGATION_FIELD_NUMBER: _ClassVar[int]
    ALLOW_MISSING_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    uid: str
    etag: str
    propagation: str
    allow_missing: bool
    validate_only: bool
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[str] = ..., etag: _Optional[str] = ..., propagation: _Optional[str] = ..., allow_missing: bool = ..., validate_only: bool = ...) -> None: ...

class DeleteJobResponse(_message.Message):
    __slots__ = ("uid",)
    UID_FIELD_NUMBER: _ClassVar[int]
    uid: str
    def __init__(self, uid: _Optional[str] = ...) -> None: ...

class WatchJobsRequest(_message.Message):
    __slots__ = ("namespace", "label_selector", "filter", "view", "resume_token", "skip_initial")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SKIP_INITIAL_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    label_selector: str
    filter: str
    view: str
    resume_token: str
    skip_initial: bool
    def __init__(self, namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., filter: _Optional[str] = ..., view: _Optional[str] = ..., resume_token: _Optional[str] = ..., skip_initial: bool = ...) -> None: ...

class WatchJobsResponse(_message.Message):
    __slots__ = ("type", "job", "resume_token", "stale_seconds")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    type: str
    job: _job_pb2.RayJob
    resume_token: str
    stale_seconds: int
    def __init__(self, type: _Optional[str] = ..., job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ..., resume_token: _Optional[str] = ..., stale_seconds: _Optional[int] = ...) -> None: ...

class WaitJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "timeout")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FOR_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    timeout: _duration_pb2.Duration
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., **kwargs) -> None: ...

class WaitJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...

class ListJobEventsRequest(_message.Message):
    __slots__ = ("namespace", "name", "include_children", "page_size")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_CHILDREN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    include_children: bool
    page_size: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., include_children: bool = ..., page_size: _Optional[int] = ...) -> None: ...

class ListJobEventsResponse(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_event_pb2.Event]
    def __init__(self, events: _Optional[_Iterable[_Union[_event_pb2.Event, _Mapping]]] = ...) -> None: ...

class DiagnoseJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "attempt", "uid")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    attempt: int
    uid: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., attempt: _Optional[int] = ..., uid: _Optional[str] = ...) -> None: ...

class DiagnoseJobResponse(_message.Message):
    __slots__ = ("ready", "findings")
    READY_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    findings: _containers.RepeatedCompositeFieldContainer[_diagnosis_pb2.Finding]
    def __init__(self, ready: bool = ..., findings: _Optional[_Iterable[_Union[_diagnosis_pb2.Finding, _Mapping]]] = ...) -> None: ...

class GetJobLogsRequest(_message.Message):
    __slots__ = ("namespace", "name", "source", "follow", "tail_lines", "offset", "attempt", "uid", "file", "node")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    TAIL_LINES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    source: str
    follow: bool
    tail_lines: int
    offset: int
    attempt: int
    uid: str
    file: str
    node: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., source: _Optional[str] = ..., follow: bool = ..., tail_lines: _Optional[int] = ..., offset: _Optional[int] = ..., attempt: _Optional[int] = ..., uid: _Optional[str] = ..., file: _Optional[str] = ..., node: _Optional[str] = ...) -> None: ...

class GetJobLogsResponse(_message.Message):
    __slots__ = ("data", "next_offset")
    DATA_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    next_offset: int
    def __init__(self, data: _Optional[bytes] = ..., next_offset: _Optional[int] = ...) -> None: ...

class StopJobRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class StopJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...

class SuspendJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "validate_only", "etag")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    validate_only: bool
    etag: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., validate_only: bool = ..., etag: _Optional[str] = ...) -> None: ...

class SuspendJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...

class ResumeJobRequest(_message.Message):
    __slots__ = ("namespace", "name", "validate_only", "etag")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    validate_only: bool
    etag: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., validate_only: bool = ..., etag: _Optional[str] = ...) -> None: ...

class ResumeJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.RayJob
    def __init__(self, job: _Optional[_Union[_job_pb2.RayJob, _Mapping]] = ...) -> None: ...
