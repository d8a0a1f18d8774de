"""Local folders as working directories of jobs, without a gateway."""

import asyncio
import concurrent.futures
import hashlib
import io
import os
import zipfile

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

import raygate
from raygate import workdir
from raygate.v2 import submission_service_pb2, submission_service_pb2_grpc


def fill(folder, files):
    """Write files by path. A path with a trailing slash is a folder, and content that begins with -> a symbolic link."""
    for path, content in files.items():
        at = folder / path
        at.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            at.mkdir()
        elif content.startswith("->"):
            at.symlink_to(content[2:])
        else:
            at.write_text(content)
    return folder


def packed(folder):
    """The content of the files of a package by path."""
    package = workdir.pack(folder, 1 << 20)
    with package.content, zipfile.ZipFile(package.content) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.mark.parametrize(
    ("files", "want"),
    [
        (
            {
                **{".gitignore": "*.log\n[\n", ".rayignore": "/data/\n", "main.py": "", "a.log": "", "data/x": "", "sub/data/x": ""},
                **{"sub/.rayignore": "/y\n!a.log\n", "sub/y": "", "sub/a.log": "", "sub/deep/y": ""},
            },
            [".gitignore", ".rayignore", "main.py", "sub/.rayignore", "sub/data/x", "sub/deep/y"],
        ),
        ({".gitignore": "data/**\n!data/deep/\n*.log\n!keep.log\n", "data/a": "", "keep.log": "", "b.log": ""}, [".gitignore", "keep.log"]),
        ({".git/config": "", ".venv/x": "", "venv/x": "", "a/__pycache__/x.pyc": "", "main.py": ""}, ["main.py"]),
        ({"empty/": "", "ignored/x.log": "", ".gitignore": "*.log"}, [".gitignore", "empty/"]),
        ({"a/x": "", "file": "->a/x", "folder": "->a", "dangling": "->nothing"}, ["a/x", "file", "folder/x"]),
        ({"passwd": "->/etc/passwd", ".rayignore": "passwd", "a": ""}, [".rayignore", "a"]),
        ({"only/main.py": "", "only/empty/": ""}, [".raygate", "only/empty/", "only/main.py"]),
    ],
)
def test_what_is_packed(tmp_path, files, want):
    assert list(packed(fill(tmp_path, files))) == want


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"a/secret": "->../../secret"}, "a/secret: the symbolic link leads out of the folder"),
        ({"passwd": "->/etc/passwd"}, "passwd: the symbolic link leads out of the folder"),
        ({"folder": "->/etc"}, "folder/?: the symbolic link leads out of the folder"),
        ({"a/b/up": "->../../a"}, "a/b/up/: the symbolic link leads to a folder that contains it"),
        ({"sub/.rayignore": "->/etc/passwd"}, "sub/.rayignore: the symbolic link leads out of the folder"),
    ],
)
def test_links_out_of_the_folder_are_refused(tmp_path, files, error):
    with pytest.raises(raygate.RaygateError, match=error):
        packed(fill(tmp_path, files))


def test_same_files_make_the_same_package(tmp_path):
    names = set()
    for copy in ("one", "two"):
        folder = fill(tmp_path / copy, {"main.py": "print(1)", "run.sh": "true", "data/x": "x"})
        os.utime(folder / "main.py", (len(names), len(names)))
        (folder / "run.sh").chmod(0o700)
        package = workdir.pack(folder, 1 << 20)
        with package.content:
            data = package.content.read()
        assert package.name == f"_ray_pkg_{hashlib.sha256(data).hexdigest()}.zip" and (package.size, package.files) == (len(data), 3)
        names.add(package.name)
    assert len(names) == 1
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert [oct(each.external_attr >> 16) for each in archive.infolist()] == ["0o100644", "0o100644", "0o100755"]


def test_too_large(tmp_path):
    fill(tmp_path, {"small": "x"})
    (tmp_path / "model.bin").write_bytes(os.urandom(3000))
    (tmp_path / "part").write_bytes(os.urandom(2000))
    with pytest.raises(raygate.RaygateError, match=r"more than 3.9 KiB \(its files have 4.9 KiB\).*model.bin \(2.9 KiB\), part \(2.0 KiB\), small \(1 B\)"):
        workdir.pack(tmp_path, 4000)
    with pytest.raises(raygate.RaygateError, match="nothing: .*No such file"):
        workdir.pack(tmp_path / "nothing", 4000)


class Packages(submission_service_pb2_grpc.SubmissionServiceServicer):
    """Keeps packages, as the gateway does."""

    def __init__(self):
        self.kept, self.sent, self.submitted, self.refuse = {}, [], [], False

    def GetPackage(self, request, context):
        if request.package_name not in self.kept:
            info = any_pb2.Any()
            info.Pack(error_details_pb2.ErrorInfo(reason="PACKAGE_NOT_FOUND"))
            context.abort_with_status(rpc_status.to_status(status_pb2.Status(code=5, message="none", details=[info])))
        return submission_service_pb2.GetPackageResponse(uri="gcs://" + request.package_name)

    def UploadPackage(self, requests, context):
        first = next(requests)
        if self.refuse:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the store is full")
        self.sent.append(first)
        self.kept[first.package_name] = b"".join(each.data for each in requests)
        return submission_service_pb2.UploadPackageResponse(uri="gcs://" + first.package_name)

    def CreateSubmission(self, request, context):
        self.submitted.append(request.submission)
        return submission_service_pb2.CreateSubmissionResponse(submission=request.submission)


@pytest.fixture
def packages():
    server, packages = grpc.server(concurrent.futures.ThreadPoolExecutor(2)), Packages()
    submission_service_pb2_grpc.add_SubmissionServiceServicer_to_server(packages, server)
    packages.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield packages
    server.stop(None).wait()


def submit(address, asynchronous, folder, **more):
    """Submit by gRPC, or by REST if the address is a URL."""
    where = {"grpc": None, "rest": address} if address.startswith("http://") else {"grpc": address, "rest": None}

    async def ask():
        async with raygate.AsyncClient(**where) as client:
            return await client.submissions.create("demo", "true", namespace="team", working_dir=folder, **more)

    if asynchronous:
        return asyncio.run(ask())
    with raygate.Client(**where) as client:
        return client.submissions.create("demo", "true", namespace="team", working_dir=folder, **more)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_folder_is_sent_once(packages, tmp_path, asynchronous):
    (tmp_path / "noise").write_bytes(os.urandom(3 << 20))
    uris = {submit(packages.address, asynchronous, tmp_path, runtime_env={"pip": ["x"]}).message.runtime_env["working_dir"] for _ in range(2)}
    ((name, data),) = packages.kept.items()
    assert uris == {"gcs://" + name} and name == f"_ray_pkg_{hashlib.sha256(data).hexdigest()}.zip"
    (first,) = packages.sent
    assert (first.namespace, first.cluster, first.job_name, first.size) == ("team", "demo", "", len(data)) and len(packages.submitted) == 2
    assert packages.submitted[0].runtime_env["pip"][0] == "x"
    packages.kept.clear()
    packages.refuse = True
    with pytest.raises(raygate.ApiError, match="the store is full"):
        submit(packages.address, asynchronous, tmp_path)


def test_a_uri_is_no_folder(packages):
    assert submit(packages.address, False, "s3://bucket/x.zip").message.runtime_env["working_dir"] == "s3://bucket/x.zip"
    with pytest.raises(ValueError, match="both name the working directory"):
        submit(packages.address, False, "s3://bucket/x.zip", runtime_env={"working_dir": "."})
    assert not packages.sent


NONE = (404, {"code": 5, "message": "none", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "PACKAGE_NOT_FOUND"}]})


@pytest.mark.parametrize("asynchronous", [False, True])
def test_folder_by_rest(gateway, tmp_path, asynchronous):
    fill(tmp_path, {"main.py": "print(1)"})
    gateway.plan = [NONE, (200, {"uri": "gcs://files"}), (201, {"submissionId": "s"}), NONE, (403, {"code": 7, "message": "not allowed"})]
    submit(gateway.url, asynchronous, tmp_path)
    name = gateway.seen[0][1].rpartition("/")[2]
    assert gateway.seen[1][:2] == ("PUT", f"/apis/v2/namespaces/team/clusters/demo/packages/{name}")
    assert name == f"_ray_pkg_{hashlib.sha256(gateway.seen[1][3]).hexdigest()}.zip"
    assert gateway.seen[2][3]["runtimeEnv"] == {"working_dir": "gcs://files"}
    with pytest.raises(raygate.ForbiddenError, match="not allowed"):
        submit(gateway.url, asynchronous, tmp_path)


ended = {"metadata": {"name": "run-1"}, "status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}}


def test_folder_of_a_job_by_rest(gateway, tmp_path):
    gateway.plan = [NONE, (200, {"uri": "https://gateway/files"}), (201, ended)]
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        client.jobs.run("true", cluster={}, working_dir=tmp_path, name="train", progress=False, logs=False)
    (_, found, _, _), (verb, sent, _, _), (_, _, _, job) = gateway.seen
    assert (verb, sent) == ("PUT", found) and sent.endswith(".zip?jobName=train") and job["spec"]["runtimeEnvYAML"] == "working_dir: https://gateway/files\n"


def test_folder_of_a_job_with_its_own_cluster(gateway, tmp_path):
    fill(tmp_path, {"main.py": "print(1)"})
    gateway.plan, states = [(200, {"uri": "https://gateway/files"}), (201, ended)], []
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        client.jobs.run("true", cluster={}, working_dir=tmp_path, progress=states.append, logs=False)
    (_, found, _, _), (_, _, _, job) = gateway.seen
    assert found.startswith("/apis/v2/namespaces/default/packages/_ray_pkg_") and found.endswith("?jobName=" + job["metadata"]["name"])
    assert job["spec"]["runtimeEnvYAML"] == "working_dir: https://gateway/files\n" and states[0].startswith(f"not sent again: 1 files of {tmp_path}, ")
