"""Known findings that are not reported: a file that is meant to shrink."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlint.errors import UsageError
from kvlint.findings import Finding
from kvlint.source.loading import LoadError, load_json
from kvlint.source.reading import MAX_KEPT_BYTES, read_regular
from kvlint.source.text import SourceFile
from kvlint.waivers.fingerprints import fingerprints, relative

VERSION = 1


class BaselineError(UsageError):
    """A baseline that cannot be used. The text starts with the file."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One known finding. `path` counts from the baseline's folder; `id` is its fingerprint."""

    path: str
    code: str
    id: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Findings against a baseline: those it does not know, those it does, and its entries that
    are fixed (their file was checked, or is gone, and they were not found)."""

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    fixed: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run looked at: only entries within it can be called fixed."""

    files: Collection[Path]
    codes: Collection[str]

    def holds(self, entry: Entry, root: Path) -> bool:
        path = root / entry.path
        return entry.code in self.codes and (path in self.files or not path.exists())


def read(path: Path) -> tuple[Entry, ...]:
    """The entries of a baseline file. Raises BaselineError."""
    try:
        data = load_json(read_regular(path, MAX_KEPT_BYTES))
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror or error}") from error
    except LoadError as error:
        raise BaselineError(f"{path}:{error.line}: is no JSON: {error.reason}") from error
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise BaselineError(f"{path}:1: is no kvlint baseline of version {VERSION}")
    entries = data.get("entries")
    if not isinstance(entries, list):
        raise BaselineError(f"{path}:1: has no list of entries")
    return tuple(_entry(path, number, item) for number, item in enumerate(entries, 1))


def _entry(path: Path, number: int, item: Any) -> Entry:
    if isinstance(item, dict):
        values = [item.get(key) for key in ("path", "code", "id")]
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) == len(values):
            return Entry(*texts)
    raise BaselineError(f"{path}: entry {number} needs path, code and id")


def entries_of(
    findings: Iterable[Finding], sources: Mapping[Path, SourceFile], root: Path
) -> dict[Entry, Finding]:
    return {
        Entry(relative(finding.path, root), finding.code, mark): finding
        for finding, mark in fingerprints(findings, sources, root)
    }


def compare(
    findings: Iterable[Finding],
    sources: Mapping[Path, SourceFile],
    entries: Iterable[Entry],
    root: Path,
    scope: Scope,
) -> Compared:
    """Split findings by a baseline that stands in `root`."""
    found = entries_of(findings, sources, root)
    known = frozenset(entries)
    return Compared(
        new=tuple(finding for entry, finding in found.items() if entry not in known),
        known=tuple(finding for entry, finding in found.items() if entry in known),
        fixed=tuple(sorted(e for e in known if e not in found and scope.holds(e, root))),
    )


def shrunk(entries: Iterable[Entry], compared: Compared) -> tuple[Entry, ...]:
    """The entries less those that are fixed; nothing is added."""
    return tuple(entry for entry in entries if entry not in set(compared.fixed))


def render(entries: Iterable[Entry]) -> bytes:
    """The bytes of a baseline file: sorted, one entry a line, so that diffs read well."""
    lines = ",\n".join(
        "    " + json.dumps({"path": e.path, "code": e.code, "id": e.id}) for e in sorted(entries)
    )
    body = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "version": {VERSION},\n  "entries": {body}\n}}\n'.encode()
