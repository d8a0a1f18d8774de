"""How connections are made: addresses, certificates, limits."""

from __future__ import annotations

import os
import ssl
import tempfile
from dataclasses import dataclass
from typing import Any, Optional

import grpc

from raygate.config import Config, Endpoint

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
