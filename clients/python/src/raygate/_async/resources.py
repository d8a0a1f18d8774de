"""The methods that all kinds have."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Optional, TypeVar

from google.protobuf import duration_pb2
from google.protobuf.message import Message

from raygate._async import io
from raygate._async.caller import AsyncCaller
from raygate.errors import ApiError, DeadlineError
from raygate.kinds import Kind, Method
from raygate.objects import Diagnosis, KubernetesEvents, Manifest, Object, Objects, model, with_profile
from raygate.retry import backoff

M = TypeVar("M", bound=Message)

# The longest that the gateway lets a call wait.
_LONGEST_WAIT = 600


@dataclass(frozen=True)
class AsyncEvent(Generic[M]):
    """Something that a watch saw."""

    type: str
    """ADDED, MODIFIED or DELETED with an object; SYNCED, HEARTBEAT, or RESET: forget everything, ADDED for all objects follow."""
    object: Optional[Object[M]]
    resume_token: str
    """Goes on behind this event."""


class AsyncResources(Generic[M]):
    """Objects of one kind. `namespace` of a method is that of the client when it is left out."""

    def __init__(self, caller: AsyncCaller, kind: Kind[M]) -> None:
        self._caller, self._kind = caller, kind

    async def create(
        self, manifest: Manifest[M], *, profile: str = "", namespace: str | None = None, validate_only: bool = False, request_id: str = ""
    ) -> Object[M]:
        """Create an object. The gateway adds what it lacks from the profile, one of `client.profiles()`. With the same request_id, a UUID, the same create
        returns the object first created; one is made when it is left out."""
        wanted = with_profile(model(self._kind.message, manifest, profile), profile)
        where = namespace or getattr(wanted, "metadata").namespace
        return await self._one("Create", where, **{self._kind.field: wanted}, validate_only=validate_only, request_id=request_id)

    async def get(self, name: str, *, namespace: str | None = None, view: str = "") -> Object[M]:
        """Return an object. view is FULL, also when empty, or BASIC."""
        return await self._one("Get", namespace, name=name, view=view)

    async def list(
        self, *, namespace: str | None = None, all_namespaces: bool = False, label_selector: str = "", filter: str = "", order_by: str = "", view: str = "FULL"
    ) -> Objects[M]:
        """Return all objects of a namespace, or of all. Pages are read one after the other."""
        method, found, token = self._kind.method("List", plural=True), Objects[M](), ""
        where = "" if all_namespaces else self._namespace(namespace)
        while True:
            request = method.request(
                namespace=where, page_size=500, page_token=token, label_selector=label_selector, filter=filter, order_by=order_by, view=view
            )
            page = await self._caller.unary(method, request)
            found.extend(Object(item) for item in page.items)
            token = page.next_page_token
            if not token:
                return found

    async def update(
        self, name: str, changes: Manifest[M], *, mask: Iterable[str] = (), namespace: str | None = None, etag: str = "", validate_only: bool = False
    ) -> Object[M]:
        """Change the fields that mask names, such as spec.suspend; without one those that are given. One that is named and not given is removed."""
        fields = {self._kind.field: model(self._kind.message, changes), "update_mask": {"paths": list(mask)}}
        return await self._one("Update", namespace, name=name, etag=etag, validate_only=validate_only, **fields)

    async def replace(
        self, manifest: Manifest[M], *, namespace: str | None = None, etag: str = "", allow_overwrite: bool = False, validate_only: bool = False
    ) -> Object[M]:
        """Replace metadata and spec. Raises ConflictError when the object is no more what metadata.resourceVersion says."""
        where, fields = self._named(manifest, namespace)
        return await self._one("Replace", where, **fields, etag=etag, allow_overwrite=allow_overwrite, validate_only=validate_only)

    async def apply(
        self, manifest: Manifest[M], *, namespace: str | None = None, field_manager: str = "", force: bool = False, validate_only: bool = False
    ) -> Object[M]:
        """Apply what is given on the server, and create the object when there is none. force takes fields over from other owners."""
        where, fields = self._named(manifest, namespace)
        return await self._one("Apply", where, **fields, field_manager=field_manager, force=force, validate_only=validate_only)

    async def delete(self, name: str, *, namespace: str | None = None, uid: str = "", propagation: str = "", allow_missing: bool = False) -> str:
        """Ask for a deletion and return the object's uid, empty when there was none. Only a deletion by uid is tried again."""
        method = self._kind.method("Delete")
        fields = {"name": name, "uid": uid, "propagation": propagation, "allow_missing": allow_missing}
        answer = await self._caller.unary(method, method.request(namespace=self._namespace(namespace), **fields))
        return str(answer.uid)

    async def wait(self, name: str, state: str, *, namespace: str | None = None, timeout: float = 60) -> Object[M]:
        """Return an object once it is ready, complete, suspended, deleted, or as condition=Type or condition=Type=Status says; as the kind has it.
        Raises DeadlineError after `timeout` seconds. One call waits for 600 s at most, so a longer wait takes several."""
        method = self._kind.method("Wait")
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            part = max(1, round(min(left, _LONGEST_WAIT)))
            request = method.request(namespace=self._namespace(namespace), name=name, timeout=duration_pb2.Duration(nanos=0, seconds=part))
            setattr(request, "for", state)
            try:
                return self._object(await self._caller.unary(method, request, part + 10))
            except DeadlineError:
                if left <= _LONGEST_WAIT:
                    raise

    async def events(self, name: str, *, namespace: str | None = None, include_children: bool = False) -> KubernetesEvents:
        """Return what happened to an object, the newest first."""
        method = self._kind.method("List", suffix="Events")
        answer = await self._caller.unary(method, method.request(namespace=self._namespace(namespace), name=name, include_children=include_children))
        return KubernetesEvents(answer.events)

    async def diagnose(self, name: str, *, namespace: str | None = None, attempt: int = 0, uid: str = "") -> Diagnosis:
        """Return why an object is not ready. `attempt` and `uid` are for past jobs, `uid` is also for deleted clusters."""
        method = self._kind.method("Diagnose")
        past = {field: value for field, value in {"attempt": attempt, "uid": uid}.items() if value}
        answer = await self._caller.unary(method, method.request(namespace=self._namespace(namespace), name=name, **past))
        return Diagnosis(answer.findings)

    async def watch(
        self,
        *,
        namespace: str | None = None,
        all_namespaces: bool = False,
        label_selector: str = "",
        filter: str = "",
        resume_token: str = "",
        skip_initial: bool = False,
    ) -> AsyncIterator[AsyncEvent[M]]:
        """Return the objects there are and every change, without end. A stream that ends or breaks off is gone on with behind the last event."""
        method, token, pauses, tries = self._kind.method("Watch", plural=True), resume_token, backoff(), self._caller.config.retries
        where = "" if all_namespaces else self._namespace(namespace)
        while True:
            fields = {"label_selector": label_selector, "filter": filter, "resume_token": token, "skip_initial": skip_initial}
            try:
                async for part in self._caller.stream(method, method.request(namespace=where, **fields)):
                    token, pauses = part.resume_token, backoff()
                    found = Object[M](getattr(part, self._kind.field)) if part.HasField(self._kind.field) else None
                    yield AsyncEvent(part.type, found, token)
                await io.sleep(next(pauses))
            except ApiError as error:
                tries -= 1
                if token and any(v.field == "resume_token" for v in error.violations):
                    token = ""  # another gateway's, or one that is no more: what was missed is not known
                    yield AsyncEvent("RESET", None, "")
                elif (not token and tries < 0) or not await self._caller.pause(error, next(pauses)):
                    raise

    async def suspend(self, name: str, *, namespace: str | None = None, etag: str = "") -> Object[M]:
        """Suspend an object."""
        return await self._one("Suspend", namespace, name=name, etag=etag)

    async def resume(self, name: str, *, namespace: str | None = None, etag: str = "") -> Object[M]:
        """Resume a suspended object."""
        return await self._one("Resume", namespace, name=name, etag=etag)

    async def _one(self, verb: str, namespace: str | None = None, **fields: Any) -> Object[M]:
        method = self._kind.method(verb)
        return self._object(await self._caller.unary(method, self._request(method, namespace, fields)))

    def _request(self, method: Method, namespace: str | None, fields: dict[str, Any]) -> Message:
        return method.request(namespace=self._namespace(namespace), **fields)

    def _named(self, manifest: Manifest[M], namespace: str | None) -> tuple[str, dict[str, Any]]:
        wanted = model(self._kind.message, manifest)
        metadata = getattr(wanted, "metadata")
        return namespace or metadata.namespace, {"name": metadata.name, self._kind.field: wanted}

    def _object(self, answer: Any) -> Object[M]:
        return Object(getattr(answer, self._kind.field))

    def _namespace(self, namespace: str | None) -> str:
        return namespace or self._caller.config.namespace
