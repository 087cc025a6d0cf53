"""Results kept between runs in `.kvlint_cache`, one small file for each checked file.

An entry counts only when everything that decided the result is the same: the file's content, the
contents of the project files that were consulted, the rules, the catalogue, kvlint and Python.
Entries carry a checksum and are replaced in one step: a damaged file or a second kvlint at work
costs time, never a result.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from kvlint import __version__
from kvlint.findings import Edit, Evidence, FileError, Finding, Fix, Span, Suggestion
from kvlint.source.index import digest

FOLDER = ".kvlint_cache"
RESTS = "rests"
MOST_RESTS = 64
ABSENT = ""
"""What stands for the content of a consulted file that does not exist."""


Rests = tuple[tuple[Path, str], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of one file's result. `depends_on`: other files with the digest of their
    content, and places where there was none (ABSENT)."""

    findings: tuple[Finding, ...]
    error: FileError | None
    depends_on: Rests


@dataclass
class Cache:
    """The cache in one folder, for one `key`: the digest of all that is the same for every file."""

    folder: Path
    key: str
    contents: Mapping[str, str] = field(default_factory=dict)
    """Digests that are known already, by path."""
    _holding: dict[str, bool] = field(default_factory=dict)
    _kept: dict[int, str] = field(default_factory=dict)

    def get(self, path: Path, content: str) -> Entry | None:
        """The entry of a file with that digest of its content, if it still holds."""
        data = read_checked(self._place(path))
        if data is None or data["for"] != self._mark(path, content):
            return None
        return _entry_from(data) if self._holds(data["rests_on"]) else None

    def put(self, path: Path, content: str, entry: Entry) -> None:
        """Keep an entry. A cache that cannot be written is no cache: that is no error."""
        try:
            prepare(self.folder)
            rests_on = self._keep(entry.depends_on)
            data = {"for": self._mark(path, content), "rests_on": rests_on, **_entry_data(entry)}
            write_checked(self._place(path), data)
        except OSError:
            return

    def _keep(self, rests_on: Rests) -> str:
        """Write what entries rest on, once for all that share it, and name it by its content."""
        known = self._kept.get(id(rests_on))
        if known is None:
            data = [[str(path), content] for path, content in rests_on]
            known = _checksum(json.dumps(data).encode())[:32]
            write_checked(self.folder / RESTS / known, data)
            self._kept[id(rests_on)] = known
            self._forget_the_oldest()
        return known

    def _forget_the_oldest(self) -> None:
        """Entries that rested on what is forgotten are made anew when asked for."""
        known = sorted((self.folder / RESTS).iterdir(), key=lambda path: -path.stat().st_mtime)
        for path in known[MOST_RESTS:]:
            path.unlink(missing_ok=True)

    def _holds(self, name: str) -> bool:
        if name not in self._holding:
            place = self.folder / RESTS / name
            data = read_checked(place)
            holds = data is not None and all(self._is_as_it_was(*each) for each in data)
            self._holding[name] = holds
            if holds:
                with suppress(OSError):
                    os.utime(place)
        return self._holding[name]

    def _is_as_it_was(self, path: str, content: str) -> bool:
        if content == ABSENT:
            return not os.path.lexists(path)
        known = self.contents.get(path)
        if known is None:
            try:
                known = digest(Path(path).read_bytes())
            except OSError:
                return False
        return known == content

    def _mark(self, path: Path, content: str) -> list[str]:
        return [self.key, str(path), content]

    def _place(self, path: Path) -> Path:
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        return self.folder / name[:2] / name[2:]


def prepare(folder: Path) -> None:
    """Make the folder of a cache, and keep it out of git and of backups. Raises OSError."""
    marker = folder / ".gitignore"
    if not marker.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _replace(marker, b"*\n")
        _replace(folder / "CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55\n")


def read_checked(path: Path) -> Any:
    """What a file of the cache holds, None where it is missing or damaged."""
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return json.loads(body) if head == _checksum(body).encode() else None


def write_checked(path: Path, data: object) -> None:
    body = json.dumps(data, separators=(",", ":")).encode()
    _replace(path, _checksum(body).encode() + b"\n" + body)


@dataclass(frozen=True)
class Home:
    """Where the results of a project are kept. `release` stands for the catalogue, `parts` for
    what else decides them, apart from files."""

    folder: Path
    release: str
    parts: tuple[str, ...]

    @property
    def reader_key(self) -> str:
        """Stands for what decides whether a file can matter: kvlint itself."""
        return run_key(())

    def open(self, own_classes: Iterable[str], contents: Mapping[str, str]) -> Cache:
        """The cache for a state of the project's own pool classes."""
        return Cache(self.folder, run_key([self.release, *self.parts, *own_classes]), contents)


def run_key(parts: Iterable[str]) -> str:
    """The digest of all that is the same for every file of a run, kvlint and Python included."""
    everything = [__version__, sys.version, _own_stamp(), *parts]
    return hashlib.sha256("\0".join(everything).encode("utf-8", "surrogateescape")).hexdigest()


@lru_cache(maxsize=1)
def _own_stamp() -> str:
    """Changes when a file of kvlint does, so that a checkout at work never serves stale results."""
    top = Path(__file__).parent.parent
    stamps = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - hot loop
            stamps.append(f"{name}:{status.st_mtime_ns}:{status.st_size}")
    return "\n".join(stamps)


def _checksum(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _entry_data(entry: Entry) -> dict[str, Any]:
    error = entry.error
    return {
        "findings": [_finding_data(finding) for finding in entry.findings],
        "error": [str(error.path), error.message, error.line, error.column] if error else None,
    }


def _entry_from(data: dict[str, Any]) -> Entry:
    error = data["error"]
    return Entry(
        findings=tuple(_finding_from(item) for item in data["findings"]),
        error=FileError(Path(error[0]), *error[1:]) if error else None,
        depends_on=(),
    )


def _finding_data(finding: Finding) -> dict[str, Any]:
    span, fix = finding.span, finding.fix
    return {
        "code": finding.code,
        "name": finding.name,
        "path": str(finding.path),
        "span": [span.line, span.column, span.end_line, span.end_column],
        "severity": finding.severity,
        "message": finding.message,
        "evidence": [
            [step.text, str(step.path) if step.path else None, step.line, step.column]
            for step in finding.evidence
        ],
        "raises": finding.raises,
        "remedy": finding.remedy,
        "fix": _fix_data(fix) if fix else None,
        "suggestions": [[item.title, item.code] for item in finding.suggestions],
        "statement": list(finding.statement),
        "receiver_classes": list(finding.receiver_classes),
        "accessor": finding.accessor,
        "extra": finding.extra,
    }


def _fix_data(fix: Fix) -> list[Any]:
    edits = [[e.start, e.end, e.replacement.decode("latin-1")] for e in fix.edits]
    return [fix.title, fix.applicability, edits, fix.reason]


def _finding_from(data: dict[str, Any]) -> Finding:
    return Finding(
        code=data["code"],
        name=data["name"],
        path=Path(data["path"]),
        span=Span(*data["span"]),
        severity=data["severity"],
        message=data["message"],
        evidence=tuple(
            Evidence(text, Path(path) if path else None, line, column)
            for text, path, line, column in data["evidence"]
        ),
        raises=data["raises"],
        remedy=data["remedy"],
        fix=_fix_from(data["fix"]) if data["fix"] else None,
        suggestions=tuple(Suggestion(*item) for item in data["suggestions"]),
        statement=(data["statement"][0], data["statement"][1]),
        receiver_classes=tuple(data["receiver_classes"]),
        accessor=data["accessor"],
        extra=data["extra"],
    )


def _fix_from(data: Sequence[Any]) -> Fix:
    title, applicability, edits, reason = data
    made = tuple(Edit(start, end, text.encode("latin-1")) for start, end, text in edits)
    return Fix(title, applicability, made, reason)
