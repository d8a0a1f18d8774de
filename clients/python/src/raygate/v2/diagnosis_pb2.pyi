from raygate.v2 import event_pb2 as _event_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Finding(_message.Message):
    __slots__ = ("severity", "reason", "message", "object", "remedy")
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    severity: str
    reason: str
    message: str
    object: _event_pb2.ObjectReference
    remedy: str
    def __init__(self, severity: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., object: _Optional[_Union[_event_pb2.ObjectReference, _Mapping]] = ..., remedy: _Optional[str] = ...) -> None: ...
