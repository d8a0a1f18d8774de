from google.api import annotations_pb2 as _annotations_pb2
from google.api import field_behavior_pb2 as _field_behavior_pb2
from raygate.v2 import submission_pb2 as _submission_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateSubmissionRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "submission")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    submission: _submission_pb2.Submission
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., submission: _Optional[_Union[_submission_pb2.Submission, _Mapping]] = ...) -> None: ...

class CreateSubmissionResponse(_message.Message):
    __slots__ = ("submission",)
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    submission: _submission_pb2.Submission
    def __init__(self, submission: _Optional[_Union[_submission_pb2.Submission, _Mapping]] = ...) -> None: ...

class GetSubmissionRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "submission_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    submission_id: str
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., submission_id: _Optional[str] = ...) -> None: ...

class GetSubmissionResponse(_message.Message):
    __slots__ = ("submission",)
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    submission: _submission_pb2.Submission
    def __init__(self, submission: _Optional[_Union[_submission_pb2.Submission, _Mapping]] = ...) -> None: ...

class ListSubmissionsRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSubmissionsResponse(_message.Message):
    __slots__ = ("submissions", "next_page_token", "total_size")
    SUBMISSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    submissions: _containers.RepeatedCompositeFieldContainer[_submission_pb2.Submission]
    next_page_token: str
    total_size: int
    def __init__(self, submissions: _Optional[_Iterable[_Union[_submission_pb2.Submission, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ...) -> None: ...

class StopSubmissionRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "submission_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    submission_id: str
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., submission_id: _Optional[str] = ...) -> None: ...

class StopSubmissionResponse(_message.Message):
    __slots__ = ("submission",)
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    submission: _submission_pb2.Submission
    def __init__(self, submission: _Optional[_Union[_submission_pb2.Submission, _Mapping]] = ...) -> None: ...

class DeleteSubmissionRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "submission_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    submission_id: str
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., submission_id: _Optional[str] = ...) -> None: ...

class DeleteSubmissionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetSubmissionLogsRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "submission_id", "follow", "tail_lines", "offset")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_ID_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    TAIL_LINES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    submission_id: str
    follow: bool
    tail_lines: int
    offset: int
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., submission_id: _Optional[str] = ..., follow: bool = ..., tail_lines: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class GetSubmissionLogsResponse(_message.Message):
    __slots__ = ("data", "next_offset")
    DATA_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    next_offset: int
    def __init__(self, data: _Optional[bytes] = ..., next_offset: _Optional[int] = ...) -> None: ...

class GetNodeLogsRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "node", "file", "tail_lines", "offset")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    TAIL_LINES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    node: str
    file: str
    tail_lines: int
    offset: int
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., node: _Optional[str] = ..., file: _Optional[str] = ..., tail_lines: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class GetNodeLogsResponse(_message.Message):
    __slots__ = ("data", "next_offset")
    DATA_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    next_offset: int
    def __init__(self, data: _Optional[bytes] = ..., next_offset: _Optional[int] = ...) -> None: ...

class GetPackageRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "package_name", "job_name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    package_name: str
    job_name: str
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., package_name: _Optional[str] = ..., job_name: _Optional[str] = ...) -> None: ...

class GetPackageResponse(_message.Message):
    __slots__ = ("uri",)
    URI_FIELD_NUMBER: _ClassVar[int]
    uri: str
    def __init__(self, uri: _Optional[str] = ...) -> None: ...

class UploadPackageRequest(_message.Message):
    __slots__ = ("namespace", "cluster", "package_name", "size", "data", "job_name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    JOB_NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cluster: str
    package_name: str
    size: int
    data: bytes
    job_name: str
    def __init__(self, namespace: _Optional[str] = ..., cluster: _Optional[str] = ..., package_name: _Optional[str] = ..., size: _Optional[int] = ..., data: _Optional[bytes] = ..., job_name: _Optional[str] = ...) -> None: ...

class UploadPackageResponse(_message.Message):
    __slots__ = ("uri",)
    URI_FIELD_NUMBER: _ClassVar[int]
    uri: str
    def __init__(self, uri: _Optional[str] = ...) -> None: ...
