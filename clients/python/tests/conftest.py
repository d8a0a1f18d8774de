"""A gateway that runs: $RAYGATE_GRPC and $RAYGATE_URL, in the namespace $RAYGATE_NAMESPACE. test/e2e starts one, with simulated Ray behind it, and runs
this; test/realray runs it with real Ray, of the image $RAYGATE_IMAGE."""

import http.server
import json
import os
import sys
import threading
import traceback
import uuid

import pytest

import raygate

NEEDS = ("RAYGATE_GRPC", "RAYGATE_URL")
IMAGE = os.environ.get("RAYGATE_IMAGE", "rayproject/ray:2.52.0")
RAY_VERSION = IMAGE.rpartition(":")[2]
REPOSITORY = os.path.join(os.path.dirname(__file__), "..", "..", "..")


def has_gateway() -> bool:
    return all(os.environ.get(name) for name in NEEDS)


needs_gateway = pytest.mark.skipif(not has_gateway(), reason="RAYGATE_GRPC and RAYGATE_URL name no gateway")


def addresses(transport):
    """Only the address of one transport, so that the other cannot be used."""
    return {"grpc": None if transport == "rest" else os.environ["RAYGATE_GRPC"], "rest": None if transport == "grpc" else os.environ["RAYGATE_URL"]}


@pytest.fixture(params=["grpc", "rest"])
def client(request):
    with raygate.Client(**addresses(request.param)) as made:
        yield made
        assert made.transport in ("", request.param)


@pytest.fixture
def name():
    return f"py-{uuid.uuid4().hex[:8]}"


def printed(log: str) -> str:
    """A log without the lines that real Ray writes into it, which may come among those of the program."""
    return "".join(line for line in log.splitlines(keepends=True) if "INFO job_manager.py" not in line and not line.startswith("Running entrypoint for job "))


def head(**more):
    """The spec of a cluster of a head alone."""
    container = {
        "name": "ray-head",
        "image": IMAGE,
        "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}},
        "ports": [{"name": "gcs", "containerPort": 6379}, {"name": "dashboard", "containerPort": 8265}, {"name": "client", "containerPort": 10001}],
    }
    return {"headGroupSpec": {"template": {"spec": {"terminationGracePeriodSeconds": 3, "containers": [container]}}}, **more}


class Gateway(http.server.BaseHTTPRequestHandler):
    """Answers what a test has planned."""

    def do(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_json = self.headers.get("Content-Type") == "application/json"
        self.server.seen.append((self.command, self.path, dict(self.headers), json.loads(body) if is_json else body or None))
        status, answer, *more = self.server.plan.pop(0)
        warned = more.pop() if more and isinstance(more[-1], list) else []
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data) + sum(more)))  # with more it breaks off
        for each in warned:
            self.send_header("Warning", each)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = bool(more)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        traceback.print_exc(file=sys.__stderr__)  # not sys.stderr: a request may fail while pytest closes that of capsys, as when its client was cancelled


@pytest.fixture
def gateway(monkeypatch):
    monkeypatch.delenv("RAYGATE_NAMESPACE", raising=False)
    with Server(("127.0.0.1", 0), Gateway) as server:
        server.seen, server.plan = [], []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield server
        server.shutdown()
        thread.join()
