"""Calls with identity, retries and streams that go on."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any, Optional

import grpc
from google.protobuf.message import Message

from raygate._async import io
from raygate._async.transports import AsyncGRPC, AsyncREST, AsyncTransport
from raygate.config import Config
from raygate.errors import ApiError
from raygate.kinds import Method
from raygate.retry import backoff, pause_before_retry, with_request_id

# What ends a stream that another one may go on from.
_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)


class AsyncCaller:
    """Makes the calls of a client."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._grpc, self._rest = config.endpoints()
        self._token = config.token_source
        self._lock = io.Lock()
        self._chosen: Optional[AsyncTransport] = None

    async def unary(self, method: Method, request: Message, timeout: float | None = None) -> Any:
        """Make a call with one answer, again while it fails for a while and may be repeated. All tries have one X-Request-Id."""
        with_request_id(request)
        call_id, deadline = str(uuid.uuid4()), time.monotonic() + (timeout or self.config.timeout)
        pauses = backoff()
        for left in range(self.config.retries, -1, -1):
            try:
                transport = await self._transport()
                remaining = max(0.001, deadline - time.monotonic())
                return await transport.unary(method, request, await self._headers(call_id), remaining)
            except ApiError as error:
                pause = pause_before_retry(error, method.descriptor.name, request, next(pauses))
                if left == 0 or pause is None or time.monotonic() + pause > deadline:
                    raise
            await io.sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def stream(self, method: Method, request: Message) -> AsyncIterator[Any]:
        """Make a call with many answers, once."""
        transport = await self._transport()
        async for part in transport.stream(method, request, await self._headers(str(uuid.uuid4()))):
            yield part

    async def upload(self, method: Method, first: Message, parts: Iterator[bytes]) -> Any:
        """Make a call with many requests, once and without a limit of time. The first request has all fields, the others have one part each."""
        transport = await self._transport()
        return await transport.upload(method, first, parts, await self._headers(str(uuid.uuid4())))

    async def pause(self, error: ApiError, planned: float) -> bool:
        """Wait before a stream that broke off is gone on with. False when that is of no use."""
        if error.code not in _PASSING:
            return False
        hint = error.details.retry_after
        await io.sleep(max(planned, hint.total_seconds() if hint else 0))
        return True

    @property
    def transport(self) -> str:
        """What calls are made by: grpc, rest, or nothing before the first."""
        names: dict[type, str] = {AsyncGRPC: "grpc", AsyncREST: "rest"}
        return names.get(type(self._chosen), "")

    async def _transport(self) -> AsyncTransport:
        async with self._lock:
            if self._chosen is None:
                self._chosen = await self._choose()
            return self._chosen

    async def _choose(self) -> AsyncTransport:
        """Return gRPC if it gets through, else REST. Proxies that know no HTTP/2, and closed ports, show before anything is sent."""
        if self._grpc is None:
            assert self._rest is not None  # endpoints() sees to it
            return AsyncREST(self.config, self._rest)
        first = AsyncGRPC(self.config, self._grpc)
        if self._rest is None or await io.is_connected(first.channel, self.config.connect_timeout):
            return first
        await first.aclose()
        return AsyncREST(self.config, self._rest)

    async def _headers(self, call_id: str) -> dict[str, str]:
        headers = {"x-request-id": call_id}
        if self._token is not None:
            token = await io.run(self._token)
            if token:
                headers["authorization"] = f"Bearer {token}"
        return headers

    async def aclose(self) -> None:
        """End all calls."""
        async with self._lock:
            if self._chosen is not None:
                await self._chosen.aclose()
