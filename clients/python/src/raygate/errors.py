"""What the gateway says about a failed call."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Optional, cast

import grpc
from google.protobuf import any_pb2, json_format
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a request."""

    field: str
    """JSON path, such as spec.workerGroupSpecs[1].minReplicas; empty for the request as a whole."""
    description: str
    """What is wrong, and what would be right."""
    reason: str
    """Stable id of the rule."""


@dataclass(frozen=True)
class Details:
    """The details of a failed call."""

    code: grpc.StatusCode
    message: str
    """A sentence for people."""
    reason: str = ""
    """A word for programs, such as NOT_FOUND or PAGE_TOKEN_EXPIRED; empty when the answer is not the gateway's."""
    violations: list[Violation] = field(default_factory=list[Violation])
    """Everything that is wrong with the request."""
    retry_after: Optional[timedelta] = None
    """When to try again; None when the gateway does not say so."""
    request_id: str = ""
    """Leads to the call in the gateway's log."""
    http_status: Optional[int] = None
    """Status of the answer by REST; None by gRPC."""


class RaygateError(Exception):
    """Base of all errors of this package."""


class ApiError(RaygateError):
    """A call that failed. The classes below tell apart what programs ask for; `code` and `reason` tell the rest."""

    def __init__(self, details: Details) -> None:
        super().__init__(_text(details))
        self.details = details

    @property
    def code(self) -> grpc.StatusCode:
        """The gRPC code, by REST too."""
        return self.details.code

    @property
    def http_status(self) -> Optional[int]:
        """The HTTP status of an answer by REST; None by gRPC."""
        return self.details.http_status

    @property
    def reason(self) -> str:
        """A word for programs, such as NOT_FOUND."""
        return self.details.reason

    @property
    def violations(self) -> list[Violation]:
        """Everything that is wrong with the request, each with the path of its field."""
        return self.details.violations

    @property
    def request_id(self) -> str:
        """Leads to the call in the gateway's log."""
        return self.details.request_id


class InvalidError(ApiError):
    """The request is wrong; `violations` names each mistake."""


class NotFoundError(ApiError):
    """There is no such object, or the caller may not know of it."""


class AlreadyExistsError(ApiError):
    """The name is in use."""


class ConflictError(ApiError):
    """The object has changed since it was read."""


class UnauthenticatedError(ApiError):
    """There is no token, or it is not accepted."""


class ForbiddenError(ApiError):
    """Kubernetes does not allow it to the caller."""


class NotReadyError(ApiError):
    """The object is in a state in which this cannot be done."""


class UnavailableError(ApiError):
    """The gateway, the API server or a dashboard does not answer."""


class DeadlineError(ApiError):
    """It took longer than allowed."""


_CLASSES: dict[grpc.StatusCode, type[ApiError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExistsError,
    grpc.StatusCode.ABORTED: ConflictError,
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: ForbiddenError,
    grpc.StatusCode.FAILED_PRECONDITION: NotReadyError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineError,
}

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

# For answers that are not the gateway's, such as those of a proxy before it.
_HTTP_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    408: grpc.StatusCode.DEADLINE_EXCEEDED,
    409: grpc.StatusCode.ABORTED,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    502: grpc.StatusCode.UNAVAILABLE,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}


def raised(details: Details) -> ApiError:
    """Return the exception for a failed call."""
    return _CLASSES.get(details.code, ApiError)(details)


def details(error: grpc.RpcError) -> Details:
    """Return what the gateway says about a failed gRPC call."""
    call = cast(grpc.Call, error)  # what is raised is both
    status: Any = cast(Any, rpc_status).from_call(call)
    if status is None:
        return Details(code=call.code(), message=call.details() or "")
    return Details(code=call.code(), message=status.message, **_unpack(status.details))


def http_details(http_status: int, body: bytes) -> Details:
    """Return what the gateway says about a failed call by REST. Members and details that this version does not know are skipped."""
    try:
        read = json.loads(body)
        code = _CODES[read["code"]]
        if code is not grpc.StatusCode.OK:
            known = [packed for each in read.get("details", ()) for packed in _packed(each)]
            return Details(code=code, message=str(read.get("message", "")), http_status=http_status, **_unpack(known))
    except (ValueError, TypeError, KeyError):
        pass  # no answer of the gateway's
    text = body[:500].decode(errors="replace").strip()
    code = _HTTP_CODES.get(http_status, grpc.StatusCode.UNKNOWN)
    return Details(code=code, message=f"HTTP {http_status}: {text}", http_status=http_status)


def unreachable(what: str) -> Details:
    """Return the details of a call that got no answer."""
    return Details(code=grpc.StatusCode.UNAVAILABLE, message=what)


def _packed(detail: Any) -> list[any_pb2.Any]:
    try:
        return [json_format.ParseDict(detail, any_pb2.Any())]
    except json_format.ParseError:
        return []  # of a type that this version does not know


def _unpack(packed: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"violations": []}
    for detail in packed:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        retry, request = error_details_pb2.RetryInfo(), error_details_pb2.RequestInfo()
        if detail.Unpack(info):
            found["reason"] = info.reason
        elif detail.Unpack(bad):
            found["violations"] += [Violation(v.field, v.description, v.reason) for v in bad.field_violations]
        elif detail.Unpack(retry):
            found["retry_after"] = retry.retry_delay.ToTimedelta()
        elif detail.Unpack(request):
            found["request_id"] = request.request_id
    return found


def _text(d: Details) -> str:
    wrong = [f"{v.field}: {v.description}" if v.field else v.description for v in d.violations]
    message = d.message
    if wrong and d.violations[0].description in message:  # it repeats the lines below
        message = f"{len(wrong)} problems" if len(wrong) > 1 else wrong.pop()
    lines = [f"{d.code.name} {d.reason}: {message}" if d.reason not in ("", d.code.name) else f"{d.code.name}: {message}"]
    lines += ["  " + each for each in wrong]
    if d.request_id:
        lines.append(f"  (request id {d.request_id})")
    return "\n".join(lines)
