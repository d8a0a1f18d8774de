"""Typed descriptions of Ray objects, which create, replace and apply take in place of a dict.

They have the fields that most objects need. `template` of a group and `more` of an object take the rest, as `raygate.manifests` types it.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Optional, TypeVar, Union

import yaml
from google.protobuf.message import Message

from raygate.gpus import GPUKind, node_labels
from raygate.manifests import PodTemplate, RayClusterSpec, RayCronJobSpec, RayJobSpec, RayServiceSpec, Toleration
from raygate.v2 import cluster_pb2, cronjob_pb2, job_pb2, serve_pb2

M_co = TypeVar("M_co", bound=Message, covariant=True)

RAY_VERSION = "2.60.0"
"""The version of Ray of a cluster that names none."""

PROFILE_LABEL = "raygate.io/profile"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"


@dataclass(frozen=True)
class Accelerator:
    """Devices of each Pod, such as GPUs."""

    count: int = 1
    """Number for each Pod."""
    resource: str = "nvidia.com/gpu"
    """Extended resource of Kubernetes."""
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of nodes with such devices."""
    hosts: int = 1
    """Pods that share a slice of TPUs: a replica of a group has as many."""
    any_node_label: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Labels of which a node has one, with its possible values."""

    @classmethod
    def gpu(cls, count: int = 1, product: str = "", kind: Optional[GPUKind] = None) -> Accelerator:
        """Return NVIDIA GPUs. kind is a model, such as a100, by the labels of nodes of GPU feature discovery, GKE or Karpenter on AWS. product is the label
        nvidia.com/gpu.product of the nodes, such as NVIDIA-A100-SXM4-80GB. Without them the GPUs are any."""
        selector = {"nvidia.com/gpu.product": product} if product else {}
        return cls(count, node_selector=selector, any_node_label=node_labels(kind) if kind else {})

    @classmethod
    def tpu(cls, kind: str, topology: str, chips: int = 4) -> Accelerator:
        """Return a slice of TPUs of GKE. kind is the label cloud.google.com/gke-tpu-accelerator of the nodes, such as tpu-v5-lite-podslice, topology the
        chips of the slice, such as 2x4, and chips the number of each host."""
        hosts = max(1, math.prod(int(side) for side in topology.split("x")) // chips)
        return cls(chips, "google.com/tpu", {"cloud.google.com/gke-tpu-accelerator": kind, "cloud.google.com/gke-tpu-topology": topology}, hosts)


@dataclass(frozen=True)
class Resources:
    """What a Pod requests, and what it is limited to. None and empty leave a value to the default, and to the profile if there is one."""

    cpu: Union[float, str, None] = None
    """CPUs, such as 4 or "500m". 1 by default."""
    memory: str = ""
    """Memory, such as 16Gi. 4Gi by default."""
    accelerator: Union[Accelerator, None] = None
    """GPUs, TPUs or other devices."""
    more: Mapping[str, Union[int, str]] = field(default_factory=dict[str, Union[int, str]])
    """Other resources of Kubernetes by name, such as ephemeral-storage."""

    def amounts(self) -> dict[str, str]:
        """Return the amounts that are given, by resource."""
        amounts = {"cpu": "" if self.cpu is None else str(self.cpu), "memory": self.memory}
        if self.accelerator:
            amounts[self.accelerator.resource] = str(self.accelerator.count)
        amounts.update((name, str(amount)) for name, amount in self.more.items())
        return {name: amount for name, amount in amounts.items() if amount}


@dataclass(frozen=True, kw_only=True)
class Pods:
    """What the head and the groups of workers have."""

    resources: Resources = Resources()
    """What the Pod requests."""
    image: str = ""
    """Image with Ray. That of the cluster by default."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables of the Ray container."""
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of nodes, besides those of the accelerator."""
    tolerations: Sequence[Toleration] = ()
    """Taints of nodes that the Pod tolerates."""
    ray_start_params: Mapping[str, str] = field(default_factory=dict[str, str])
    """Flags of `ray start` without dashes, such as num-cpus."""
    template: PodTemplate = field(default_factory=lambda: PodTemplate())
    """The Pod template for all else. The other fields come before it; the first container is the one of Ray."""

    def _group(self, container: str, cluster: ClusterSpec) -> dict[str, Any]:
        template: dict[str, Any] = dict(self.template)
        pod: dict[str, Any] = dict(template.get("spec", {}))
        containers: list[dict[str, Any]] = pod.get("containers") or [{}]
        first, others = containers[0], containers[1:]
        ray = self._container({"name": container, **first}, cluster)
        if len(ray) > 1 or others:
            pod["containers"] = [ray, *others]
        accelerator = self.resources.accelerator
        if selector := {**pod.get("nodeSelector", {}), **(accelerator.node_selector if accelerator else {}), **self.node_selector}:
            pod["nodeSelector"] = selector
        if accelerator and accelerator.any_node_label:
            pod["affinity"] = _with_any_label(pod.get("affinity", {}), accelerator.any_node_label)
        if self.tolerations:
            pod["tolerations"] = [*pod.get("tolerations", ()), *self.tolerations]
        if pod:
            template["spec"] = pod
        return {**({"rayStartParams": dict(self.ray_start_params)} if self.ray_start_params else {}), **({"template": template} if template else {})}

    def _container(self, given: Mapping[str, Any], cluster: ClusterSpec) -> dict[str, Any]:
        ray = dict(given)
        if image := self.image or ray.get("image") or cluster.image or ("" if cluster.profile else f"rayproject/ray:{cluster.ray_version or RAY_VERSION}"):
            ray["image"] = image
        asked = self.resources.amounts()
        if not cluster.profile and "resources" not in ray:
            asked = {"cpu": "1", "memory": "4Gi", **asked}
        if asked:
            before = ray.get("resources", {})
            ray["resources"] = {**before, **{part: {**before.get(part, {}), **asked} for part in ("requests", "limits")}}
        if self.env:
            others = [each for each in ray.get("env", ()) if each["name"] not in self.env]
            ray["env"] = others + [{"name": name, "value": value} for name, value in self.env.items()]
        return ray


def _with_any_label(affinity: Mapping[str, Any], labels: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the affinity, which also requires one of the labels of a node."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    nodes: Mapping[str, Any] = affinity.get("nodeAffinity", {})
    selector: Mapping[str, Any] = nodes.get(required, {})
    given: Sequence[Mapping[str, Any]] = selector.get("nodeSelectorTerms") or [{}]
    terms = [
        {**term, "matchExpressions": [*term.get("matchExpressions", ()), {"key": label, "operator": "In", "values": list(values)}]}
        for term in given
        for label, values in labels.items()
    ]
    return {**affinity, "nodeAffinity": {**nodes, required: {"nodeSelectorTerms": terms}}}


@dataclass(frozen=True, kw_only=True)
class Head(Pods):
    """The head of a cluster."""

    def group(self, cluster: ClusterSpec) -> dict[str, Any]:
        """Return it as manifests have it."""
        return self._group("ray-head", cluster)


@dataclass(frozen=True, kw_only=True)
class Group(Pods):
    """A group of equal workers."""

    name: str = field(default="workers", kw_only=False)
    """Name of the group, unique in its cluster."""
    replicas: int = field(default=1, kw_only=False)
    """Number of workers, or of slices of TPUs."""
    min_replicas: Union[int, None] = None
    """The least that the autoscaler keeps. None means 0."""
    max_replicas: Union[int, None] = None
    """The most that the autoscaler makes. None means no limit."""

    def group(self, cluster: ClusterSpec) -> dict[str, Any]:
        """Return it as manifests have it."""
        hosts = self.resources.accelerator.hosts if self.resources.accelerator else 1
        sizes = {"replicas": self.replicas, "minReplicas": self.min_replicas, "maxReplicas": self.max_replicas, "numOfHosts": hosts if hosts > 1 else None}
        return {"groupName": self.name, **{name: size for name, size in sizes.items() if size is not None}, **self._group("ray-worker", cluster)}


@dataclass(frozen=True, kw_only=True)
class Spec(Generic[M_co]):
    """What the descriptions of all kinds have."""

    name: str = ""
    """Name of the object. Without one the gateway makes one."""
    namespace: str = ""
    """Namespace of the object. That of the call, or of the client, by default."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of the object."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations of the object."""
    queue: str = ""
    """LocalQueue of Kueue."""
    priority_class: str = ""
    """WorkloadPriorityClass of Kueue."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the manifest."""

    @abstractmethod
    def with_profile(self, profile: str) -> Spec[M_co]:
        """Return the same with a profile for what it does not say."""

    def _metadata(self, prefix: str, profile: str = "") -> dict[str, Any]:
        named = {PROFILE_LABEL: profile, QUEUE_LABEL: self.queue, PRIORITY_LABEL: self.priority_class}
        metadata: dict[str, Any] = {"name": self.name} if self.name else {"generateName": prefix}
        metadata["labels"] = {**self.labels, **{label: value for label, value in named.items() if value}}
        more = {"namespace": self.namespace, "annotations": dict(self.annotations)}
        return {**metadata, **{member: value for member, value in more.items() if value}}


@dataclass(frozen=True, kw_only=True)
class ClusterSpec(Spec[cluster_pb2.RayCluster]):
    """A RayCluster, of its own or that of a job or service."""

    head: Head = Head()
    """The head."""
    groups: Sequence[Group] = ()
    """The groups of workers."""
    image: str = ""
    """Image with Ray of all Pods. rayproject/ray of the version by default."""
    ray_version: str = ""
    """Version of Ray in the image. RAY_VERSION by default."""
    autoscaling: bool = False
    """Lets Ray's autoscaler change the number of workers."""
    profile: str = ""
    """Profile of the platform team, one of `client.profiles()`, for all that is not given: the defaults of image, version and resources do not apply."""
    more: RayClusterSpec = field(default_factory=lambda: RayClusterSpec())
    """Other fields of the spec, such as autoscalerOptions."""

    def spec(self) -> dict[str, Any]:
        """Return the spec of the manifest."""
        spec: dict[str, Any] = {}
        if version := self.ray_version or ("" if self.profile else RAY_VERSION):
            spec["rayVersion"] = version
        if head := self.head.group(self):
            spec["headGroupSpec"] = head
        if self.groups:
            spec["workerGroupSpecs"] = [group.group(self) for group in self.groups]
        if self.autoscaling:
            spec["enableInTreeAutoscaling"] = True
        return {**spec, **self.more}

    def to_dict(self) -> dict[str, Any]:
        return {"metadata": self._metadata("cluster-", self.profile), "spec": self.spec()}

    def with_profile(self, profile: str) -> ClusterSpec:
        return replace(self, profile=profile)


@dataclass(frozen=True, kw_only=True)
class JobSpec(Spec[job_pb2.RayJob]):
    """A RayJob. `client.jobs.run` makes one, and waits for its end."""

    entrypoint: str = field(kw_only=False)
    """Shell command."""
    cluster: Union[ClusterSpec, str] = ClusterSpec()
    """The cluster that it gets, and that is deleted after its end; or the name of one that runs. Of metadata only the profile counts."""
    runtime_env: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Runtime environment of Ray, such as {"pip": ["torch"]}."""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    """Metadata of the job in Ray."""
    cpus: float = 0
    """CPUs that Ray reserves for the command itself."""
    gpus: float = 0
    """GPUs that Ray reserves for the command itself."""
    resources: Mapping[str, float] = field(default_factory=dict[str, float])
    """Custom resources that Ray reserves for the command itself."""
    retries: int = 0
    """How often a job that failed is tried again, each time on a new cluster."""
    deadline: int = 0
    """Seconds after which the job fails. 0 means no limit."""
    keep_cluster: int = 0
    """Seconds for which the cluster stays after the end."""
    more: RayJobSpec = field(default_factory=lambda: RayJobSpec())
    """Other fields of the spec, such as submissionMode."""

    def spec(self) -> dict[str, Any]:
        """Return the spec of the manifest."""
        spec: dict[str, Any] = {"entrypoint": self.entrypoint}
        if isinstance(self.cluster, str):
            spec["clusterSelector"] = {"ray.io/cluster": self.cluster}
        else:
            spec |= {"rayClusterSpec": self.cluster.spec(), "shutdownAfterJobFinishes": True}
        given = {
            "runtimeEnvYAML": yaml.safe_dump(dict(self.runtime_env)) if self.runtime_env else "",
            "metadata": dict(self.metadata),
            "entrypointNumCpus": self.cpus,
            "entrypointNumGpus": self.gpus,
            "entrypointResources": json.dumps(dict(self.resources)) if self.resources else "",
            "backoffLimit": self.retries,
            "activeDeadlineSeconds": self.deadline,
            "ttlSecondsAfterFinished": self.keep_cluster,
        }
        return {**spec, **{name: value for name, value in given.items() if value}, **self.more}

    def to_dict(self) -> dict[str, Any]:
        return {"metadata": self._metadata("job-", _profile(self.cluster)), "spec": self.spec()}

    def with_profile(self, profile: str) -> JobSpec:
        return self if isinstance(self.cluster, str) else replace(self, cluster=self.cluster.with_profile(profile))


@dataclass(frozen=True, kw_only=True)
class ServiceSpec(Spec[serve_pb2.RayService]):
    """A RayService."""

    serve: Union[str, Mapping[str, Any]] = field(kw_only=False)
    """Configuration of Ray Serve with `applications`, as YAML or as a dict."""
    cluster: ClusterSpec = ClusterSpec()
    """The cluster that it gets. Of metadata only the profile counts."""
    more: RayServiceSpec = field(default_factory=lambda: RayServiceSpec())
    """Other fields of the spec, such as upgradeStrategy."""

    def to_dict(self) -> dict[str, Any]:
        serve = self.serve if isinstance(self.serve, str) else yaml.safe_dump(dict(self.serve))
        spec = {"serveConfigV2": serve, "rayClusterConfig": self.cluster.spec(), **self.more}
        return {"metadata": self._metadata("service-", self.cluster.profile), "spec": spec}

    def with_profile(self, profile: str) -> ServiceSpec:
        return replace(self, cluster=self.cluster.with_profile(profile))


@dataclass(frozen=True, kw_only=True)
class CronJobSpec(Spec[cronjob_pb2.RayCronJob]):
    """A RayCronJob."""

    schedule: str = field(kw_only=False)
    """Cron expression, such as 0 4 * * *, or @daily."""
    job: JobSpec = field(kw_only=False)
    """The RayJob of each time. Of metadata only the profile counts."""
    time_zone: str = ""
    """Zone of the schedule, such as Europe/Vienna. That of the operator by default."""
    more: RayCronJobSpec = field(default_factory=lambda: RayCronJobSpec())
    """Other fields of the spec, such as suspend."""

    def to_dict(self) -> dict[str, Any]:
        spec = {"schedule": self.schedule, "jobTemplate": self.job.spec(), **({"timeZone": self.time_zone} if self.time_zone else {}), **self.more}
        return {"metadata": self._metadata("cron-", _profile(self.job.cluster)), "spec": spec}

    def with_profile(self, profile: str) -> CronJobSpec:
        return replace(self, job=self.job.with_profile(profile))


def _profile(cluster: Union[ClusterSpec, str]) -> str:
    return "" if isinstance(cluster, str) else cluster.profile
