"""Sessions with a gateway that answers for the head."""

import asyncio
import socket
import threading

import pytest
import websockets.sync.server as server
from websockets.datastructures import Headers
from websockets.http11 import Response

import raygate

REFUSED = b'{"code": 3, "message": "declares no such port"}'


@pytest.fixture
def tunnels():
    """The URL of a gateway whose tunnels to the dashboard echo in capitals; other ports are not declared."""
    seen = []

    def check(_, request):
        seen.append((request.path, request.headers.get("Authorization")))
        if not request.path.endswith("port=dashboard"):
            return Response(400, "Bad Request", Headers({"Content-Length": str(len(REFUSED))}), REFUSED)
        return None

    def echo(tunnel):
        for data in tunnel:
            tunnel.send(data.upper())
            if data == b"end":
                break

    with server.serve(echo, "127.0.0.1", 0, process_request=check) as gateway:
        threading.Thread(target=gateway.serve_forever, daemon=True).start()
        host, port = gateway.socket.getsockname()
        yield f"http://{host}:{port}", seen
        gateway.shutdown()


def echoed(url, text):
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.settimeout(20)
        connection.sendall(text)
        answer = b""
        while len(answer) < len(text):
            answer += connection.recv(1 << 16)
        return answer, connection.recv(1) if text == b"end" else None


def test_session(tunnels):
    url, seen = tunnels
    with raygate.Client(rest=url, grpc=None, token="secret", namespace="team") as client:
        with client.clusters.session("demo") as session:
            assert echoed(session.dashboard_url, b"a" * (1 << 20)) == (b"A" * (1 << 20), None)
            assert echoed(session.dashboard_url, b"end") == (b"END", b"")  # the head closes
            with pytest.raises(raygate.RaygateError, match="has no port client; it has dashboard"):
                print(session.ray_address)
        with pytest.raises(OSError):
            echoed(session.dashboard_url, b"late")
        with pytest.raises(raygate.InvalidError, match="declares no such port"):
            client.clusters.session("demo", ports=["ssh"]).__enter__()
    assert seen[1] == ("/apis/v2/namespaces/team/clusters/demo/tunnel?port=dashboard", "Bearer secret")


def test_asynchronous_session(tunnels):
    async def main():
        async with raygate.AsyncClient(rest=tunnels[0], grpc=None) as client, client.clusters.session("demo") as session:
            return await asyncio.to_thread(echoed, session.dashboard_url, b"x")

    assert asyncio.run(main())[0] == b"X"


def test_gateway_that_does_not_answer():
    with raygate.Client(rest="http://127.0.0.1:1", grpc=None) as client, pytest.raises(raygate.UnavailableError):
        client.clusters.session("demo").__enter__()
