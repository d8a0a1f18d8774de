"""Local ports that lead through the gateway to the head of a cluster. It needs the package websockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional
from urllib.parse import quote, urlencode

from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from raygate.config import REST_PORT, Config, Endpoint
from raygate.errors import ApiError, InvalidError, RaygateError, UnavailableError, http_details, raised, unreachable
from raygate.transport import ssl_context

PORTS = ("client", "dashboard")
# The local ports for names of ports, if they are free.
_USUAL = {"client": 10001, "dashboard": 8265, "serve": 8000, "jupyter": 8888, "notebook": 8888}
_CONNECT = 30.0  # seconds until the head is reached
_PING = 30.0  # seconds between signs of life to proxies on the way
_PIECE = 64 << 10


class Session:
    """Ports of this machine, for programs on it. Ray Client needs the cluster's versions of Python and Ray."""

    def __init__(self, config: Config, namespace: str, cluster: str, ports: Sequence[str] = ()) -> None:
        """Open the ports, which are numbers or names that the cluster declares. Without any they are those of Ray Client and the dashboard, as far as the
        cluster declares them. Raises an ApiError."""
        self._gateway = _Gateway(config, namespace, cluster)
        self._listeners: dict[str, socket.socket] = {}
        self._open: set[socket.socket] = set()
        self._lock, self._closed = threading.Lock(), False
        try:
            self._listen(ports)
        except BaseException:
            self.close()
            raise

    @property
    def ray_address(self) -> str:
        """What ray.init takes. Raises RaygateError if the session has no port of Ray Client."""
        return f"ray://{self.address('client')}"

    @property
    def dashboard_url(self) -> str:
        """The dashboard, also for Ray's JobSubmissionClient. Raises RaygateError if the session does not have it."""
        return f"http://{self.address('dashboard')}"

    def address(self, port: str) -> str:
        """Return HOST:PORT on this machine of a port of the head, by the number or name it was opened with."""
        listener = self._listeners.get(port) or self._listeners.get(str(_USUAL.get(port, "")))
        if listener is None:
            raise RaygateError(f"the session has no port {port}; it has {', '.join(self._listeners) or 'none'}")
        host, number = listener.getsockname()
        return f"{host}:{number}"

    def close(self) -> None:
        """Close the ports and their connections."""
        with self._lock:
            self._closed = True
            all_sockets = [*self._listeners.values(), *self._open]
        for each in all_sockets:
            _shut(each)

    def __repr__(self) -> str:
        return f"<session with {self._gateway.cluster}: {', '.join(f'{port} at {self.address(port)}' for port in self._listeners)}>"

    def _listen(self, ports: Sequence[str]) -> None:
        refused: Optional[ApiError] = None
        for port in ports or PORTS:
            try:
                self._gateway.connect(port).close()
            except UnavailableError as error:
                if error.reason != "PORT_UNAVAILABLE":  # a program that starts later is no mistake
                    raise
            except InvalidError as error:
                if ports:
                    raise
                refused = error
                continue
            self._listeners[port] = _listener(port)
            threading.Thread(target=self._accept, args=(port, self._listeners[port]), daemon=True, name=f"raygate session {port}").start()
        if not self._listeners and refused:
            raise refused

    def _accept(self, port: str, listener: socket.socket) -> None:
        while True:
            try:
                local, _ = listener.accept()
            except OSError:
                return  # the session has ended
            threading.Thread(target=self._carry, args=(port, local), daemon=True, name=f"raygate session {port}").start()

    def _carry(self, port: str, local: socket.socket) -> None:
        """Join a connection with a tunnel of its own, until one of them ends."""
        with self._lock:
            if self._closed:
                _shut(local)
                return
            self._open.add(local)
        try:
            with self._gateway.connect(port) as tunnel:
                threading.Thread(target=_send, args=(local, tunnel), daemon=True, name=f"raygate session {port}").start()
                for data in tunnel:
                    local.sendall(data if isinstance(data, bytes) else data.encode())
        except (ApiError, OSError, WebSocketException):
            pass  # the program sees that its connection ends
        finally:
            _shut(local)
            with self._lock:
                self._open.discard(local)


class _Gateway:
    """Opens tunnels to one cluster."""

    def __init__(self, config: Config, namespace: str, cluster: str) -> None:
        at = _rest(config)
        self.cluster = cluster
        where = "/".join(quote(part, safe="") for part in ("namespaces", namespace, "clusters", cluster))
        self._url = f"{at.url.replace('http', 'ws', 1)}/apis/v2/{where}/tunnel"
        self._ssl = None if at.plaintext else ssl_context(config)
        self._token, self._agent = config.token_source, config.user_agent

    def connect(self, port: str) -> ClientConnection:
        """Return an open tunnel. Raises an ApiError."""
        token = self._token() if self._token else None
        try:
            return connect(
                f"{self._url}?{urlencode({'port': port})}",
                ssl=self._ssl,
                additional_headers={"Authorization": f"Bearer {token}"} if token else {},
                user_agent_header=self._agent,
                compression=None,
                max_size=None,
                open_timeout=_CONNECT,
                ping_interval=_PING,
                ping_timeout=None,  # a program that reads slowly is no failure
            )
        except InvalidStatus as error:
            raise raised(http_details(error.response.status_code, bytes(error.response.body or b""))) from error
        except (OSError, WebSocketException) as error:
            raise raised(unreachable(f"opening a tunnel through the gateway at {self._url}: {error}")) from error


def _rest(config: Config) -> Endpoint:
    """Return the REST port of the gateway; without its address, port 8888 of the host of the other port."""
    grpc, rest = config.endpoints()
    if rest is not None:
        return rest
    assert grpc is not None  # endpoints() sees to it
    return replace(grpc, port=REST_PORT)


def _listener(port: str) -> socket.socket:
    """Return a listener for this machine only, on the usual port if that is free."""
    usual = int(port) if port.isdigit() else _USUAL.get(port, 0)
    try:
        return socket.create_server(("127.0.0.1", usual))
    except OSError:
        return socket.create_server(("127.0.0.1", 0))


def _send(local: socket.socket, tunnel: ClientConnection) -> None:
    """Send what a program sends, until it ends."""
    try:
        while data := local.recv(_PIECE):
            tunnel.send(data)
    except (OSError, WebSocketException):
        pass  # one of them has ended
    tunnel.close()


def _shut(each: socket.socket) -> None:
    """Close a socket, and wake up who waits for it."""
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    each.close()
