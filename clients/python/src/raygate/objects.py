"""What the gateway answers, as people and programs want it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, Union

from google.protobuf import timestamp_pb2
from google.protobuf.message import Message

from raygate import documents, display
from raygate.display import Rows, Table
from raygate.errors import RaygateError
from raygate.specs import PROFILE_LABEL, Spec
from raygate.v2 import diagnosis_pb2, event_pb2, history_pb2, history_service_pb2, profile_service_pb2, submission_pb2

M = TypeVar("M", bound=Message)


class Object(Generic[M]):
    """An object of Kubernetes as it was when it was read: a typed model in `message`, and a plain dict by `to_dict`."""

    def __init__(self, message: M) -> None:
        self.message = message

    @property
    def name(self) -> str:
        return str(self._metadata.name)

    @property
    def namespace(self) -> str:
        return str(self._metadata.namespace)

    @property
    def uid(self) -> str:
        return str(self._metadata.uid)

    @property
    def labels(self) -> dict[str, str]:
        return dict(self._metadata.labels)

    @property
    def state(self) -> str:
        """What the status says in one word, such as ready; empty when it says nothing yet."""
        status = self.to_dict().get("status", {})
        names = ("state", "jobDeploymentStatus", "serviceStatus")
        return next((str(status[name]) for name in names if status.get(name)), "")

    @property
    def _metadata(self) -> Any:
        return getattr(self.message, "metadata")

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest that kubectl would show. Integers are int."""
        return documents.to_dict(self.message)

    def __repr__(self) -> str:
        return f"<{getattr(self.message, 'kind') or 'object'} {self.namespace}/{self.name}{' ' + self.state if self.state else ''}>"

    def _repr_html_(self) -> str:
        return Objects([self]).to_html()


class Objects(Table, list[Object[M]]):
    """Objects of one kind; a table in a notebook."""

    def _table(self) -> Rows:
        return display.object_rows([each.to_dict() for each in self])


Manifest = Union[Mapping[str, Any], M, Object[M], Spec[M]]
"""What describes an object: a description such as ClusterSpec, a plain dict, a typed model, or an object that was read."""


def model(kind: type[M], manifest: Manifest[M], profile: str = "") -> M:
    """Return the typed model of a manifest; a description has no defaults with a profile. Raises ValueError or google.protobuf.json_format.ParseError,
    which is one, with the path of what is wrong."""
    if isinstance(manifest, Spec):
        manifest = (manifest.with_profile(profile) if profile else manifest).to_dict()
    if isinstance(manifest, Object):
        return manifest.message
    if isinstance(manifest, Mapping):
        return documents.from_dict(kind, manifest)
    return manifest


def with_profile(wanted: M, profile: str) -> M:
    """Return a manifest that names a profile, unless that is empty. The given one does not change."""
    if not profile:
        return wanted
    named = type(wanted)()
    named.CopyFrom(wanted)
    getattr(named, "metadata").labels[PROFILE_LABEL] = profile
    return named


class Profiles(Table, list[profile_service_pb2.Profile]):
    """The profiles of a namespace by name; a table in a notebook."""

    def _table(self) -> Rows:
        rows = [[p.name, p.namespace, f"cannot be used: {p.mistake}" if p.mistake else p.description] for p in self]
        return ["name", "namespace", "description"], rows, "no profiles"


class Submission:
    """A Ray job of a running cluster as it was when it was read."""

    def __init__(self, message: submission_pb2.Submission) -> None:
        self.message = message

    @property
    def id(self) -> str:
        return str(self.message.submission_id)

    @property
    def status(self) -> str:
        """PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED."""
        return str(self.message.status)

    @property
    def ended(self) -> bool:
        return self.status in ("SUCCEEDED", "FAILED", "STOPPED")

    def to_dict(self) -> dict[str, Any]:
        """Return it with the names that REST has."""
        return documents.to_dict(self.message)

    def __repr__(self) -> str:
        return f"<Submission {self.id} {self.status}>"

    def _repr_html_(self) -> str:
        return SubmissionList([self]).to_html()


class SubmissionList(Table, list[Submission]):
    """Ray jobs of a cluster; a table in a notebook."""

    def _table(self) -> Rows:
        rows = [[each.id, each.status, each.message.entrypoint, each.message.message] for each in self]
        return ["id", "status", "entrypoint", "message"], rows, "no submissions"


class HistoryRecord:
    """What is kept in short of an attempt of a RayJob that has ended, or of a deleted RayCluster or RayService."""

    def __init__(self, message: history_pb2.HistoryRecord) -> None:
        self.message = message

    def to_dict(self) -> dict[str, Any]:
        """Return it with the names that REST has."""
        return documents.to_dict(self.message)

    def __repr__(self) -> str:
        about = self.message
        return f"<HistoryRecord {about.kind} {about.namespace}/{about.name}{f' attempt {about.attempt}' if about.attempt else ''} {about.result}>"

    def _repr_html_(self) -> str:
        return HistoryRecords([self]).to_html()


class HistoryRecords(Table, list[HistoryRecord]):
    """Records of a namespace, the newest first; a table in a notebook."""

    def _table(self) -> Rows:
        about = [each.message for each in self]
        rows = [[r.kind, r.name, r.attempt or "", r.result, _time(r.end_time) if r.HasField("end_time") else "", r.message or r.reason] for r in about]
        return ["kind", "name", "attempt", "result", "ended", "message"], rows, "no records"


class HistoryDetails(HistoryRecord):
    """A record with all that is kept in `details`: the object, its events and Pods, the Ray job."""

    def __init__(self, details: history_service_pb2.GetHistoryResponse) -> None:
        super().__init__(details.record)
        self.details = details

    def to_dict(self) -> dict[str, Any]:
        """Return all of it with the names that REST has, such as rayCluster. Integers are int."""
        return documents.to_dict(self.details)


class Usage(Table, list[history_pb2.Usage]):
    """What deleted RayClusters requested in a month, in seconds; a table in a notebook."""

    def __init__(self, message: history_service_pb2.GetUsageResponse) -> None:
        super().__init__(message.items)
        self.month = message.month

    def _table(self) -> Rows:
        rows = [[u.queue, u.owner, u.clusters, *(round(s / 3600, 2) for s in (u.cpu_seconds, u.gpu_seconds, u.tpu_seconds, u.memory_gib_seconds))] for u in self]
        return ["queue", "owner", "clusters", "CPU hours", "GPU hours", "TPU hours", "GiB hours"], rows, "no usage"


class KubernetesEvents(Table, tuple[event_pb2.Event, ...]):
    """What happened to an object, the newest first; a table in a notebook."""

    def _table(self) -> Rows:
        rows = [[_time(e.last_time) if e.HasField("last_time") else "", e.type, e.reason, _named(e.object), e.message, e.count] for e in self]
        return ["last seen", "type", "reason", "object", "message", "count"], rows, "no events"


def _time(stamp: timestamp_pb2.Timestamp) -> str:
    return stamp.ToDatetime().isoformat(timespec="seconds") + "Z"


def _named(reference: event_pb2.ObjectReference) -> str:
    return f"{reference.kind} {reference.name}".strip()


class Diagnosis(Table, list[diagnosis_pb2.Finding]):
    """Why an object is not ready, the most decisive finding first; empty when nothing is wrong."""

    def __str__(self) -> str:
        return "\n".join(f"{f.severity} {f.reason}: {f.message}{' -> ' + f.remedy if f.remedy else ''}" for f in self)

    def _table(self) -> Rows:
        return (
            ["severity", "reason", "message", "remedy", "object"],
            [[f.severity, f.reason, f.message, f.remedy, _named(f.object)] for f in self],
            "no findings",
        )


class JobFailedError(RaygateError):
    """A job that has not succeeded. `job` is the Submission or the RayJob as it ended, `diagnosis` what the gateway finds."""

    def __init__(self, what: str, job: Submission | Object[Any], diagnosis: Diagnosis) -> None:
        super().__init__("\n".join(filter(None, [what, str(diagnosis)])))
        self.job = job
        self.diagnosis = diagnosis


class NotReadyInTimeError(RaygateError):
    """An object that is not ready in time. `diagnosis` says why."""

    def __init__(self, what: str, diagnosis: Diagnosis) -> None:
        super().__init__("\n".join(filter(None, [what, str(diagnosis)])))
        self.diagnosis = diagnosis
