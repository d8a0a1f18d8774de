"""What the gateway wants its caller to know though the call succeeds."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterable

# As RFC 7234 writes it: code, agent, text. A proxy may have joined several.
_WARNING = re.compile(r'\b\d{3} \S+ "((?:[^"\\]|\\.)*)"')


class GatewayWarning(UserWarning):
    """A warning of the gateway about a request that it has carried out. Python's own filters decide what becomes of it."""


def warn(headers: Iterable[str]) -> None:
    """Warn of what the headers named Warning say, at the line outside of this package that made the call."""
    texts = [re.sub(r"\\(.)", r"\1", text) for header in headers for text in _WARNING.findall(header)]
    if not texts:
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    for text in dict.fromkeys(texts):
        warnings.warn(text, GatewayWarning, stacklevel=level)
