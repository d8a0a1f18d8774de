"""RayClusters."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from raygate._async import io
from raygate._async.logs import log
from raygate._async.resources import AsyncResources
from raygate.errors import DeadlineError, RaygateError
from raygate.kinds import SUBMISSIONS, method
from raygate.objects import Manifest, NotReadyInTimeError, Object
from raygate.progress import Display, Progress
from raygate.v2 import cluster_pb2

if TYPE_CHECKING:
    from raygate.sessions import Session


class AsyncClusters(AsyncResources[cluster_pb2.RayCluster]):
    """The RayClusters that there are."""

    async def scale(
        self,
        name: str,
        worker_group: str = "",
        *,
        replicas: int | None = None,
        min_replicas: int | None = None,
        max_replicas: int | None = None,
        namespace: str | None = None,
        etag: str = "",
    ) -> Object[cluster_pb2.RayCluster]:
        """Change the size of a worker group, which may be left out when there is only one. What is None stays."""
        sizes = {"replicas": replicas, "min_replicas": min_replicas, "max_replicas": max_replicas}
        given = {field: size for field, size in sizes.items() if size is not None}
        return await self._one("Scale", namespace, name=name, worker_group=worker_group, etag=etag, **given)

    def logs(
        self, name: str, *, node: str = "", file: str = "raylet.out", tail_lines: int | None = None, namespace: str | None = None
    ) -> AsyncIterator[str]:
        """Return a log of a node of a running cluster in parts: of the head, unless node names a Pod, an address, or an id in Ray."""
        about = {"namespace": self._namespace(namespace), "cluster": name, "node": node, "file": file}
        return log(self._caller, method(SUBMISSIONS, "GetNodeLogs"), about, tail_lines)

    @contextlib.asynccontextmanager
    async def temporary(
        self,
        manifest: Manifest[cluster_pb2.RayCluster],
        *,
        profile: str = "",
        namespace: str | None = None,
        timeout: float = 600,
        progress: Progress = True,
    ) -> AsyncIterator[Object[cluster_pb2.RayCluster]]:
        """Create a cluster, as create does, that lives as long as the block, and enter the block once it is ready. Raises NotReadyInTimeError with the diagnosis."""
        made = await self.create(manifest, profile=profile, namespace=namespace)
        display = Display(progress)
        try:
            display.show(f"{made.message.kind} {made.namespace}/{made.name}: waits until it is ready")
            try:
                ready = await self.wait(made.name, "ready", namespace=made.namespace, timeout=timeout)
            except DeadlineError as error:
                findings = await self.diagnose(made.name, namespace=made.namespace)
                raise NotReadyInTimeError(f"{made.namespace}/{made.name} is not ready after {timeout:.0f} s", findings) from error
            display.show(f"{made.message.kind} {made.namespace}/{made.name}: ready")
            display.end()
            yield ready
        finally:
            display.end()
            # By uid: a cluster of the same name that somebody has made since is not this one.
            await self.delete(made.name, namespace=made.namespace, uid=made.uid, allow_missing=True)

    @contextlib.asynccontextmanager
    async def session(self, name: str, ports: Sequence[str] = (), *, namespace: str | None = None) -> AsyncIterator[Session]:
        """Open ports of this machine that lead to the head of a cluster, for the duration of the block: to Ray Client and the dashboard, or to ports that the
        cluster declares, by number or name. Raises RaygateError without the package websockets, which is the extra `session`."""
        try:
            from raygate.sessions import Session
        except ImportError as error:
            raise RaygateError("a session needs the package websockets: pip install 'raygate[session]'") from error
        opened = await io.run(lambda: Session(self._caller.config, self._namespace(namespace), name, ports))
        try:
            yield opened
        finally:
            await io.run(opened.close)
