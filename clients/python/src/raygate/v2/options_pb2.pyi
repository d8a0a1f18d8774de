from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class TextFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TEXT_FORMAT_UNSPECIFIED: _ClassVar[TextFormat]
    TEXT_FORMAT_QUANTITY: _ClassVar[TextFormat]
    TEXT_FORMAT_VERSION: _ClassVar[TextFormat]
TEXT_FORMAT_UNSPECIFIED: TextFormat
TEXT_FORMAT_QUANTITY: TextFormat
TEXT_FORMAT_VERSION: TextFormat
TEXT_FORMAT_FIELD_NUMBER: _ClassVar[int]
text_format: _descriptor.FieldDescriptor
