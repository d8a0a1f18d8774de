"""Logs that go on behind the last part when a stream breaks off."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator
from typing import Any

from raygate._async.caller import AsyncCaller
from raygate.errors import ApiError
from raygate.kinds import Method
from raygate.retry import backoff


async def log(caller: AsyncCaller, method: Method, about: dict[str, Any], tail: int | None) -> AsyncIterator[str]:
    """Return a log in parts, which may begin and end within a line. With tail lines a log that breaks off raises, as its place is not known."""
    offset, pauses, tries = 0, backoff(), caller.config.retries
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        request: Any = method.request(**about, offset=offset)
        if tail is not None:
            request.tail_lines = tail
        try:
            async for part in caller.stream(method, request):
                offset, pauses, tries = part.next_offset, backoff(), caller.config.retries
                yield decoder.decode(part.data)
            yield decoder.decode(b"", True)
            return
        except ApiError as error:
            tries -= 1
            if tail is not None or tries < 0 or not await caller.pause(error, next(pauses)):
                raise
