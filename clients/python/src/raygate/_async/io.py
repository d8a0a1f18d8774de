"""What waits, for the asynchronous client. `_sync/io.py` has the same names for the blocking one; neither is generated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar, Union

import grpc
import grpc.aio
import httpx
from google.protobuf.message import Message

from raygate.transport import Settings

T = TypeVar("T")
Metadata = tuple[tuple[str, Union[str, bytes]], ...]

Lock = asyncio.Lock
HTTPClient = httpx.AsyncClient
Channel = grpc.aio.Channel


async def sleep(seconds: float) -> None:
    """Wait."""
    await asyncio.sleep(seconds)


async def run(blocking: Callable[[], T]) -> T:
    """Run what blocks, such as a credential plugin, in a thread."""
    return await asyncio.to_thread(blocking)


def channel(settings: Settings) -> Channel:
    """Return a channel, which connects when it is used."""
    credentials = settings.channel_credentials()
    if credentials is None:
        return grpc.aio.insecure_channel(settings.target, options=settings.options)
    return grpc.aio.secure_channel(settings.target, credentials, options=settings.options)


async def unary(call: Any, request: Message, metadata: list[tuple[str, str]], timeout: float) -> tuple[Message, Metadata]:
    """Make a call with one answer, and return that and the metadata before it."""
    running = call(request, metadata=metadata, timeout=timeout)
    return await running, tuple(await running.initial_metadata())


async def is_connected(channel: Channel, seconds: float) -> bool:
    """Return whether the channel gets a connection in time."""
    try:
        await asyncio.wait_for(channel.channel_ready(), seconds)
    except (asyncio.TimeoutError, grpc.RpcError):
        return False
    return True
