"""What is known of files from the last time they were read, for as long as they are untouched.

A file counts as untouched, as for git's index, while its inode, size, time of modification and time
of change are the same; the last of these cannot be set back by copying or checking out. A file
touched less than two seconds before it was read is never remembered: it could change again
without the clock showing it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from kvlint.engine.cache import read_checked, write_checked

MOST_FILES = 100_000
_RACY = 2_000_000_000
"""Nanoseconds."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One file's content: its sha256, its size in bytes, whether it can matter at all, may define
    a pool class, and mentions kvlint (in a comment, perhaps)."""

    content: str
    size: int
    matters: bool
    may_define: bool
    mentions: bool


@dataclass
class SeenFiles:
    """The files of one project. `key` stands for the kvlint that judged them."""

    place: Path
    key: str
    _known: dict[str, list[Any]] = field(default_factory=dict)
    _fresh: dict[str, list[Any]] = field(default_factory=dict)
    _definers: dict[str, list[str]] = field(default_factory=dict)
    _changed: bool = False

    def load(self) -> SeenFiles:
        data = read_checked(self.place.parent, self.place)
        if isinstance(data, dict) and data.get("key") == self.key:
            self._known = data["files"]
            self._definers = data["definers"]
        return self

    def definers(self, mark: str, find: Callable[[], tuple[Path, ...]]) -> tuple[Path, ...]:
        """The files that define pool classes, looked for only where `mark`, which stands for all
        that decides, is not the last one's."""
        if mark not in self._definers:
            self._definers = {mark: [str(path) for path in find()]}
            self._changed = True
        return tuple(map(Path, self._definers[mark]))

    def get(self, path: Path, status: os.stat_result) -> Seen | None:
        known = self._known.get(str(path))
        if known is None or known[:4] != _stamp(status):
            return None
        self._fresh[str(path)] = known
        return Seen(*known[4:])

    def put(self, path: Path, status: os.stat_result, seen: Seen) -> None:
        if max(status.st_mtime_ns, status.st_ctime_ns) < time.time_ns() - _RACY:
            self._fresh[str(path)] = [*_stamp(status), *astuple(seen)]

    def save(self) -> None:
        """Write down what this run saw. Where that cannot be done the next run reads again."""
        files = {**self._known, **self._fresh}
        if len(files) > MOST_FILES:
            files = self._fresh
        if files != self._known or self._changed:
            with suppress(OSError):
                data = {"key": self.key, "files": files, "definers": self._definers}
                write_checked(self.place.parent, self.place, data)


def _stamp(status: os.stat_result) -> list[int]:
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
