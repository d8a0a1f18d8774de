"""When a call is tried again."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

import grpc
from google.protobuf.message import Message

from raygate.errors import ApiError

DEFAULT_RETRIES = 5

# What leaves things the same when it is done twice.
_REPEATABLE = ("Get", "List", "Wait", "Diagnose", "Update", "Replace", "Apply", "Suspend", "Resume", "Scale", "Stop")


def backoff() -> Iterator[float]:
    """Return the seconds between tries, without end."""
    pause = 0.2
    while True:
        yield pause * random.uniform(1, 1.5)
        pause = min(pause * 2, 10)


def with_request_id(request: Message) -> None:
    """Give a request that has a field for it, and none yet, a request id: a create whose answer was lost then returns the object first created."""
    if "request_id" in request.DESCRIPTOR.fields_by_name and not getattr(request, "request_id"):
        setattr(request, "request_id", str(uuid.uuid4()))


def pause_before_retry(error: ApiError, method: str, request: Message, planned: float) -> float | None:
    """Return the seconds after which a call that failed may be made again; None when it may not."""
    hint = error.details.retry_after
    pause = max(planned, hint.total_seconds()) if hint is not None else planned
    if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return pause if hint is not None else None  # refused before anything was done; a quota gives no hint
    if error.code is grpc.StatusCode.UNAVAILABLE and is_repeatable(method, request):
        return pause
    return None


def is_repeatable(method: str, request: Message) -> bool:
    """Return whether a call whose answer was lost may be made again."""
    if method.startswith(_REPEATABLE):
        return True
    submission = getattr(request, "submission", None)
    if submission is not None:
        return bool(submission.submission_id)  # Ray takes an id once
    # What has an id is done once; a deletion by name alone might hit an object that was made since.
    return any(getattr(request, name, "") for name in ("request_id", "uid"))
