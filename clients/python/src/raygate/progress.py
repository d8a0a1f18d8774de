"""The progress of a call that waits: one line that changes, on a terminal or below the cell of a notebook."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO, Union

Progress = Union[bool, Callable[[str], None]]
"""True shows it on standard error or in the notebook, False does not, and a function gets each change as a line."""


class Display:
    """Shows what is waited for: on a terminal in one line that changes, elsewhere a line for each change."""

    def __init__(self, progress: Progress, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._to = progress
        self._last = ""
        self._open = False
        self._begin = time.monotonic()
        self._cell = _notebook_cell() if progress is True else None

    def show(self, text: str) -> None:
        """Show a state. The same one again only changes the seconds of a terminal."""
        terminal = self._to is True and (self._cell is not None or self._out.isatty())
        if self._to is False or (text == self._last and not terminal):
            return
        self._last = text
        line = f"{text} ({time.monotonic() - self._begin:.0f} s)"
        if callable(self._to):
            self._to(text)
        elif self._cell is not None:
            self._cell.update({"text/plain": line}, raw=True)
        elif terminal:
            self._out.write(f"\r\x1b[K{line}")
            self._out.flush()
            self._open = True
        else:
            print(line, file=self._out, flush=True)

    def end(self) -> None:
        """Finish the line, before something else is written."""
        if self._open:
            self._out.write("\n")
            self._open = False


def _notebook_cell() -> Any:
    """Return a part of the running cell of a notebook that can change; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if getattr(shell, "kernel", None) is None:
        return None
    return importlib.import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)
