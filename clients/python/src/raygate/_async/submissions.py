"""Ray jobs of running clusters."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

from raygate import documents
from raygate._async import io
from raygate._async.caller import AsyncCaller
from raygate._async.logs import log
from raygate._async.packages import runtime_env_with
from raygate.errors import AlreadyExistsError
from raygate.kinds import SUBMISSIONS, method
from raygate.objects import Submission, SubmissionList
from raygate.v2 import submission_pb2


class AsyncSubmissions:
    """The Ray jobs of running clusters."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def create(
        self,
        cluster: str,
        entrypoint: str,
        *,
        namespace: str | None = None,
        submission_id: str = "",
        runtime_env: Mapping[str, Any] | None = None,
        working_dir: str | os.PathLike[str] = "",
        **more: Any,
    ) -> Submission:
        """Submit a job; more are other fields of Submission, such as metadata and entrypoint_num_cpus. It gets an id when none is given, so that it is
        submitted once however often it has to be tried. working_dir is a URI or a local folder, which is uploaded without what .gitignore and .rayignore
        name, unless the cluster has the same files."""
        runtime_env = await runtime_env_with(self._caller, working_dir, runtime_env, self._about(cluster, namespace))
        job = submission_pb2.Submission(submission_id=submission_id or "raysubmit_" + uuid.uuid4().hex[:16], entrypoint=entrypoint, **more)
        if runtime_env is not None:
            job.runtime_env.CopyFrom(documents.struct(runtime_env))
        try:
            return await self._one("Create", cluster, namespace, submission=job)
        except AlreadyExistsError:
            if submission_id:
                raise
            return await self.get(cluster, job.submission_id, namespace=namespace)  # by a try whose answer was lost

    async def get(self, cluster: str, submission_id: str, *, namespace: str | None = None) -> Submission:
        """Return a job."""
        return await self._one("Get", cluster, namespace, submission_id=submission_id)

    async def list(self, cluster: str, *, namespace: str | None = None) -> SubmissionList:
        """Return all jobs, the newest first."""
        listing, found, token = method(SUBMISSIONS, "ListSubmissions"), SubmissionList(), ""
        while True:
            page = await self._caller.unary(listing, listing.request(**self._about(cluster, namespace), page_token=token))
            found += [Submission(each) for each in page.submissions]
            token = page.next_page_token
            if not token:
                return found

    async def stop(self, cluster: str, submission_id: str, *, namespace: str | None = None) -> Submission:
        """Ask Ray to stop a job, and do not wait until it has."""
        return await self._one("Stop", cluster, namespace, submission_id=submission_id)

    async def delete(self, cluster: str, submission_id: str, *, namespace: str | None = None) -> None:
        """Delete the record of a job that has ended."""
        called = method(SUBMISSIONS, "DeleteSubmission")
        await self._caller.unary(called, called.request(**self._about(cluster, namespace), submission_id=submission_id))

    def logs(
        self, cluster: str, submission_id: str, *, namespace: str | None = None, follow: bool = False, tail_lines: int | None = None
    ) -> AsyncIterator[str]:
        """Return the log of a job in parts; with follow until the job has ended."""
        about = {**self._about(cluster, namespace), "submission_id": submission_id, "follow": follow}
        return log(self._caller, method(SUBMISSIONS, "GetSubmissionLogs"), about, tail_lines)

    async def ended(self, cluster: str, submission_id: str, *, namespace: str | None = None, interval: float = 1.0) -> Submission:
        """Wait for the end of a job."""
        while True:
            job = await self.get(cluster, submission_id, namespace=namespace)
            if job.ended:
                return job
            await io.sleep(interval)

    async def _one(self, verb: str, cluster: str, namespace: str | None, **fields: Any) -> Submission:
        called = method(SUBMISSIONS, verb + "Submission")
        answer = await self._caller.unary(called, called.request(**self._about(cluster, namespace), **fields))
        return Submission(answer.submission)

    def _about(self, cluster: str, namespace: str | None) -> dict[str, Any]:
        return {"namespace": namespace or self._caller.config.namespace, "cluster": cluster}
