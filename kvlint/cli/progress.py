"""How far a long run is, on a terminal's standard error."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TextIO

_PATIENCE = 1.0
"""Seconds before anything is shown: short runs stay silent."""
_STEP = 0.1


class Progress:
    """Shows `checked/total` on one line and wipes it at the end. Silent when not a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shows = stream.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def update(self, done: int, total: int) -> None:
        if not self._shows or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _STEP
        self._drawn = True
        self._stream.write(f"\r\x1b[Kchecked {done:,} of {total:,} files")
        self._stream.flush()
