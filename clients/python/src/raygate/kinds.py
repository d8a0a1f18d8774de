"""The kinds of objects, and the methods that the protos describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message

from raygate.v2 import (
    cluster_pb2,
    cluster_service_pb2,
    cronjob_pb2,
    cronjob_service_pb2,
    history_service_pb2,
    job_pb2,
    job_service_pb2,
    profile_service_pb2,
    serve_pb2,
    serve_service_pb2,
    submission_service_pb2,
)

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class Kind(Generic[M]):
    """A kind of object that the gateway keeps."""

    message: type[M]
    """Typed model of an object."""
    kind: str
    """As manifests say, such as RayCluster."""
    name: str
    """As the names of methods say, such as Cluster."""
    field: str
    """Of the object in requests and responses."""
    service: ServiceDescriptor

    def method(self, verb: str, plural: bool = False, suffix: str = "") -> Method:
        """Return a method, such as that of the verb Create."""
        return method(self.service, f"{verb}{self.name}{'s' if plural else ''}{suffix}")


@dataclass(frozen=True)
class Method:
    """A method of a service."""

    descriptor: MethodDescriptor
    request: type[Message]
    response: type[Message]

    @property
    def path(self) -> str:
        """As gRPC names it."""
        return f"/{self.descriptor.containing_service.full_name}/{self.descriptor.name}"


def method(service: ServiceDescriptor, name: str) -> Method:
    """Return a method by its name. Raises KeyError when there is none."""
    found = service.methods_by_name[name]
    return Method(found, message_factory.GetMessageClass(found.input_type), message_factory.GetMessageClass(found.output_type))


def _service(module: Any) -> ServiceDescriptor:
    (service,) = module.DESCRIPTOR.services_by_name.values()
    assert isinstance(service, ServiceDescriptor)
    return service


CLUSTER = Kind(cluster_pb2.RayCluster, "RayCluster", "Cluster", "cluster", _service(cluster_service_pb2))
JOB = Kind(job_pb2.RayJob, "RayJob", "Job", "job", _service(job_service_pb2))
SERVICE = Kind(serve_pb2.RayService, "RayService", "Service", "service", _service(serve_service_pb2))
CRON_JOB = Kind(cronjob_pb2.RayCronJob, "RayCronJob", "CronJob", "cron_job", _service(cronjob_service_pb2))
SUBMISSIONS = _service(submission_service_pb2)
HISTORY = _service(history_service_pb2)
PROFILES = _service(profile_service_pb2)
