"""What a person sees while a call waits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO, Union

Progress = Union[bool, Callable[[str], None]]
"""True shows it on standard error, False does not, and a function gets each change as a line."""


class Display:
    """Shows what is waited for: on a terminal in one line that changes, elsewhere a line for each change."""

    def __init__(self, progress: Progress, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._to = progress
        self._last = ""
        self._open = False
        self._begin = time.monotonic()
        self.goes_on = ""
        """What goes on when nobody waits any more, and how it is ended."""

    def show(self, text: str) -> None:
        """Show a state. The same one again only changes the seconds of a terminal."""
        terminal = self._to is True and self._out.isatty()
        if self._to is False or (text == self._last and not terminal):
            return
        self._last = text
        line = f"{text} ({time.monotonic() - self._begin:.0f} s)"
        if callable(self._to):
            self._to(text)
        elif terminal:
            self._out.write(f"\r\x1b[K{line}")
            self._out.flush()
            self._open = True
        else:
            print(line, file=self._out, flush=True)

    def interrupted(self) -> None:
        """Show what goes on although the wait for it ends here."""
        if self.goes_on:
            self.end()
            self.show(self.goes_on)

    def end(self) -> None:
        """Finish the line, before something else is written."""
        if self._open:
            self._out.write("\n")
            self._open = False
