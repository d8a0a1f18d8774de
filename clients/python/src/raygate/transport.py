"""How connections are made: addresses, certificates, limits."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

import grpc
from google.protobuf.message import Message

from raygate.config import Config, Endpoint
from raygate.kinds import Method

_MAX_ANSWER = 64 << 20


@dataclass(frozen=True)
class Settings:
    """What a connection by gRPC takes."""

    config: Config
    endpoint: Endpoint

    @property
    def target(self) -> str:
        return self.endpoint.target

    @property
    def options(self) -> list[tuple[str, Any]]:
        return [
            ("grpc.primary_user_agent", self.config.user_agent),
            ("grpc.max_receive_message_length", _MAX_ANSWER),
            # So that a watch notices a gateway that is gone without a word.
            ("grpc.keepalive_time_ms", 30_000),
            ("grpc.keepalive_timeout_ms", 10_000),
        ]

    def channel_credentials(self) -> Optional[grpc.ChannelCredentials]:
        """Return what TLS takes; None for plain text."""
        if self.endpoint.plaintext:
            return None
        certificate, key = self.config.certificate or (None, None)
        return grpc.ssl_channel_credentials(self.config.authorities, key, certificate)


def blocking_channel(settings: Settings) -> grpc.Channel:
    """Return a channel, which connects when it is used."""
    credentials = settings.channel_credentials()
    if credentials is None:
        return grpc.insecure_channel(settings.target, options=settings.options)
    return grpc.secure_channel(settings.target, credentials, options=settings.options)


@contextlib.contextmanager
def upload(settings: Settings, method: Method, requests: Iterator[Message], metadata: list[tuple[str, str]]) -> Iterator[grpc.Future[Message]]:
    """Make a call with many requests, which is cancelled at the end of the block. It has a connection of its own, as grpc.aio loses the answer of a gateway
    that refuses the rest."""
    with blocking_channel(settings) as channel:
        start = channel.stream_unary(method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.response.FromString)
        call = start.future(requests, metadata=tuple(metadata))
        try:
            yield call
        finally:
            call.cancel()


def ssl_context(config: Config) -> ssl.SSLContext:
    """Return the same for REST."""
    authorities = config.authorities
    context = ssl.create_default_context(cadata=authorities.decode() if authorities else None)
    if config.certificate:
        # The ssl module reads them from a file only.
        handle, path = tempfile.mkstemp()
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(b"\n".join(config.certificate))
            context.load_cert_chain(path)
        finally:
            os.unlink(path)
    return context
