"""Client of raygate, the gateway for Ray on Kubernetes. docs/python.md describes it."""

from raygate import manifests
from raygate._async.client import AsyncClient
from raygate._async.resources import AsyncEvent
from raygate._sync.client import Client
from raygate._sync.resources import Event
from raygate.cluster import Cluster
from raygate.config import Config, from_environment, from_kubeconfig
from raygate.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    DeadlineError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    NotReadyError,
    RaygateError,
    UnauthenticatedError,
    UnavailableError,
    Violation,
)
from raygate.gateway_warnings import GatewayWarning
from raygate.gpus import GPUKind
from raygate.logins import login, logout
from raygate.objects import (
    Diagnosis,
    HistoryDetails,
    HistoryRecord,
    HistoryRecords,
    JobFailedError,
    KubernetesEvents,
    NotReadyInTimeError,
    Object,
    Objects,
    Profiles,
    Submission,
    SubmissionList,
    Usage,
)
from raygate.specs import Accelerator, ClusterSpec, CronJobSpec, Group, Head, JobSpec, Resources, ServiceSpec

__all__ = [
    "Accelerator",
    "AlreadyExistsError",
    "ApiError",
    "AsyncClient",
    "AsyncEvent",
    "Client",
    "Cluster",
    "ClusterSpec",
    "Config",
    "ConflictError",
    "CronJobSpec",
    "DeadlineError",
    "Diagnosis",
    "Event",
    "ForbiddenError",
    "GPUKind",
    "GatewayWarning",
    "Group",
    "Head",
    "HistoryDetails",
    "HistoryRecord",
    "HistoryRecords",
    "InvalidError",
    "JobFailedError",
    "JobSpec",
    "KubernetesEvents",
    "NotFoundError",
    "NotReadyError",
    "NotReadyInTimeError",
    "Object",
    "Objects",
    "Profiles",
    "RaygateError",
    "Resources",
    "ServiceSpec",
    "Submission",
    "SubmissionList",
    "UnauthenticatedError",
    "UnavailableError",
    "Usage",
    "Violation",
    "from_environment",
    "from_kubeconfig",
    "login",
    "logout",
    "manifests",
]
