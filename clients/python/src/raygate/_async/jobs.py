"""RayJobs, and programs that run to their end."""

from __future__ import annotations

import contextlib
import os
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Union

import yaml

from raygate._async import io
from raygate._async.caller import AsyncCaller
from raygate._async.clusters import AsyncClusters
from raygate._async.logs import log
from raygate._async.packages import runtime_env_with
from raygate._async.resources import AsyncResources
from raygate._async.submissions import AsyncSubmissions
from raygate.errors import ApiError, NotReadyError
from raygate.kinds import JOB
from raygate.objects import Diagnosis, JobFailedError, Object, Submission
from raygate.progress import Display, Progress
from raygate.specs import PRIORITY_LABEL, PROFILE_LABEL, QUEUE_LABEL, ClusterSpec
from raygate.v2 import job_pb2
from raygate.workdir import is_folder

LogTarget = Union[bool, Callable[[str], Any]]
"""True writes a log to standard output, False leaves it out, and a function gets each part."""

# Seconds that a cluster stays after its job has ended, so that its log can be read to the end.
_LOG_TIME = 30

_ENDED = ("Complete", "Failed", "ValidationFailed")


class AsyncJobs(AsyncResources[job_pb2.RayJob]):
    """The RayJobs that there are."""

    def __init__(self, caller: AsyncCaller, clusters: AsyncClusters, submissions: AsyncSubmissions) -> None:
        super().__init__(caller, JOB)
        self._clusters, self._submissions = clusters, submissions

    async def stop(self, name: str, *, namespace: str | None = None) -> Object[job_pb2.RayJob]:
        """Ask Ray to stop the Ray job; the object stays."""
        return await self._one("Stop", namespace, name=name)

    def logs(
        self,
        name: str,
        *,
        namespace: str | None = None,
        follow: bool = False,
        tail_lines: int | None = None,
        source: str = "",
        attempt: int = 0,
        uid: str = "",
        file: str = "",
        node: str = "",
    ) -> AsyncIterator[str]:
        """Return the log of an attempt in parts: of the last one when it is 0. source is driver, also when empty, or submitter. Earlier attempts, and those
        of a deleted RayJob, which uid selects, need a history store. file selects a log of a node in the history, such as raylet.out: of the head unless
        node names a Pod. Raises NotReadyError before there is a log."""
        about = {"namespace": self._namespace(namespace), "name": name, "source": source, "attempt": attempt, "uid": uid, "file": file, "node": node}
        return log(self._caller, JOB.method("Get", suffix="Logs"), {**about, "follow": follow}, tail_lines)

    async def run(
        self,
        entrypoint: str,
        *,
        cluster: str | ClusterSpec | Mapping[str, Any] | None = None,
        profile: str = "",
        namespace: str | None = None,
        runtime_env: Mapping[str, Any] | None = None,
        working_dir: str | os.PathLike[str] = "",
        name: str = "",
        queue: str = "",
        priority_class: str = "",
        labels: Mapping[str, str] | None = None,
        progress: Progress = True,
        logs: LogTarget = True,
        stop_on_interrupt: bool = False,
    ) -> Submission | Object[job_pb2.RayJob]:
        """Run a command to its end: on a running cluster when `cluster` is a name; else as a RayJob with a cluster of its own, of which `cluster` is the
        spec, and which ends with the job. Of the metadata of a ClusterSpec, labels, queue and priority_class count. name is that of the RayJob, or the
        submission id. queue and priority_class name a LocalQueue and a WorkloadPriorityClass of Kueue. profile is one of `client.profiles()`, from which the
        gateway takes what the spec lacks; the spec may then be left out. They and labels are for a RayJob only; ValueError says so otherwise. working_dir is
        a URI or a local folder, which is uploaded without what .gitignore and .rayignore name, unless the same files are there already.

        Returns the Submission or the RayJob as it ended. Raises JobFailedError, with the diagnosis, when it has not succeeded. When the wait is interrupted,
        by Ctrl-C or as a task that is cancelled, stop_on_interrupt stops the job. Otherwise it goes on, and the progress says how to stop it.
        """
        if isinstance(cluster, ClusterSpec):
            wanted = cluster.with_profile(profile) if profile else cluster
            profile, queue, priority_class = wanted.profile, queue or wanted.queue, priority_class or wanted.priority_class
            labels, cluster = {**wanted.labels, **(labels or {})}, wanted.spec()
        if cluster is None:
            if not profile:
                raise ValueError("the job has no cluster: give the name of one that runs or the spec of its own as cluster, or a profile")
            cluster = {}
        all_labels = dict(labels or {})
        if profile:
            all_labels[PROFILE_LABEL] = profile
        if queue:
            all_labels[QUEUE_LABEL] = queue
        if priority_class:
            all_labels[PRIORITY_LABEL] = priority_class
        if isinstance(cluster, str) and all_labels:
            raise ValueError(f"queue, priority_class, profile and labels need a cluster of the job's own, but {cluster!r} runs already; give its spec as cluster")
        if not isinstance(cluster, str) and not name and is_folder(working_dir):
            name = "run-" + uuid.uuid4().hex[:8]  # the URL of the files is for a job of this name
        about = {"namespace": self._namespace(namespace), **({"cluster": cluster} if isinstance(cluster, str) else {"job_name": name})}
        metadata = {"labels": all_labels, **({"name": name} if name else {"generateName": "run-"})}
        display = Display(progress)
        try:
            runtime_env = await runtime_env_with(self._caller, working_dir, runtime_env, about, display.show)
            if isinstance(cluster, str):
                submitted = await self._submissions.create(cluster, entrypoint, namespace=namespace, submission_id=name, runtime_env=runtime_env)
                return await self._follow_submission(display, cluster, submitted, namespace, logs, stop_on_interrupt)
            # HTTPMode: the shell of a submitter would take a command of several parts for several commands.
            spec: dict[str, Any] = {"entrypoint": entrypoint, "submissionMode": "HTTPMode", "rayClusterSpec": dict(cluster)}
            spec |= {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": _LOG_TIME}
            if runtime_env:
                spec["runtimeEnvYAML"] = yaml.safe_dump(dict(runtime_env))
            made = await self.create({"metadata": metadata, "spec": spec}, namespace=namespace)
            return await self._follow(display, made, logs, stop_on_interrupt)
        finally:
            display.end()

    async def follow(
        self, name: str, *, namespace: str | None = None, progress: Progress = True, logs: LogTarget = True, stop_on_interrupt: bool = False
    ) -> Object[job_pb2.RayJob]:
        """Wait for the end of a RayJob, as run does: with its log, and JobFailedError when it has not succeeded."""
        display = Display(progress)
        try:
            return await self._follow(display, await self.get(name, namespace=namespace), logs, stop_on_interrupt)
        finally:
            display.end()

    async def _follow_submission(
        self, display: Display, cluster: str, job: Submission, namespace: str | None, logs: LogTarget, stop_on_interrupt: bool
    ) -> Submission:
        where = f", namespace={namespace!r}" if namespace else ""
        stop = (lambda: self._submissions.stop(cluster, job.id, namespace=namespace)) if stop_on_interrupt else None
        async with _interruptible(display, job.id, f"client.submissions.stop({cluster!r}, {job.id!r}{where})", stop):
            while job.status == "PENDING":
                display.show(f"{job.id}: PENDING")
                await io.sleep(0.5)
                job = await self._submissions.get(cluster, job.id, namespace=namespace)
            display.show(f"{job.id}: {job.status}")
            if logs is not False:
                display.end()
                await _write(self._submissions.logs(cluster, job.id, namespace=namespace, follow=True), logs)
            job = await self._submissions.ended(cluster, job.id, namespace=namespace)
        display.show(f"{job.id}: {job.status}")
        if job.status != "SUCCEEDED":
            raise JobFailedError(f"{job.id} has {job.status}: {job.message.message}", job, await _findings(self._clusters, cluster, namespace))
        return job

    async def _follow(self, display: Display, job: Object[job_pb2.RayJob], logs: LogTarget, stop_on_interrupt: bool) -> Object[job_pb2.RayJob]:
        what, written = f"RayJob {job.namespace}/{job.name}", logs is False
        stop = (lambda: self.stop(job.name, namespace=job.namespace)) if stop_on_interrupt else None
        async with _interruptible(display, what, f"client.jobs.stop({job.name!r}, namespace={job.namespace!r})", stop):
            while job.state not in _ENDED:
                display.show(f"{what}: {job.state or 'created'}")
                if job.state == "Running" and not written:
                    display.end()
                    written = await self._log_of(job, logs)
                await io.sleep(1)
                job = await self.get(job.name, namespace=job.namespace)
            if not written:  # it ended between two looks
                display.end()
                with contextlib.suppress(ApiError):
                    await self._log_of(job, logs)
        display.show(f"{what}: {job.state}")
        status = job.message.status
        if job.state != "Complete" or status.job_status != "SUCCEEDED":  # a job that was stopped is complete
            text = f"{what} ended as {job.state} {status.job_status}: {status.message}"
            raise JobFailedError(text, job, await _findings(self, job.name, job.namespace))
        return job

    async def _log_of(self, job: Object[job_pb2.RayJob], logs: LogTarget) -> bool:
        """Write the log of a RayJob to its end. False means that there is none yet."""
        try:
            await _write(self.logs(job.name, namespace=job.namespace, follow=True), logs)
        except NotReadyError:
            return False
        return True


@contextlib.asynccontextmanager
async def _interruptible(display: Display, what: str, remedy: str, stop: Callable[[], Any] | None) -> AsyncIterator[None]:
    """Stop what a block waits for when the block is interrupted, or show what does."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception):
            display.end()
            try:
                text = f"{what} is asked to stop" if stop and await stop() else f"{what} goes on; {remedy} stops it"
            except ApiError as failed:
                text = f"{what} goes on: {failed}; {remedy} stops it"
            display.show(text)
        raise


async def _write(parts: AsyncIterator[str], to: LogTarget) -> None:
    async for part in parts:
        if callable(to):
            to(part)
        else:
            sys.stdout.write(part)
            sys.stdout.flush()


async def _findings(objects: AsyncResources[Any], name: str, namespace: str | None) -> Diagnosis:
    """Return the diagnosis, or none: that it cannot be had must not hide why the job failed."""
    try:
        return await objects.diagnose(name, namespace=namespace)
    except ApiError:
        return Diagnosis()
