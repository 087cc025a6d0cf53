"""Reads every file of a run once, and tells those that can matter from the rest."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kvlint.engine.analysis import RawResult, Request, relevant
from kvlint.engine.seen import Seen, SeenFiles
from kvlint.source.index import ParseError, digest, parse
from kvlint.source.languages import is_python
from kvlint.source.reading import MAX_BYTES, open_regular
from kvlint.source.text import SourceError, decode_source

THOROUGH_LIMIT = 100
"""In a run of up to this many files each is parsed, so that no syntax error goes unseen; in a
larger one only the files that can hold a pool are."""
Progress = Callable[[int, int], None]
MENTION = b"kvlint:"


@dataclass(frozen=True, slots=True)
class Relevant:
    """A file that can hold a pool. `seen` is None where it could not be read: the analysis says
    why."""

    path: Path
    seen: Seen | None

    @property
    def content(self) -> str:
        return self.seen.content if self.seen else ""

    @property
    def size(self) -> int:
        return self.seen.size if self.seen else 0


def read_all(
    request: Request, known: SeenFiles | None, progress: Progress
) -> tuple[list[RawResult], list[Relevant]]:
    """The results of files that need no analysis, and the files that need it. `known` spares
    reading what is untouched."""
    thorough = len(request.files) <= THOROUGH_LIMIT
    results: list[RawResult] = []
    relevants: list[Relevant] = []
    for number, path in enumerate(request.files):
        progress(number, len(request.files))
        seen = _recall(path, known) if known else None
        data = None
        if seen is None or (seen.mentions and not seen.matters):
            data, seen = _look(path, request, known)
        if seen is None or seen.matters:
            relevants.append(Relevant(path, seen))
        elif data is not None and (seen.mentions or (thorough and is_python(path, data))):
            results.append(_irrelevant(path, data))
    return results, relevants


def _recall(path: Path, known: SeenFiles) -> Seen | None:
    try:
        return known.get(path, os.stat(path))  # noqa: PTH116 - for every file of a tree
    except OSError:
        return None


def _look(
    path: Path, request: Request, known: SeenFiles | None
) -> tuple[bytes | None, Seen | None]:
    if path in request.texts:
        return request.texts[path], _seen(path, request.texts[path])
    try:
        data, status = _read(path)
    except OSError:
        return None, None
    if data is None:
        return None, None
    seen = _seen(path, data)
    if known is not None:
        known.put(path, status, seen)
    return data, seen


def _seen(path: Path, data: bytes) -> Seen:
    matters = relevant(path, data)
    return Seen(
        content=digest(data) if matters else "",
        size=len(data),
        matters=matters,
        may_define=matters and (b"Pool" in data or b"KVCache" in data),
        mentions=MENTION in data,
    )


def _read(path: Path) -> tuple[bytes | None, os.stat_result]:
    """The bytes of a file, None where it is too large, and its state as it was read."""
    descriptor, status = open_regular(path)
    with open(descriptor, "rb", buffering=0) as handle:  # noqa: PTH123 - a descriptor
        return (handle.read() if status.st_size <= MAX_BYTES else None), status


def read_bytes(path: Path, request: Request) -> bytes | None:
    """The bytes of a file of the run, None where it cannot be read or is too large."""
    if path in request.texts:
        return request.texts[path]
    try:
        return _read(path)[0]
    except OSError:
        return None


def _irrelevant(path: Path, data: bytes) -> RawResult:
    """No pool can be in such a file, but an unused suppression or a syntax error can."""
    try:
        source = decode_source(path, data)
    except SourceError as error:
        return RawResult(path, None, error=error.error)
    try:
        if is_python(path, data):
            parse(source)
    except ParseError as error:
        return RawResult(path, source, error=error.error)
    return RawResult(path, source)
