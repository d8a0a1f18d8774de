"""Calls by gRPC and by REST."""

from __future__ import annotations

import itertools
import math
from collections.abc import AsyncIterator, Iterator
from typing import Any, Protocol

import grpc
import httpx
from google.protobuf.message import Message

from raygate import gateway_warnings, rest
from raygate._async import io
from raygate.config import Config, Endpoint
from raygate.errors import Details, details, http_details, raised, unreachable
from raygate.kinds import Method
from raygate.transport import Settings, ssl_context, upload


class AsyncTransport(Protocol):
    """Makes calls, each once. What fails is an ApiError."""

    async def unary(self, method: Method, request: Message, headers: dict[str, str], timeout: float) -> Message:
        """Make a call with one answer."""
        ...

    def stream(self, method: Method, request: Message, headers: dict[str, str]) -> AsyncIterator[Message]:
        """Make a call with many answers."""
        ...

    async def upload(self, method: Method, first: Any, parts: Iterator[bytes], headers: dict[str, str]) -> Message:
        """Make a call with many requests: the first has all fields, the others have one part each."""
        ...

    async def aclose(self) -> None:
        """End all calls."""
        ...


class AsyncGRPC:
    """Calls by gRPC."""

    def __init__(self, config: Config, endpoint: Endpoint) -> None:
        self._settings = Settings(config, endpoint)
        self.channel: Any = io.channel(self._settings)

    async def unary(self, method: Method, request: Message, headers: dict[str, str], timeout: float) -> Message:
        call = self.channel.unary_unary(method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.response.FromString)
        try:
            answer, metadata = await io.unary(call, request, list(headers.items()), timeout)
        except grpc.RpcError as error:
            raise raised(details(error)) from error
        gateway_warnings.warn(str(value) for key, value in metadata if key == "warning")
        return answer

    async def stream(self, method: Method, request: Message, headers: dict[str, str]) -> AsyncIterator[Message]:
        start = self.channel.unary_stream(method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.response.FromString)
        call = start(request, metadata=list(headers.items()))
        try:
            async for part in call:
                yield part
        except grpc.RpcError as error:
            raise raised(details(error)) from error
        finally:
            call.cancel()

    async def upload(self, method: Method, first: Any, parts: Iterator[bytes], headers: dict[str, str]) -> Message:
        requests = itertools.chain((first,), (method.request(**{"data": part}) for part in parts))
        with upload(self._settings, method, requests, list(headers.items())) as call:
            try:
                return await io.run(call.result)
            except grpc.RpcError as error:
                raise raised(details(error)) from error

    async def aclose(self) -> None:
        await self.channel.close()


class AsyncREST:
    """Calls by REST."""

    _CONNECT = 10.0
    # A watch has a heartbeat every 30 seconds; a log may be silent for long.
    _SILENCE = 90.0

    def __init__(self, config: Config, endpoint: Endpoint) -> None:
        verify = True if endpoint.plaintext else ssl_context(config)
        self._client = io.HTTPClient(base_url=endpoint.url, verify=verify, headers={"User-Agent": config.user_agent})

    async def unary(self, method: Method, request: Message, headers: dict[str, str], timeout: float) -> Message:
        headers = {**headers, "Grpc-Timeout": f"{max(1, math.ceil(timeout * 1000))}m"}
        try:
            response = await self._client.send(self._request(method, request, headers, httpx.Timeout(timeout + 1, connect=min(timeout, self._CONNECT))))
        except httpx.ReadTimeout as error:
            raise raised(Details(grpc.StatusCode.DEADLINE_EXCEEDED, "no answer in time")) from error
        except httpx.TransportError as error:
            raise raised(unreachable(f"calling the gateway at {self._client.base_url}: {error}")) from error
        if response.is_error:
            raise raised(http_details(response.status_code, response.content))
        answer = rest.decode(method, response.content)
        gateway_warnings.warn(response.headers.get_list("warning"))
        return answer

    async def stream(self, method: Method, request: Message, headers: dict[str, str]) -> AsyncIterator[Message]:
        log = rest.is_log(method)
        limit = httpx.Timeout(None if log else self._SILENCE, connect=self._CONNECT)
        try:
            response = await self._client.send(self._request(method, request, headers, limit), stream=True)
        except httpx.TransportError as error:
            raise raised(unreachable(f"calling the gateway at {self._client.base_url}: {error}")) from error
        try:
            if response.is_error:
                raise raised(http_details(response.status_code, await response.aread()))
            parts = self._log(method, request, response) if log else self._parts(method, response)
            async for part in parts:
                yield part
        except httpx.TransportError as error:
            raise raised(unreachable(f"the stream broke off: {error}")) from error
        finally:
            await response.aclose()

    async def upload(self, method: Method, first: Any, parts: Iterator[bytes], headers: dict[str, str]) -> Message:
        """Send a package as one body."""

        async def content() -> AsyncIterator[bytes]:
            while data := await io.run(lambda: next(parts, b"")):
                yield data

        headers = {**headers, "Content-Type": "application/octet-stream", "Content-Length": str(first.size)}
        limit = httpx.Timeout(self._SILENCE, connect=self._CONNECT)
        try:
            response = await self._client.put(rest.package_path(first), content=content(), headers=headers, timeout=limit)
        except httpx.TransportError as error:
            raise raised(unreachable(f"calling the gateway at {self._client.base_url}: {error}")) from error
        if response.is_error:
            raise raised(http_details(response.status_code, response.content))
        return rest.decode(method, response.content)

    async def _parts(self, method: Method, response: httpx.Response) -> AsyncIterator[Message]:
        async for line in response.aiter_lines():
            part = rest.decode_part(method, line.encode())
            if isinstance(part, Details):
                raise raised(part)
            yield part

    async def _log(self, method: Method, request: Any, response: httpx.Response) -> AsyncIterator[Message]:
        at = 0 if request.HasField("tail_lines") else request.offset
        async for data in response.aiter_bytes():
            at += 0 if request.HasField("tail_lines") else len(data)
            part: Any = method.response()
            part.data, part.next_offset = data, at
            yield part

    def _request(self, method: Method, request: Message, headers: dict[str, str], timeout: httpx.Timeout) -> httpx.Request:
        r = rest.encode(method, request)
        if r.body is not None:
            headers = {**headers, "Content-Type": "application/json"}
        return self._client.build_request(r.method, r.path, params=r.query or None, content=r.body, headers=headers, timeout=timeout)

    async def aclose(self) -> None:
        await self._client.aclose()
