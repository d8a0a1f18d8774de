"""What waits, for the blocking client. `_async/io.py` has the same names for the asynchronous one; neither is generated."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, Union

import grpc
import httpx
from google.protobuf.message import Message

from raygate.transport import blocking_channel

T = TypeVar("T")
Metadata = tuple[tuple[str, Union[str, bytes]], ...]

Lock = threading.Lock
HTTPClient = httpx.Client
Channel = grpc.Channel
channel = blocking_channel


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def run(blocking: Callable[[], T]) -> T:
    """Run what blocks."""
    return blocking()


def unary(call: Any, request: Message, metadata: list[tuple[str, str]], timeout: float) -> tuple[Message, Metadata]:
    """Make a call with one answer, and return that and the metadata before it."""
    answer, running = call.with_call(request, metadata=metadata, timeout=timeout)
    return answer, tuple(running.initial_metadata())


def is_connected(channel: Channel, seconds: float) -> bool:
    """Return whether the channel gets a connection in time."""
    try:
        grpc.channel_ready_future(channel).result(timeout=seconds)
    except grpc.FutureTimeoutError:
        return False
    return True
