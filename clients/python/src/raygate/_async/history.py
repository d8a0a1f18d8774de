"""What is kept of Ray objects after their end."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from raygate._async.caller import AsyncCaller
from raygate.kinds import HISTORY, method
from raygate.objects import HistoryDetails, HistoryRecord, HistoryRecords, Usage


class AsyncHistory:
    """The records of ended Ray objects, if the gateway has a history store."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def list(
        self,
        *,
        kind: str = "",
        name: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        filter: str = "",
        namespace: str | None = None,
    ) -> HistoryRecords:
        """Return all records of a namespace, the newest first; kind and name, when given, select some. since and until are about the end of an object;
        one without a time zone is in UTC. Pages are read one after the other."""
        listing, found, token = method(HISTORY, "ListHistory"), HistoryRecords(), ""
        about = {"namespace": namespace or self._caller.config.namespace, "kind": kind, "name": name, "since": since, "until": until, "filter": filter}
        while True:
            page = await self._caller.unary(listing, listing.request(**about, page_size=500, page_token=token))
            found.extend(HistoryRecord(each) for each in page.records)
            token = page.next_page_token
            if not token:
                return found

    async def get(self, kind: str, name: str, *, attempt: int = 0, uid: str = "", namespace: str | None = None) -> HistoryDetails:
        """Return the newest record of a RayJob, RayCluster or RayService, with all that is kept. attempt 0 means the last one of a RayJob; uid, when
        given, that of the object. What the caller may not read is left out, with a warning."""
        called = method(HISTORY, "GetHistory")
        about: dict[str, Any] = {"namespace": namespace or self._caller.config.namespace, "kind": kind, "name": name, "attempt": attempt, "uid": uid}
        return HistoryDetails(await self._caller.unary(called, called.request(**about)))

    async def usage(self, month: str, group_by: str, namespace: str | None) -> Usage:
        """See the method of the client."""
        called = method(HISTORY, "GetUsage")
        request = called.request(namespace=namespace or self._caller.config.namespace, month=month, group_by=group_by)
        return Usage(await self._caller.unary(called, request))
