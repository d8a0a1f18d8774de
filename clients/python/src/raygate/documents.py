"""Kubernetes manifests from messages, and messages from manifests.

Kubernetes documents inside messages, such as a Pod template, are google.protobuf.Struct, whose only number is a float. Kubernetes has no floats: what
is whole in a Struct was an integer. So to_dict returns int for whole numbers, where google.protobuf.json_format returns 6379.0 for a port and the
text "3" for an int64.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

from google.protobuf import duration_pb2, field_mask_pb2, json_format, struct_pb2, timestamp_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)

_STRUCT = struct_pb2.Struct.DESCRIPTOR.full_name
# What stands as text in manifests.
_TEXTS = {kind.DESCRIPTOR.full_name for kind in (timestamp_pb2.Timestamp, duration_pb2.Duration)}
_MASK = field_mask_pb2.FieldMask.DESCRIPTOR.full_name

# Beyond this a float skips whole numbers.
_LARGEST = 2**53


def to_dict(message: Message) -> dict[str, Any]:
    """Return a message as the manifest that kubectl would show: its JSON names, integers as int, times as RFC 3339 text.

    A Struct becomes the document in it.
    """
    if isinstance(message, struct_pb2.Struct):
        return {name: _plain(value) for name, value in message.fields.items()}
    manifest: dict[str, Any] = {}
    field: Any  # the stubs of protobuf lack names that it has
    for field, value in message.ListFields():
        if _is_map(field):
            of = field.message_type.fields_by_name["value"]
            manifest[field.json_name] = {str(key): _one(of, value[key]) for key in value}
        elif _is_list(field):
            manifest[field.json_name] = [_one(field, item) for item in value]
        else:
            manifest[field.json_name] = _one(field, value)
    return manifest


def from_dict(kind: type[M], manifest: Mapping[str, Any]) -> M:
    """Return the message of a kind, such as cluster_pb2.RayCluster, that a manifest describes. kind may be Struct.

    Raises google.protobuf.json_format.ParseError for a field that the message does not have, or of another type, and ValueError, with the path,
    for an integer that a Struct cannot hold.
    """
    _check(kind.DESCRIPTOR, manifest, "")
    return json_format.ParseDict(manifest, kind())


def struct(document: Mapping[str, Any]) -> struct_pb2.Struct:
    """Return a Kubernetes document, such as a Pod template, as the fields of messages take it."""
    return from_dict(struct_pb2.Struct, document)


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a value of JSON or YAML is an object."""
    return isinstance(value, dict)


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))


def _one(field: Any, value: Any) -> Any:
    if field.message_type is None:
        return value
    if field.message_type.full_name in _TEXTS:
        return value.ToJsonString()
    if field.message_type.full_name == _MASK:
        return ",".join(value.paths)  # they have the names of manifests already
    return to_dict(value)


def _plain(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "struct_value":
        return to_dict(value.struct_value)
    if kind == "list_value":
        return [_plain(item) for item in value.list_value.values]
    if kind in ("string_value", "bool_value"):
        return getattr(value, kind)
    return None


def _check(of: Any, value: Any, path: str) -> None:
    """Look for integers that would change on their way; what has another form than the message is left to json_format."""
    if of.full_name == _STRUCT:
        _check_document(value, path)
        return
    if not _is_mapping(value):
        return
    for field in of.fields:
        if field.message_type is None:
            continue
        for name in {field.json_name, field.name} & value.keys():
            below, at = value[name], _join(path, name)
            if _is_map(field):
                entry = field.message_type.fields_by_name["value"]
                if entry.message_type is not None and _is_mapping(below):
                    for key, item in below.items():
                        _check(entry.message_type, item, _join(at, key))
            elif _is_list(field):
                if _is_sequence(below):
                    for n, item in enumerate(below):
                        _check(field.message_type, item, f"{at}[{n}]")
            else:
                _check(field.message_type, below, at)


def _check_document(value: Any, path: str) -> None:
    if _is_mapping(value):
        for name, item in value.items():
            _check_document(item, _join(path, name))
    elif _is_sequence(value):
        for n, item in enumerate(value):
            _check_document(item, f"{path}[{n}]")
    elif isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError(f"{path}: {value} is beyond 2**53 and would arrive as another number")


def _join(path: str, name: Any) -> str:
    return f"{path}.{name}" if path else str(name)


def _is_list(field: Any) -> bool:
    try:
        return bool(field.is_repeated)
    except AttributeError:  # before protobuf 6.33
        return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)
