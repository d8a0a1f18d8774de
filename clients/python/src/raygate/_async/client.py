"""The client."""

from __future__ import annotations

import os
from dataclasses import replace
from types import TracebackType
from typing import Any

from raygate import config as configs
from raygate._async.caller import AsyncCaller
from raygate._async.clusters import AsyncClusters
from raygate._async.history import AsyncHistory
from raygate._async.jobs import AsyncJobs
from raygate._async.resources import AsyncResources
from raygate._async.submissions import AsyncSubmissions
from raygate.config import Config
from raygate.kinds import CLUSTER, CRON_JOB, PROFILES, SERVICE, method
from raygate.objects import Object, Profiles, Usage
from raygate.v2 import cronjob_pb2, job_pb2, serve_pb2


class AsyncServices(AsyncResources[serve_pb2.RayService]):
    """The RayServices that there are."""

    async def scale(self, name: str, worker_group: str = "", *, replicas: int, namespace: str | None = None) -> Object[serve_pb2.RayService]:
        """Change the size of a worker group, which may be left out when there is only one."""
        return await self._one("Scale", namespace, name=name, worker_group=worker_group, replicas=replicas)


class AsyncCronJobs(AsyncResources[cronjob_pb2.RayCronJob]):
    """The RayCronJobs that there are."""

    async def trigger(self, name: str, *, namespace: str | None = None) -> Object[job_pb2.RayJob]:
        """Create one RayJob now, as the schedule would."""
        method = self._kind.method("Trigger")
        answer = await self._caller.unary(method, method.request(namespace=self._namespace(namespace), name=name))
        return Object(answer.job)


class AsyncClient:
    """A connection to a gateway, made with the first call. Without a Config it is made of the environment; fields of Config, by name, come first."""

    def __init__(self, config: Config | None = None, **fields: Any) -> None:
        self._caller = AsyncCaller(replace(config, **fields) if config is not None else configs.from_environment(**fields))
        self.clusters = AsyncClusters(self._caller, CLUSTER)
        self.submissions = AsyncSubmissions(self._caller)
        self.jobs = AsyncJobs(self._caller, self.clusters, self.submissions)
        self.services = AsyncServices(self._caller, SERVICE)
        self.cron_jobs = AsyncCronJobs(self._caller, CRON_JOB)
        self.history = AsyncHistory(self._caller)

    @classmethod
    def from_kubeconfig(cls, path: str | os.PathLike[str] | None = None, context: str | None = None, **fields: Any) -> AsyncClient:
        """Return a client that calls as the user of a kubeconfig; without a path of what kubectl reads."""
        return cls(configs.from_kubeconfig(path, context, **fields))

    @property
    def transport(self) -> str:
        """What calls are made by: grpc, rest, or nothing before the first call."""
        return self._caller.transport

    async def usage(self, month: str = "", group_by: str = "", *, namespace: str | None = None) -> Usage:
        """Return what deleted RayClusters of a namespace requested in a month in UTC, such as 2026-11; without one in the present month. group_by is
        queue, owner, or both with a comma between them; without it there is one sum."""
        return await self.history.usage(month, group_by, namespace)

    async def profiles(self, *, namespace: str | None = None) -> Profiles:
        """Return the profiles of the platform team that the caller may use in a namespace."""
        called = method(PROFILES, "ListProfiles")
        answer = await self._caller.unary(called, called.request(namespace=namespace or self._caller.config.namespace))
        return Profiles(answer.profiles)

    async def aclose(self) -> None:
        """End all calls."""
        await self._caller.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()
