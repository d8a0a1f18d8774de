# Made of _async/client.py by make_sync.py. DO NOT EDIT.
"""The client."""

from __future__ import annotations

import os
from dataclasses import replace
from types import TracebackType
from typing import Any

from raygate import config as configs
from raygate._sync.caller import Caller
from raygate._sync.clusters import Clusters
from raygate._sync.history import History
from raygate._sync.jobs import Jobs
from raygate._sync.resources import Resources
from raygate._sync.submissions import Submissions
from raygate.config import Config
from raygate.kinds import CLUSTER, CRON_JOB, PROFILES, SERVICE, method
from raygate.objects import Object, Profiles, Usage
from raygate.v2 import cronjob_pb2, job_pb2, serve_pb2


class Services(Resources[serve_pb2.RayService]):
    """The RayServices that there are."""

    def scale(self, name: str, worker_group: str = "", *, replicas: int, namespace: str | None = None) -> Object[serve_pb2.RayService]:
        """Change the size of a worker group, which may be left out when there is only one."""
        return self._one("Scale", namespace, name=name, worker_group=worker_group, replicas=replicas)


class CronJobs(Resources[cronjob_pb2.RayCronJob]):
    """The RayCronJobs that there are."""

    def trigger(self, name: str, *, namespace: str | None = None) -> Object[job_pb2.RayJob]:
        """Create one RayJob now, as the schedule would."""
        method = self._kind.method("Trigger")
        answer = self._caller.unary(method, method.request(namespace=self._namespace(namespace), name=name))
        return Object(answer.job)


class Client:
    """A connection to a gateway, made with the first call. Without a Config it is made of the environment; fields of Config, by name, come first."""

    def __init__(self, config: Config | None = None, **fields: Any) -> None:
        self._caller = Caller(replace(config, **fields) if config is not None else configs.from_environment(**fields))
        self.clusters = Clusters(self._caller, CLUSTER)
        self.submissions = Submissions(self._caller)
        self.jobs = Jobs(self._caller, self.clusters, self.submissions)
        self.services = Services(self._caller, SERVICE)
        self.cron_jobs = CronJobs(self._caller, CRON_JOB)
        self.history = History(self._caller)

    @classmethod
    def from_kubeconfig(cls, path: str | os.PathLike[str] | None = None, context: str | None = None, **fields: Any) -> Client:
        """Return a client that calls as the user of a kubeconfig; without a path of what kubectl reads."""
        return cls(configs.from_kubeconfig(path, context, **fields))

    @property
    def transport(self) -> str:
        """What calls are made by: grpc, rest, or nothing before the first call."""
        return self._caller.transport

    def usage(self, month: str = "", group_by: str = "", *, namespace: str | None = None) -> Usage:
        """Return what deleted RayClusters of a namespace requested in a month in UTC, such as 2026-11; without one in the present month. group_by is
        queue, owner, or both with a comma between them; without it there is one sum."""
        return self.history.usage(month, group_by, namespace)

    def profiles(self, *, namespace: str | None = None) -> Profiles:
        """Return the profiles of the platform team that the caller may use in a namespace."""
        called = method(PROFILES, "ListProfiles")
        answer = self._caller.unary(called, called.request(namespace=namespace or self._caller.config.namespace))
        return Profiles(answer.profiles)

    def close(self) -> None:
        """End all calls."""
        self._caller.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
