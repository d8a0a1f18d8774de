"""What needs no gateway: identities, addresses, retries, tables."""

import asyncio
import base64
import concurrent.futures
import datetime
import json
import os
import stat
import sys
import types
import urllib.parse

import grpc
import pytest

import raygate
from raygate import config, display, kubeconfig, rest, tokens
from raygate.errors import Details, http_details
from raygate.kinds import CLUSTER, JOB, SUBMISSIONS, method
from raygate.objects import Diagnosis, Object
from raygate.progress import Display
from raygate.v2 import cluster_service_pb2, cluster_service_pb2_grpc, diagnosis_pb2, event_pb2, history_pb2, history_service_pb2, submission_pb2


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def kube(user, **context):
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"user": "me", **context}}, {"name": "there", "context": {"user": "nobody"}}],
        "users": [{"name": "me", "user": user}],
    }


def test_token_of_a_kubeconfig(tmp_path):
    found = kubeconfig.identity(write(tmp_path / "config", kube({"token": "secret"}, namespace="team")))
    assert (found.token(), found.namespace, found.certificate) == ("secret", "team", None)
    assert "secret" not in repr(config.Config(grpc="x", token="secret"))
    with pytest.raises(raygate.RaygateError, match="nobody"):
        kubeconfig.identity(tmp_path / "config", "there")
    with pytest.raises(raygate.RaygateError, match="no context 'x'"):
        kubeconfig.identity(tmp_path / "config", "x")


def test_token_file_of_a_kubeconfig_is_read_again(tmp_path):
    write(tmp_path / "token", "one\n")
    token = kubeconfig.identity(write(tmp_path / "config", kube({"tokenFile": "token"}))).token
    assert token() == "one"
    write(tmp_path / "token", "two\n")
    assert token() == "two"


def test_certificate_of_a_kubeconfig(tmp_path):
    write(tmp_path / "key", "KEY")
    user = {"client-certificate-data": base64.b64encode(b"CERT").decode(), "client-key": "key"}
    assert kubeconfig.identity(write(tmp_path / "config", kube(user))).certificate == (b"CERT", b"KEY")


def test_files_of_a_kubeconfig_are_merged(tmp_path, monkeypatch):
    one, two = write(tmp_path / "one", {"current-context": "here"}), write(tmp_path / "two", kube({"token": "t"}))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, (one, tmp_path / "none", two))))
    assert kubeconfig.identity().token() == "t"


def test_broken_kubeconfig_does_not_leak(tmp_path):
    with pytest.raises(raygate.RaygateError) as failed:
        kubeconfig.identity(write(tmp_path / "config", "users: [{token: sec ret"))
    assert "sec" not in str(failed.value) and "line" in str(failed.value)


@pytest.mark.skipif(os.name == "nt", reason="a script")
def test_credential_plugin(tmp_path):
    plugin = write(
        tmp_path / "plugin",
        f"""#!{sys.executable}
import json, os, sys
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
count = os.path.join({str(tmp_path)!r}, "count")
n = os.path.getsize(count) + 1 if os.path.exists(count) else 1
open(count, "a").write("x")
expires = sys.argv[1]
print(json.dumps({{"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {{"token": f"{{os.environ['WHO']}}-{{n}}", "expirationTimestamp": expires}}}}))
""",
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "args": ["2999-01-01T00:00:00Z"], "env": [{"name": "WHO", "value": "me"}]}}
    token = kubeconfig.identity(write(tmp_path / "config", kube(user))).token
    assert (token(), token()) == ("me-1", "me-1")
    user["exec"]["args"] = ["2001-01-01T00:00:00Z"]
    token = kubeconfig.identity(write(tmp_path / "config", kube(user))).token
    assert (token(), token()) == ("me-2", "me-3")
    user["exec"]["command"] = "./nothing"
    with pytest.raises(tokens.TokenError, match="not there"):
        kubeconfig.identity(write(tmp_path / "config", kube(user))).token()


def test_environment(tmp_path, monkeypatch):
    write(tmp_path / "token", "rotated")
    made = config.from_environment({"RAYGATE_GRPC": "gateway", "RAYGATE_TOKEN_FILE": str(tmp_path / "token"), "RAYGATE_NAMESPACE": "team"})
    assert (made.grpc, made.token(), made.namespace) == ("gateway", "rotated", "team")
    os.replace(write(tmp_path / "next", "again"), tmp_path / "token")  # as the kubelet renews a projected token
    assert made.token() == "again"
    with pytest.raises(raygate.RaygateError, match="both set"):
        config.from_environment({"RAYGATE_TOKEN": "a", "RAYGATE_TOKEN_FILE": "b"})
    monkeypatch.setattr(tokens, "SERVICE_ACCOUNT", tmp_path / "token")
    assert config.from_environment({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}).token is not None


@pytest.mark.parametrize(
    ("address", "want"),
    [
        ("gateway", ("gateway:8887", "https://gateway:8887")),
        ("127.0.0.1:1", ("127.0.0.1:1", "http://127.0.0.1:1")),
        ("https://localhost", ("localhost:8887", "https://localhost:8887")),
        ("http://[::1]:2/", ("[::1]:2", "http://[::1]:2")),
        ("a b", None),
        ("ftp://x", None),
        ("x/y", None),
    ],
)
def test_addresses(address, want):
    if want is None:
        with pytest.raises(raygate.RaygateError, match="not the address"):
            config.endpoint(address, 8887)
    else:
        found = config.endpoint(address, 8887)
        assert (found.target, found.url) == want


def test_token_does_not_travel_in_the_clear():
    with pytest.raises(raygate.RaygateError, match="in the clear"):
        raygate.Client(grpc="http://gateway", token="t")
    raygate.Client(grpc="http://gateway", token="t", allow_plaintext_token=True)


AWAY = (503, {"code": 14, "message": "away", "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.010s"}]})


def test_create_is_tried_again_with_the_same_ids(gateway):
    gateway.plan = [AWAY, AWAY, (201, {"metadata": {"name": "demo"}, "fieldOfTheFuture": 1})]
    with raygate.Client(rest=gateway.url, grpc=None, token="t") as client:
        assert client.clusters.create({"metadata": {"name": "demo"}}).name == "demo"
    assert len(gateway.seen) == 3
    assert len({headers["x-request-id"] for _, _, headers, _ in gateway.seen}) == 1
    assert len({path for _, path, _, _ in gateway.seen}) == 1 and "requestId=" in gateway.seen[0][1]
    assert {headers["authorization"] for _, _, headers, _ in gateway.seen} == {"Bearer t"}


def test_what_may_not_be_repeated_is_not(gateway):
    gateway.plan = [AWAY, AWAY, (200, {"uid": "u"})]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        with pytest.raises(raygate.UnavailableError):
            client.clusters.delete("demo")
        assert client.clusters.delete("demo", uid="u") == "u"
    assert len(gateway.seen) == 3


def test_quota_is_not_tried_again(gateway):
    gateway.plan = [(429, {"code": 8, "message": "exceeded quota"})]
    with raygate.Client(rest=gateway.url, grpc=None) as client, pytest.raises(raygate.ApiError) as failed:
        client.clusters.get("demo")
    assert failed.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED and failed.value.http_status == 429


def test_retries_end(gateway):
    gateway.plan = [AWAY] * 3
    with raygate.Client(rest=gateway.url, grpc=None, retries=2) as client, pytest.raises(raygate.UnavailableError):
        client.clusters.get("demo")
    assert len(gateway.seen) == 3


def test_submission_whose_answer_was_lost(gateway):
    gateway.plan = [AWAY, (409, {"code": 6, "message": "there"}), (200, {"submissionId": "s", "status": "PENDING"})]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        assert client.submissions.create("demo", "true").status == "PENDING"
    ids = [body["submissionId"] for _, _, _, body in gateway.seen if body]
    assert len(set(ids)) == 1 and gateway.seen[2][:2] == ("GET", f"/apis/v2/namespaces/default/clusters/demo/submissions/{ids[0]}")


def test_watch_goes_on_behind_the_last_event(gateway):
    gateway.plan = [AWAY, (200, {"type": "SYNCED", "resumeToken": "one"}), AWAY, (200, {"type": "HEARTBEAT", "resumeToken": "two"})]
    refused = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "resume_token"}]}
    gateway.plan += [(400, {"code": 3, "details": [refused]}), (200, {"type": "SYNCED", "resumeToken": "three"})]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        watch = client.clusters.watch()
        assert [next(watch).type for _ in range(4)] == ["SYNCED", "HEARTBEAT", "RESET", "SYNCED"]
        watch.close()
    assert [path.partition("resumeToken=")[2] for _, path, _, _ in gateway.seen] == ["", "", "one", "one", "two", ""]


def test_log_goes_on_behind_the_last_byte(gateway):
    text = "grüß dich\n".encode()
    gateway.plan = [(200, text[:3], 9), AWAY, (200, text[3:])]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        assert "".join(client.jobs.logs("demo")) == text.decode()
    assert [path.partition("?")[2] for _, path, _, _ in gateway.seen] == ["", "offset=3", "offset=3"]
    gateway.plan = [(200, text[:3], 9)]
    with raygate.Client(rest=gateway.url, grpc=None) as client, pytest.raises(raygate.UnavailableError):
        list(client.jobs.logs("demo", tail_lines=1))


def test_requests_by_rest():
    def encoded(called, **fields):
        return rest.encode(called, called.request(**fields))

    got = encoded(CLUSTER.method("Get"), namespace="a/b", name="c d", view="BASIC")
    assert (got.method, got.path, got.query, got.body) == ("GET", "/apis/v2/namespaces/a%2Fb/clusters/c%20d", (("view", "BASIC"),), None)
    assert encoded(CLUSTER.method("List", plural=True), page_size=3).path == "/apis/v2/clusters"
    got = encoded(CLUSTER.method("Scale"), namespace="n", name="c", replicas=0)
    assert (got.path, json.loads(got.body)) == ("/apis/v2/namespaces/n/clusters/c:scale", {"replicas": 0})
    got = encoded(CLUSTER.method("Update"), namespace="n", name="c", cluster={}, update_mask={"paths": ["spec.rayVersion", "metadata.labels"]}, validate_only=True)
    assert dict(got.query) == {"updateMask": "spec.rayVersion,metadata.labels", "validateOnly": "true"} and got.body == b"{}"
    assert encoded(JOB.method("Get", suffix="Logs"), namespace="n", name="j", follow=True).query == (("follow", "true"),)
    assert encoded(method(SUBMISSIONS, "StopSubmission"), namespace="n", cluster="c", submission_id="s").path.endswith("/clusters/c/submissions/s:stop")


def test_answers_that_are_not_the_gateways():
    assert http_details(502, b"<html>bad").code is grpc.StatusCode.UNAVAILABLE
    assert http_details(403, b"\xff\xfe").code is grpc.StatusCode.PERMISSION_DENIED
    assert http_details(404, b'{"code": 0}').code is grpc.StatusCode.NOT_FOUND
    assert http_details(500, b"[1]").code is grpc.StatusCode.UNKNOWN


def test_details_of_a_newer_gateway_are_left_out():
    bad = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "spec", "description": "wrong", "reason": "R"}]}
    answer = {"code": 3, "message": "m", "details": [{"@type": "type.googleapis.com/unknown.Thing", "a": 1}, bad]}
    found = http_details(400, json.dumps(answer).encode())
    assert (found.code, found.message, found.violations) == (grpc.StatusCode.INVALID_ARGUMENT, "m", [raygate.Violation("spec", "wrong", "R")])


def test_tables_are_escaped():
    evil = "<script>alert(1)</script>"
    cluster = CLUSTER.message()
    cluster.metadata.name = evil
    cluster.status.reason = evil
    finding = diagnosis_pb2.Finding(message=evil, remedy=evil)
    submission = raygate.Submission(submission_pb2.Submission(submission_id="a", entrypoint=evil))
    shown = [Object(cluster), raygate.Objects([Object(cluster)]), Diagnosis([finding]), submission, raygate.SubmissionList([submission])]
    shown.append(raygate.KubernetesEvents([event_pb2.Event(message=evil)]))
    shown += [raygate.HistoryRecord(history_pb2.HistoryRecord(message=evil)), raygate.Usage(history_service_pb2.GetUsageResponse(items=[{"owner": evil}]))]
    for html in [each._repr_html_() for each in shown] + [display.table([evil], [[evil]]), display.table([], [], evil)]:
        assert "<script" not in html and "&lt;script&gt;" in html


def test_tables_say_that_they_are_empty():
    for empty, words in ((raygate.Objects(), "no objects"), (Diagnosis(), "no findings"), (raygate.SubmissionList(), "no submissions"), (raygate.KubernetesEvents(), "no events")):
        assert empty._repr_html_() == f"<p>{words}</p>"


def test_table_of_cron_jobs():
    spec = {"schedule": "0 2 * * *"}
    assert "0 2 * * *, next 2026-01-02T02:00:00Z<" in display.table(*display.object_rows([{"spec": spec, "status": {"nextScheduleTime": "2026-01-02T02:00:00Z"}}]))
    assert "0 2 * * *, suspended<" in display.table(*display.object_rows([{"spec": {**spec, "suspend": True}}]))


def test_history(gateway):
    record = {"kind": "RayJob", "namespace": "default", "name": "demo", "attempt": 2, "result": "FAILED", "endTime": "2026-11-02T00:00:00Z"}
    gateway.plan = [(200, {"records": [record], "nextPageToken": "two"}), (200, {"records": [{**record, "attempt": 1}]})]
    gateway.plan += [(200, {"record": record, "object": {"spec": {"backoffLimit": 1}}, "pods": [{"metadata": {"name": "head"}}]}), (200, b"log"), (200, {"findings": [{"reason": "Recorded"}]})]
    gateway.plan += [(200, {"month": "2026-11", "items": [{"queue": "a", "clusters": 1, "cpuSeconds": 7200}]})]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        found = client.history.list(kind="RayJob", since=datetime.datetime(2026, 11, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))))
        assert repr(found) == "[<HistoryRecord RayJob default/demo attempt 2 FAILED>, <HistoryRecord RayJob default/demo attempt 1 FAILED>]"
        assert "2026-11-02T00:00:00Z" in found._repr_html_()
        kept = client.history.get("RayJob", "demo", attempt=2, uid="u")
        assert kept.message.result == "FAILED" and repr(kept.to_dict()["object"]["spec"]["backoffLimit"]) == "1"
        assert "".join(client.jobs.logs("demo", attempt=2, uid="u")) == "log"
        assert "Recorded" in str(client.jobs.diagnose("demo", attempt=2, uid="u"))
        (used,) = usage = client.usage("2026-11", "queue,owner", namespace="team")
        assert (usage.month, used.queue, used.cpu_seconds) == ("2026-11", "a", 7200) and ">2.0<" in usage._repr_html_()
    assert [urllib.parse.unquote(path.removeprefix("/apis/v2/namespaces/")) for _, path, _, _ in gateway.seen] == [
        "default/history?kind=RayJob&since=2026-11-01T00:00:00Z&pageSize=500",
        "default/history?kind=RayJob&since=2026-11-01T00:00:00Z&pageSize=500&pageToken=two",
        "default/history/RayJob/demo?attempt=2&uid=u",
        "default/jobs/demo/logs?attempt=2&uid=u",
        "default/jobs/demo:diagnose?attempt=2&uid=u",
        "team/usage?month=2026-11&groupBy=queue,owner",
    ]


def test_errors_say_each_problem_once():
    wrong = [raygate.Violation("spec.a", "must be 1", "R"), raygate.Violation("spec.b", "must be 2", "R")]
    several = raygate.InvalidError(Details(grpc.StatusCode.INVALID_ARGUMENT, "2 problems: spec.a: must be 1; spec.b: must be 2", "INVALID_SPEC", wrong))
    assert str(several) == "INVALID_ARGUMENT INVALID_SPEC: 2 problems\n  spec.a: must be 1\n  spec.b: must be 2"
    one = raygate.InvalidError(Details(grpc.StatusCode.INVALID_ARGUMENT, "spec.a: must be 1", "INVALID_SPEC", wrong[:1]))
    assert str(one) == "INVALID_ARGUMENT INVALID_SPEC: spec.a: must be 1"
    other = raygate.InvalidError(Details(grpc.StatusCode.INVALID_ARGUMENT, "wrong", "", wrong[:1]))
    assert str(other) == "INVALID_ARGUMENT: wrong\n  spec.a: must be 1"
    assert str(raygate.NotFoundError(Details(grpc.StatusCode.NOT_FOUND, "there is no x", "NOT_FOUND"))) == "NOT_FOUND: there is no x"


def test_progress(capsys):
    lines = []
    shown = Display(lines.append)
    for state in ("a", "a", "b"):
        shown.show(state)
    assert lines == ["a", "b"]
    shown = Display(True)
    shown.show("a")
    shown.show("a")
    Display(False).show("b")
    assert capsys.readouterr().err == "a (0 s)\n"


WARNED = ['299 - "spec.a is old"', '299 - "one", 299 - "two, 100 of them"', '299 - "one"', "nonsense"]


def test_warnings_by_rest(gateway):
    gateway.plan = [(200, {"metadata": {"name": "demo"}}, WARNED), (200, {"metadata": {"name": "demo"}}, WARNED)]
    with raygate.Client(rest=gateway.url, grpc=None) as client, pytest.warns(raygate.GatewayWarning) as caught:
        assert client.clusters.get("demo").name == "demo"
    assert [str(each.message) for each in caught] == ["spec.a is old", "one", "two, 100 of them"]
    assert {each.filename for each in caught} == {__file__}, "the line that made the call"

    async def ask():
        async with raygate.AsyncClient(rest=gateway.url, grpc=None) as client:
            await client.clusters.get("demo")

    with pytest.warns(raygate.GatewayWarning) as caught:
        asyncio.run(ask())
    assert [str(each.message) for each in caught] == ["spec.a is old", "one", "two, 100 of them"]
    assert {each.filename for each in caught} == {__file__}


def test_warnings_by_grpc():
    class Answers(cluster_service_pb2_grpc.ClusterServiceServicer):
        def GetCluster(self, request, context):
            context.send_initial_metadata([("warning", each) for each in WARNED])
            return cluster_service_pb2.GetClusterResponse(cluster={"metadata": {"name": "demo"}})

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    cluster_service_pb2_grpc.add_ClusterServiceServicer_to_server(Answers(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    async def ask():
        async with raygate.AsyncClient(grpc=f"127.0.0.1:{port}", rest=None) as client:
            return await client.clusters.get("demo")

    def ask_blocking():
        with raygate.Client(grpc=f"127.0.0.1:{port}", rest=None) as client:
            return client.clusters.get("demo")

    try:
        for made in (ask_blocking, lambda: asyncio.run(ask())):
            with pytest.warns(raygate.GatewayWarning) as caught:
                assert made().name == "demo"
            assert [str(each.message) for each in caught] == ["spec.a is old", "one", "two, 100 of them"]
            assert {each.filename for each in caught} == {__file__}
    finally:
        server.stop(None).wait()


class Stopped(BaseException):
    """As KeyboardInterrupt, which pytest itself looks for."""


def test_interrupted_run_says_what_goes_on(gateway, capsys):
    def interrupt(state):
        if state.endswith("RUNNING"):
            raise Stopped

    pending, running = ({"submissionId": "s", "status": status} for status in ("PENDING", "RUNNING"))
    gateway.plan = [(201, pending), (200, running), (201, pending), (200, pending)]
    shown = []

    def show(state):
        shown.append(state)
        interrupt(state)

    with raygate.Client(rest=gateway.url, grpc=None) as client:
        with pytest.raises(Stopped):
            client.jobs.run("sleep 9", cluster="demo", name="s", progress=show)
    assert shown[-1] == "s goes on; client.submissions.stop('demo', 's') stops it"
    assert not [path for _, path, _, _ in gateway.seen if path.endswith(":stop")]

    async def cancelled():
        async with raygate.AsyncClient(rest=gateway.url, grpc=None) as client:
            before = len(gateway.seen)
            job = asyncio.create_task(client.jobs.run("sleep 9", cluster="demo", namespace="team", name="s"))
            while len(gateway.seen) < before + 2:  # the job is submitted, and asked about
                await asyncio.sleep(0.01)
            job.cancel()
            await job

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert "s goes on; client.submissions.stop('demo', 's', namespace='team') stops it" in capsys.readouterr().err


def test_run_in_a_queue(gateway):
    ended = {"metadata": {"name": "run-1"}, "status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}}
    gateway.plan = [(201, ended)]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        client.jobs.run("true", cluster={}, queue="team-a", priority_class="high", labels={"cost": "42"}, progress=False, logs=False)
        with pytest.raises(ValueError, match="'demo' runs already"):
            client.jobs.run("true", cluster="demo", queue="team-a")
    labels = next(body for _, _, _, body in gateway.seen if body)["metadata"]["labels"]
    assert labels == {"cost": "42", "kueue.x-k8s.io/queue-name": "team-a", "kueue.x-k8s.io/priority-class": "high"}


def test_profiles(gateway):
    ended = {"metadata": {"name": "run-1"}, "status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}}
    gateway.plan = [(200, {"profiles": [{"name": "a100x4", "namespace": "platform", "locked": ["spec.rayVersion"]}]}), (201, {}), (201, ended)]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        (profile,) = profiles = client.profiles(namespace="team")
        assert (profile.name, list(profile.locked)) == ("a100x4", ["spec.rayVersion"]) and ">platform<" in profiles._repr_html_()
        wanted = {"metadata": {"name": "demo", "labels": {"team": "a"}}}
        client.clusters.create(wanted, profile=profile.name)
        client.jobs.run("true", profile=profile.name, progress=False, logs=False)
        with pytest.raises(ValueError, match="or a profile"):
            client.jobs.run("true")
        with pytest.raises(ValueError, match="'demo' runs already"):
            client.jobs.run("true", cluster="demo", profile=profile.name)
    cluster, job = (body for _, _, _, body in gateway.seen if body)
    assert cluster["metadata"]["labels"] == {"team": "a", "raygate.io/profile": "a100x4"} and wanted["metadata"]["labels"] == {"team": "a"}
    assert job["metadata"]["labels"] == {"raygate.io/profile": "a100x4"} and job["spec"]["rayClusterSpec"] == {}


def test_gateway_that_is_away_is_named():
    for what in ({"rest": "127.0.0.1:1", "grpc": None}, {"grpc": "127.0.0.1:1", "rest": None}):
        with raygate.Client(retries=0, **what) as client, pytest.raises(raygate.UnavailableError, match="127.0.0.1:1"):
            client.clusters.list()


def test_long_lines_of_a_log(gateway):
    text = "x" * (1 << 20) + "\n" + "grüß" * 1000
    gateway.plan = [(200, text.encode())]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        assert "".join(client.jobs.logs("demo")) == text


def test_long_wait_takes_several_calls(gateway, monkeypatch):
    late, demo = (504, {"code": 4, "message": "not ready"}), {"metadata": {"name": "demo", "namespace": "team", "uid": "1"}}
    clock = iter([0, 0, 600, 1200])  # the end is computed from the first, what is left before each call from the others
    monkeypatch.setattr("raygate._sync.resources.time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    gateway.plan = [(201, demo), late, late, (200, demo), (200, {})]
    with raygate.Client(rest=gateway.url, grpc=None) as client, client.clusters.temporary(demo, timeout=1500, progress=False) as cluster:
        assert cluster.name == "demo" and len(gateway.seen) == 4  # nothing deletes it before the block ends
    assert [path.partition("timeout=")[2].partition("&")[0] for _, path, _, _ in gateway.seen[1:4]] == ["600s", "600s", "300s"]
    assert gateway.seen[4][0] == "DELETE"


def test_wait_ends(gateway):
    gateway.plan = [(504, {"code": 4, "message": "not ready"})]
    with raygate.Client(rest=gateway.url, grpc=None) as client, pytest.raises(raygate.DeadlineError):
        client.clusters.wait("demo", "ready", timeout=5)
    assert len(gateway.seen) == 1
