"""Where the gateway is, and who calls."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional, Union

from raygate import kubeconfig, logins, tokens
from raygate.addresses import is_loopback
from raygate.errors import RaygateError
from raygate.retry import DEFAULT_RETRIES

GRPC_PORT = 8887
REST_PORT = 8888


@dataclass(frozen=True)
class Endpoint:
    """An address of the gateway."""

    host: str
    port: int
    plaintext: bool

    @property
    def target(self) -> str:
        """As gRPC wants it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """As HTTP wants it."""
        return f"{'http' if self.plaintext else 'https'}://{self.target}"

    @property
    def loopback(self) -> bool:
        """Whether nothing leaves this machine."""
        return is_loopback(self.host)


@dataclass(frozen=True)
class Config:
    """Where the gateway is and who calls. One of `grpc` and `rest` is required; with both, REST is what is used when gRPC does not get through."""

    grpc: Optional[str] = None
    """HOST or HOST:PORT, the port being 8887 without one; https:// or http:// may stand before it. Without either it is TLS, but plain text to a
    loopback address."""
    rest: Optional[str] = None
    """The same for REST, whose port is 8888."""
    token: Union[str, tokens.TokenSource, None] = field(default=None, repr=False)
    """A token, or what returns one for each call. None sends none."""
    certificate_authority: Union[bytes, str, os.PathLike[str], None] = None
    """PEM, or the path of a file of it: whom to trust. None means the system's authorities."""
    certificate: Optional[tuple[bytes, bytes]] = field(default=None, repr=False)
    """Client certificate and key as PEM, for gateways that ask for one."""
    namespace: str = "default"
    """Where a call goes that names none."""
    retries: int = DEFAULT_RETRIES
    """How often a call that failed for a while is tried again."""
    timeout: float = 60.0
    """Seconds of a call, tries included; what waits says so itself."""
    connect_timeout: float = 5.0
    """Seconds after which REST is used when gRPC does not get through."""
    allow_plaintext_token: bool = False
    """Lets tokens travel in the clear beyond loopback, which is refused without it."""
    user_agent: str = "raygate-python"
    """Begins with the name of the program; the gateway takes it as field manager where none is given."""

    @property
    def token_source(self) -> Optional[tokens.TokenSource]:
        """What returns a token for each call."""
        return tokens.static(self.token) if isinstance(self.token, str) else self.token

    @property
    def authorities(self) -> Optional[bytes]:
        """The authorities as PEM."""
        ca = self.certificate_authority
        return Path(ca).read_bytes() if isinstance(ca, (str, os.PathLike)) else ca

    def endpoints(self) -> tuple[Optional[Endpoint], Optional[Endpoint]]:
        """Return the addresses for gRPC and REST. Raises RaygateError for what is no address, and for a token that would travel in the clear."""
        if not self.grpc and not self.rest:
            raise RaygateError("no address of a gateway was given: use grpc= or rest=, or $RAYGATE_SERVER")
        both = (endpoint(self.grpc, GRPC_PORT) if self.grpc else None, endpoint(self.rest, REST_PORT) if self.rest else None)
        for each in both:
            if each and self.token is not None and each.plaintext and not each.loopback and not self.allow_plaintext_token:
                raise RaygateError(f"the token would travel to {each.target} in the clear: use https://, or allow_plaintext_token=True")
        return both


def endpoint(address: str, port: int) -> Endpoint:
    """Read an address. Raises RaygateError when it is none."""
    found = re.fullmatch(r"(?:(https?)://)?(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?/?", address)
    if not found:
        raise RaygateError(f"{address!r} is not the address of a gateway: use HOST or HOST:PORT, with https:// or http:// before it if need be")
    scheme, v6, name, given = found.groups()
    at = Endpoint(v6 or name, int(given) if given else port, scheme == "http")
    return at if scheme else replace(at, plaintext=at.loopback)


def from_environment(getenv: Mapping[str, str] = os.environ, **more: Any) -> Config:
    """Make a Config of RAYGATE_SERVER or RAYGATE_GRPC, RAYGATE_URL (REST), RAYGATE_NAMESPACE, RAYGATE_TOKEN or RAYGATE_TOKEN_FILE, and
    RAYGATE_CERTIFICATE_AUTHORITY; more are fields that are given instead. Inside a Pod the ServiceAccount's token is taken when there is no other.
    Without any the login at the gateway is used, if there is one."""
    found: dict[str, Any] = {"grpc": getenv.get("RAYGATE_SERVER") or getenv.get("RAYGATE_GRPC"), "rest": getenv.get("RAYGATE_URL")}
    token, path = getenv.get("RAYGATE_TOKEN"), getenv.get("RAYGATE_TOKEN_FILE")
    if token and path:
        raise RaygateError("RAYGATE_TOKEN and RAYGATE_TOKEN_FILE are both set: leave one of them out")
    if token:
        found["token"] = token
    elif path:
        found["token"] = tokens.file(path)
    elif getenv.get("KUBERNETES_SERVICE_HOST") and tokens.SERVICE_ACCOUNT.exists():
        found["token"] = tokens.file()
    for name, variable in (("namespace", "RAYGATE_NAMESPACE"), ("certificate_authority", "RAYGATE_CERTIFICATE_AUTHORITY")):
        if getenv.get(variable):
            found[name] = getenv[variable]
    given = {**found, **more}
    server = given["grpc"] or given["rest"]
    if server and "token" not in given:
        given["token"] = logins.token_source(server, getenv)
    return Config(**given)


def from_kubeconfig(path: str | os.PathLike[str] | None = None, context: str | None = None, **more: Any) -> Config:
    """Make a Config of the environment whose user and namespace are those of a kubeconfig; more are fields that are given instead."""
    user = kubeconfig.identity(path, context)
    return from_environment(os.environ, **{"token": user.token, "certificate": user.certificate, "namespace": user.namespace, **more})
