"""The client against a gateway: by gRPC and by REST, blocking and asynchronous."""

import asyncio
import os
import sys
import types
import uuid

import grpc
import httpx
import pytest
from conftest import IMAGE, RAY_VERSION, addresses, head, needs_gateway, printed

import raygate
from raygate import kinds

pytestmark = needs_gateway
LIMIT = 300  # seconds, for what would never end; a head of real Ray may take a minute on a busy machine


@pytest.fixture
def sleeping(client, name):
    """A suspended cluster, whose Pods nobody needs."""
    made = client.clusters.create({"metadata": {"name": name}, "spec": head(suspend=True)})
    yield made
    client.clusters.delete(name, allow_missing=True)


def test_integers_stay_integers(client, sleeping):
    shown = client.clusters.get(sleeping.name).to_dict()
    container = shown["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    assert repr(container["ports"][0]["containerPort"]) == "6379"
    assert repr(shown["metadata"]["generation"]) == "1"
    # What was read can be created again, and typed models are taken too.
    copy = client.clusters.get(sleeping.name)
    copy.message.metadata.Clear()
    copy.message.metadata.name = sleeping.name + "-copy"
    made = client.clusters.create(copy)
    client.clusters.delete(made.name, uid=made.uid)
    assert made.message.spec == sleeping.message.spec


def test_list_update_apply_replace(client, sleeping):
    assert sleeping.name in [each.name for each in client.clusters.list()]
    assert [each.name for each in client.clusters.list(filter=f'metadata.name = "{sleeping.name}"')] == [sleeping.name]
    labelled = client.clusters.update(sleeping.name, {"metadata": {"labels": {"a": "b"}}}, mask=["metadata.labels"])
    assert labelled.labels == {"a": "b"} and labelled.message.spec.suspend
    applied = client.clusters.apply({"metadata": {"name": sleeping.name, "labels": {"c": "d"}}}, field_manager="py")
    assert applied.labels == {"a": "b", "c": "d"}
    old = labelled.to_dict()
    with pytest.raises(raygate.ConflictError) as stale:
        client.clusters.replace(old)
    assert stale.value.code is grpc.StatusCode.ABORTED
    del old["metadata"]["resourceVersion"], old["metadata"]["labels"]
    assert client.clusters.replace(old, allow_overwrite=True).labels == {}


def test_update_by_a_mask_with_capitals(client, sleeping):
    changed = client.clusters.update(sleeping.name, {"spec": {"rayVersion": RAY_VERSION}}, mask=["spec.rayVersion"])
    assert changed.message.spec.ray_version == RAY_VERSION


def test_every_violation_has_its_field(client):
    groups = [{"groupName": "cpu", "minReplicas": 3, "maxReplicas": 1, "template": {"spec": {"containers": []}}}]
    with pytest.raises(raygate.InvalidError) as failed:
        client.clusters.create({"metadata": {"name": "wrong"}, "spec": head(workerGroupSpecs=groups)})
    error = failed.value
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT and error.reason == "INVALID_SPEC" and error.request_id
    assert error.http_status in (None, 400) and (error.http_status == 400) == (client.transport == "rest")
    assert len(error.violations) >= 2 and all(v.field.startswith("spec.workerGroupSpecs[0]") and v.description and v.reason for v in error.violations)
    assert all(v.field in str(error) for v in error.violations)


def test_not_found(client):
    with pytest.raises(raygate.NotFoundError) as failed:
        client.clusters.get("nope")
    assert (failed.value.reason, failed.value.violations) == ("NOT_FOUND", [])


def test_request_id_makes_a_create_safe_to_repeat(client, name):
    key, manifest = str(uuid.uuid4()), {"metadata": {"name": name}, "spec": head(suspend=True)}
    uids = {client.clusters.create(manifest, request_id=key).uid for _ in range(2)}
    client.clusters.delete(name)
    assert len(uids) == 1


def test_watch(client, name):
    watch = client.clusters.watch(skip_initial=True, filter=f'metadata.name = "{name}"')
    assert next(watch).type == "SYNCED"
    client.clusters.create({"metadata": {"name": name}, "spec": head(suspend=True)})
    added = next(each for each in watch if each.object)
    assert (added.type, added.object.name) == ("ADDED", name) and added.resume_token
    client.clusters.delete(name)
    assert next(each for each in watch if each.type == "DELETED").object.name == name
    watch.close()


def test_suspended_and_why(client, sleeping):
    assert client.clusters.wait(sleeping.name, "suspended").state == "suspended"
    assert "SUSPENDED" in str(client.clusters.diagnose(sleeping.name)).upper()
    with pytest.raises(raygate.DeadlineError):
        client.clusters.wait(sleeping.name, "ready", timeout=1)
    assert isinstance(client.clusters.events(sleeping.name), tuple)


def test_cron_jobs_and_services(client, name):
    cron = client.cron_jobs.create({"metadata": {"name": name}, "spec": {"schedule": "0 3 * * *", "suspend": True, "jobTemplate": {"entrypoint": "true", "rayClusterSpec": head()}}})
    assert cron.message.spec.schedule == "0 3 * * *" and client.cron_jobs.get(name).uid == cron.uid
    client.cron_jobs.delete(name)
    assert [each for each in client.services.list() if each.name == name] == []


@pytest.fixture
def folder(tmp_path, name):
    """200 files, of which one imports another, and one that is not sent."""
    (tmp_path / "lib").mkdir()
    for n in range(198):
        (tmp_path / "lib" / f"part{n}.py").write_text(f"TEXT = 'part {n} of the folder'\n")
    main = f"# {name}\nimport os, sys\nfrom lib import part197\nprint(part197.TEXT, os.path.exists('secret'))\nsys.exit(7)\n"
    for path, text in (("main.py", main), (".rayignore", "secret\n"), ("secret", "secret text\n")):
        (tmp_path / path).write_text(text)
    return tmp_path


def runs_twice(client, folder, after=lambda: None, **where):
    """Run a folder twice, of which the second time sends nothing."""
    lines, states = [], []
    for _ in range(2):
        with pytest.raises(raygate.JobFailedError, match="exit code 7"):
            client.jobs.run("python3 main.py", working_dir=folder, progress=states.append, logs=lines.append, **where)
        assert printed("".join(lines)).endswith("part 197 of the folder False\n")
        lines.clear()
        after()
    assert [state.partition(" of ")[0] for state in states if " files of " in state] == ["uploading 200 files", "uploaded 200 files", "not sent again: 200 files"]


def test_program_on_a_cluster_that_lives_as_long_as_the_block(client, name, folder, capsys):
    lines, states = [], []
    with client.clusters.temporary({"metadata": {"name": name}, "spec": head()}, progress=states.append) as cluster:
        assert cluster.state == "ready" and states[-1].endswith("ready")
        done = client.jobs.run("echo one; echo $GREETING", cluster=name, runtime_env={"env_vars": {"GREETING": "grüß"}}, progress=states.append, logs=lines.append)
        assert done.status == "SUCCEEDED" and states[-1] == f"{done.id}: SUCCEEDED"
        assert printed("".join(lines)) == "one\ngrüß\n"
        with pytest.raises(raygate.JobFailedError) as failed:
            client.jobs.run("echo oh no; exit 3", cluster=name, progress=False)
        assert failed.value.job.message.driver_exit_code == 3 and "oh no" in str(failed.value)
        assert printed(capsys.readouterr().out) == "oh no\n"
        assert {done.id, failed.value.job.id} <= {each.id for each in client.submissions.list(name)}
        log = "".join(client.submissions.logs(name, done.id))
        assert printed(log) == "one\ngrüß\n"
        assert "".join(client.submissions.logs(name, done.id, tail_lines=1)) == log.splitlines(keepends=True)[-1]
        assert "".join(client.clusters.logs(name, tail_lines=3)).count("\n") in (1, 2, 3)
        with pytest.raises(raygate.NotFoundError, match="it has .*raylet.out"):
            "".join(client.clusters.logs(name, file="nothing.out"))
        runs_twice(client, folder, cluster=name)
        assert client.submissions.ended(name, client.submissions.create(name, "python3 main.py", working_dir=folder).id).message.driver_exit_code == 7
    client.clusters.wait(name, "deleted")
    with pytest.raises(raygate.NotFoundError):
        client.clusters.get(name)


def test_cluster_and_its_ports_live_as_long_as_the_block(name, monkeypatch):
    cluster = raygate.Cluster(name, cpu="500m", memory="2Gi", ray_version=RAY_VERSION, image=IMAGE, progress=False)
    with cluster:
        assert cluster.name == name and cluster.ray_address.startswith("ray://127.0.0.1:")
        assert httpx.get(cluster.dashboard_url + "/api/version").json()["ray_version"]
        monkeypatch.setitem(sys.modules, "ray.job_submission", types.SimpleNamespace(JobSubmissionClient=lambda address: ["jobs of", address]))
        assert cluster.job_client == ["jobs of", cluster.dashboard_url]
        monkeypatch.setitem(sys.modules, "ray.job_submission", None)  # as if Ray were not installed
        with pytest.raises(raygate.RaygateError, match=r"pip install 'ray\[default\]'"):
            print(cluster.job_client)
    with pytest.raises(raygate.RaygateError, match="in its block only"):
        print(cluster.name)


def test_program_with_a_cluster_of_its_own(client, name):
    lines = []
    job = client.jobs.run("echo alone", cluster=head(rayVersion=RAY_VERSION), name=name, progress=False, logs=lines.append)
    assert job.state == "Complete" and "alone\n" in printed("".join(lines))
    client.jobs.delete(name)


def test_folder_with_a_cluster_of_its_own(client, name, folder):
    def gone():
        client.jobs.delete(name)
        client.jobs.wait(name, "deleted")

    runs_twice(client, folder, gone, cluster=head(rayVersion=RAY_VERSION), name=name)


def test_job_that_fails_says_why(client, name):
    with pytest.raises(raygate.JobFailedError) as failed:
        client.jobs.run("echo bad luck; exit 7", cluster=head(rayVersion=RAY_VERSION), name=name, progress=False, logs=False)
    assert failed.value.diagnosis and failed.value.job.state == "Failed"
    assert "bad luck" in str(failed.value)
    client.jobs.delete(name)


@pytest.mark.parametrize("transport", ["grpc", "rest"])
def test_asynchronous(transport, name):
    async def life():
        async with raygate.AsyncClient(**addresses(transport)) as client:
            manifest = {"metadata": {"name": name}, "spec": head()}
            watch = client.clusters.watch(skip_initial=True)
            assert (await anext(watch)).type == "SYNCED"
            async with client.clusters.temporary(manifest, progress=False) as cluster:
                parts = []
                run = client.jobs.run("echo here; sleep 1; echo there", cluster=cluster.name, progress=False, logs=parts.append)
                both = await asyncio.gather(run, client.clusters.get(name))
                assert both[0].status == "SUCCEEDED" and both[1].name == name and printed("".join(parts)) == "here\nthere\n"
            async for event in watch:
                if event.type == "DELETED" and event.object.name == name:
                    break
            await watch.aclose()
            with pytest.raises(raygate.NotFoundError):
                await client.jobs.get("nope")
            assert client.transport == transport

    asyncio.run(asyncio.wait_for(life(), LIMIT))


def test_history_needs_a_store(client):
    for call in (client.history.list, lambda: client.history.get("RayJob", "demo"), client.usage):
        with pytest.raises(raygate.NotReadyError) as failed:
            call()
        assert failed.value.reason == "NO_HISTORY"


def test_rest_is_used_where_grpc_does_not_get_through():
    with raygate.Client(grpc="127.0.0.1:1", rest=os.environ["RAYGATE_URL"], connect_timeout=0.5) as client:
        client.clusters.list()
        assert client.transport == "rest"
    with raygate.Client() as client:
        client.clusters.list()
        assert client.transport == "grpc"


def test_every_method_has_a_rule_for_rest():
    from google.api import annotations_pb2

    for service in [kinds.SUBMISSIONS, kinds.HISTORY, *(kind.service for kind in (kinds.CLUSTER, kinds.JOB, kinds.SERVICE, kinds.CRON_JOB))]:
        for method in service.methods:
            if method.client_streaming:
                continue  # REST has no streams of requests
            assert method.GetOptions().Extensions[annotations_pb2.http].WhichOneof("pattern"), method.full_name
