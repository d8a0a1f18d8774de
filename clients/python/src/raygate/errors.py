"""What the gateway says about a failed call."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Optional

import grpc
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
    violations: list[Violation] = field(default_factory=list)
    """Everything that is wrong with the request."""
    retry_after: Optional[timedelta] = None
    """When to try again; None when the gateway does not say so."""
    request_id: str = ""
    """Leads to the call in the gateway's log."""


def details(error: grpc.RpcError) -> Details:
    """Return what the gateway says about a failed call."""
    status = rpc_status.from_call(error)
    if status is None:
        return Details(code=error.code(), message=error.details() or "")
    found = {}
    violations = []
    for packed in status.details:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        retry, request = error_details_pb2.RetryInfo(), error_details_pb2.RequestInfo()
        if packed.Unpack(info):
            found["reason"] = info.reason
        elif packed.Unpack(bad):
            violations += [Violation(v.field, v.description, v.reason) for v in bad.field_violations]
        elif packed.Unpack(retry):
            found["retry_after"] = retry.retry_delay.ToTimedelta()
        elif packed.Unpack(request):
            found["request_id"] = request.request_id
    return Details(code=error.code(), message=status.message, violations=violations, **found)
