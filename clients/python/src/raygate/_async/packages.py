"""Local folders as working directories of jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Optional

from raygate import workdir
from raygate._async import io
from raygate._async.caller import AsyncCaller
from raygate.errors import NotFoundError
from raygate.kinds import SUBMISSIONS, method


async def runtime_env_with(
    caller: AsyncCaller,
    working_dir: str | os.PathLike[str],
    runtime_env: Mapping[str, Any] | None,
    about: Mapping[str, str],
    show: Callable[[str], None] = lambda _: None,
) -> Optional[Mapping[str, Any]]:
    """Return a runtime environment with a working directory, which is uploaded if it is a local folder; see upload. Without one it stays as it is."""
    if not os.fspath(working_dir):
        return runtime_env
    if runtime_env and "working_dir" in runtime_env:
        raise ValueError("working_dir and runtime_env both name the working directory")
    uri = await upload(caller, working_dir, about, show) if workdir.is_folder(working_dir) else os.fspath(working_dir)
    return {**(runtime_env or {}), "working_dir": uri}


async def upload(caller: AsyncCaller, folder: str | os.PathLike[str], about: Mapping[str, str], show: Callable[[str], None]) -> str:
    """Pack a folder and send it, unless the same files are there already, and return its URI. about has the namespace, and the cluster that runs or the
    job_name of a RayJob with a cluster of its own. show gets the progress."""
    limit = workdir.MAX_UPLOAD if about.get("cluster") else workdir.MAX_JOB_UPLOAD
    package = await io.run(lambda: workdir.pack(folder, limit))
    with package.content:
        find, send = method(SUBMISSIONS, "GetPackage"), method(SUBMISSIONS, "UploadPackage")
        try:
            answer = await caller.unary(find, find.request(**about, package_name=package.name))
        except NotFoundError as error:
            if error.reason != "PACKAGE_NOT_FOUND":
                raise
        else:
            show(f"not sent again: {package}")
            return str(answer.uri)
        show(f"uploading {package}")
        first = send.request(**about, package_name=package.name, size=package.size)
        answer = await caller.upload(send, first, package.parts())
        show(f"uploaded {package}")
        return str(answer.uri)
