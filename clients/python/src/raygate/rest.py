"""REST by the HTTP rules in the protos: requests from messages, and messages from answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Optional
from urllib.parse import quote

from google.api import annotations_pb2, http_pb2
from google.protobuf import json_format
from google.protobuf.message import Message

from raygate import documents
from raygate.errors import Details, http_details
from raygate.kinds import Method


@dataclass(frozen=True)
class Request:
    """A request by REST."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Optional[bytes]


def encode(method: Method, request: Message) -> Request:
    """Return a call as a request by REST."""
    rule = _rule(method)
    verb, template = _pattern(rule)
    for other in rule.additional_bindings:
        if not all(getattr(request, name) for name in _variables(template)):
            verb, template = _pattern(other)
    path = re.sub(r"\{(\w+)\}", lambda m: quote(str(getattr(request, m[1])), safe=""), template)
    fields = documents.to_dict(request)
    for name in _variables(template):
        fields.pop(_json_name(request, name), None)
    body: Optional[bytes] = None
    if rule.body == "*":
        body, fields = json.dumps(fields).encode(), {}
    elif rule.body:
        body = json.dumps(fields.pop(_json_name(request, rule.body), {})).encode()
    return Request(verb, path, tuple((name, _text(value)) for name, value in fields.items()), body)


def package_path(request: Any) -> str:
    """Return where the gateway takes a package of files."""
    of = ("clusters", request.cluster) if request.cluster else ()
    path = "/".join(quote(part, safe="") for part in ("namespaces", request.namespace, *of, "packages", request.package_name))
    return f"/apis/v2/{path}" + ("" if request.cluster else f"?jobName={quote(request.job_name, safe='')}")


def decode(method: Method, body: bytes) -> Message:
    """Return the answer of a call. Members of a newer gateway are skipped."""
    rule = _rule(method)
    return _message(method, json.loads(body or b"{}"), rule.response_body)


def decode_part(method: Method, line: bytes) -> Message | Details:
    """Return a line of a stream, or why the stream ends."""
    read = json.loads(line)
    if documents.is_object(read) and set(read) == {"error"}:
        return http_details(200, json.dumps(read["error"]).encode())
    return _message(method, read, "")


def is_log(method: Method) -> bool:
    """Return whether a stream is plain text by REST."""
    return "data" in method.response.DESCRIPTOR.fields_by_name


def _rule(method: Method) -> http_pb2.HttpRule:
    options: Any = method.descriptor.GetOptions()
    rule: http_pb2.HttpRule = options.Extensions[annotations_pb2.http]
    return rule


def _message(method: Method, read: Any, field: str) -> Message:
    response = method.response()
    into = getattr(response, field) if field else response
    if field:
        into.SetInParent()
    json_format.ParseDict(read, into, ignore_unknown_fields=True)
    return response


def _pattern(rule: http_pb2.HttpRule) -> tuple[str, str]:
    verb = str(rule.WhichOneof("pattern"))
    return verb.upper(), str(getattr(rule, verb))


def _variables(template: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", template)


def _json_name(request: Message, name: str) -> str:
    return str(request.DESCRIPTOR.fields_by_name[name].json_name)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
