"""A cluster for the duration of a block."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

from raygate._sync.client import Client
from raygate.errors import RaygateError
from raygate.gpus import GPUKind
from raygate.objects import Object
from raygate.progress import Progress
from raygate.specs import Accelerator, ClusterSpec, Group, Head, Resources
from raygate.v2 import cluster_pb2

if TYPE_CHECKING:
    from raygate.sessions import Session


class Cluster:
    """A RayCluster that is created at the beginning of a block and deleted at its end, with ports of this machine that lead to it.

    It needs the extra `session`. The block begins when the cluster is ready; raises NotReadyInTimeError with the diagnosis after `timeout` seconds.
    """

    def __init__(
        self,
        name: str = "",
        *,
        workers: int = 0,
        cpu: Union[float, str, None] = None,
        memory: str = "",
        gpu: Union[int, GPUKind, Accelerator] = 0,
        ray_version: str = "",
        image: str = "",
        node_selector: Optional[Mapping[str, str]] = None,
        labels: Optional[Mapping[str, str]] = None,
        queue: str = "",
        profile: str = "",
        spec: Optional[ClusterSpec] = None,
        namespace: Optional[str] = None,
        ports: Sequence[str] = (),
        timeout: float = 600,
        progress: Progress = True,
        client: Optional[Client] = None,
    ) -> None:
        """Describe the cluster; without a name it gets one. `cpu` and `memory` are those of each Pod, by default 1 and 4Gi. `gpu` has the NVIDIA GPUs or
        other devices of each worker, or of the head if there are no workers: a number, or one GPU of a kind such as "a100". The image is by default
        rayproject/ray of the version. `node_selector` has labels of nodes for Pods with devices. `queue` is a queue of Kueue, and `profile` has what is not
        given. `spec` describes a cluster of any form in place of all these. The ports are those of a session. Without a client it is made of the
        environment."""
        self._client, self._own = client, client is None
        self._namespace, self._ports, self._timeout, self._progress = namespace, ports, timeout, progress
        if spec is None:
            if not isinstance(gpu, Accelerator):
                gpu = Accelerator.gpu(gpu) if isinstance(gpu, int) else Accelerator.gpu(kind=gpu)
            devices = replace(gpu, node_selector={**gpu.node_selector, **(node_selector or {})}) if gpu.count else None
            plain, equipped = Resources(cpu, memory), Resources(cpu, memory, devices)
            spec = ClusterSpec(
                head=Head(resources=plain if workers else equipped),
                groups=[Group(replicas=workers, resources=equipped)] if workers else [],
                name=name,
                ray_version=ray_version,
                image=image,
                labels=labels or {},
                queue=queue,
                profile=profile,
            )
        self.manifest: dict[str, Any] = spec.to_dict()
        """What is created; change it before the block for all else."""
        self._stack = contextlib.ExitStack()
        self._object: Optional[Object[cluster_pb2.RayCluster]] = None
        self._session: Optional[Session] = None

    def __enter__(self) -> Cluster:
        with contextlib.ExitStack() as stack:
            if self._client is None:
                self._client = stack.enter_context(Client())
            clusters = self._client.clusters
            made = clusters.temporary(self.manifest, namespace=self._namespace, timeout=self._timeout, progress=self._progress)
            self._object = stack.enter_context(made)
            self._session = stack.enter_context(clusters.session(self._object.name, self._ports, namespace=self._object.namespace))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()
        if self._own:
            self._client = None
        self._object = self._session = None

    @property
    def object(self) -> Object[cluster_pb2.RayCluster]:
        """The RayCluster, as it was when it became ready."""
        if self._object is None:
            raise RaygateError("the cluster exists in its block only: with raygate.Cluster(...) as cluster")
        return self._object

    @property
    def name(self) -> str:
        """The name of the RayCluster."""
        return self.object.name

    @property
    def session(self) -> Session:
        """The ports of this machine that lead to the head."""
        if self._session is None:
            raise RaygateError("the session exists in the block only: with raygate.Cluster(...) as cluster")
        return self._session

    @property
    def ray_address(self) -> str:
        """What ray.init takes. Ray Client needs the cluster's versions of Python and Ray."""
        return self.session.ray_address

    @property
    def dashboard_url(self) -> str:
        """The dashboard, on this machine."""
        return self.session.dashboard_url

    @property
    def job_client(self) -> Any:
        """A new ray.job_submission.JobSubmissionClient. It needs the package ray[default]; raises RaygateError without Ray."""
        url = self.dashboard_url
        try:
            jobs = importlib.import_module("ray.job_submission")
        except ImportError as error:
            raise RaygateError("job_client needs the package ray: pip install 'ray[default]'") from error
        return jobs.JobSubmissionClient(url)

    def __repr__(self) -> str:
        return f"<cluster {self._object.namespace}/{self._object.name}>" if self._object else "<cluster outside of its block>"
