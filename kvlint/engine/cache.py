"""Results kept between runs in `.kvlint_cache`, one small file for each checked file.

An entry counts only when everything that decided the result is the same: the file's content, the
contents of the project files that were consulted, the rules, the catalogue, kvlint and Python.
Entries are sealed (`source.kept`) and replaced in one step: a damaged file, one that kvlint did not
write, or a second kvlint at work costs time, never a result.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from kvlint import __version__
from kvlint.findings import (
    Applicability,
    Edit,
    Evidence,
    FileError,
    Finding,
    Fix,
    Severity,
    Span,
    Suggestion,
)
from kvlint.source.index import digest
from kvlint.source.kept import RESTS, read_sealed, write_sealed
from kvlint.source.loading import LoadError, load_json
from kvlint.source.reading import read_regular
from kvlint.source.writing import is_own_folder

MOST_RESTS = 64
_NAME = re.compile(r"[0-9a-f]{32}")
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
        data = read_checked(self.folder, self._place(path))
        if not isinstance(data, dict) or data.get("for") != self._mark(path, content):
            return None
        try:
            return _entry_from(data) if self._holds(data["rests_on"]) else None
        except (LookupError, TypeError, ValueError, AttributeError):
            return None  # not what kvlint wrote

    def put(self, path: Path, content: str, entry: Entry) -> None:
        """Keep an entry. A cache that cannot be written is no cache: that is no error."""
        try:
            rests_on = self._keep(entry.depends_on)
            data = {"for": self._mark(path, content), "rests_on": rests_on, **_entry_data(entry)}
            write_checked(self.folder, self._place(path), data)
        except OSError:
            return

    def _keep(self, rests_on: Rests) -> str:
        """Write what entries rest on, once for all that share it, and name it by its content."""
        known = self._kept.get(id(rests_on))
        if known is None:
            data = [[str(path), content] for path, content in rests_on]
            known = _checksum(json.dumps(data).encode())[:32]
            write_checked(self.folder, self.folder / RESTS / known, data)
            self._kept[id(rests_on)] = known
            self._forget_the_oldest()
        return known

    def _forget_the_oldest(self) -> None:
        """Entries that rested on what is forgotten are made anew when asked for."""
        rests = self.folder / RESTS
        if not is_own_folder(rests):
            return
        known = sorted(rests.iterdir(), key=lambda path: -path.lstat().st_mtime)
        for path in known[MOST_RESTS:]:
            path.unlink(missing_ok=True)

    def _holds(self, name: str) -> bool:
        if name not in self._holding:
            if not _NAME.fullmatch(name):
                return False
            place = self.folder / RESTS / name
            data = read_checked(self.folder, place)
            holds = isinstance(data, list) and all(self._is_as_it_was(*each) for each in data)
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
                known = digest(read_regular(path))
            except OSError:
                return False
        return known == content

    def _mark(self, path: Path, content: str) -> list[str]:
        return [self.key, str(path), content]

    def _place(self, path: Path) -> Path:
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        return self.folder / name[:2] / name[2:]


def read_checked(home: Path, path: Path) -> Any:
    """What a file of the cache in `home` holds, None where it is missing or damaged."""
    body = read_sealed(home, path)
    try:
        return load_json(body) if body is not None else None
    except LoadError:
        return None


def write_checked(home: Path, path: Path, data: object) -> None:
    """Raises OSError."""
    write_sealed(home, path, json.dumps(data, separators=(",", ":")).encode())


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


def _entry_data(entry: Entry) -> dict[str, Any]:
    error = entry.error
    return {
        "findings": [_finding_data(finding) for finding in entry.findings],
        "error": [str(error.path), error.message, error.line, error.column] if error else None,
    }


def _entry_from(data: dict[str, Any]) -> Entry:
    """Raises LookupError, TypeError, ValueError or AttributeError where the data are none of
    kvlint's."""
    error = data["error"]
    return Entry(
        findings=tuple(_finding_from(item) for item in data["findings"]),
        error=_error_from(*error) if error else None,
        depends_on=(),
    )


def _error_from(path: Any, message: Any, line: Any, column: Any) -> FileError:
    return FileError(Path(_text(path)), _text(message), _place(line), _place(column))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(value)
    return value


def _place(value: Any) -> int | None:
    return None if value is None else _number(value)


def _one_of(value: Any, choices: Any) -> Any:
    if value not in choices:
        raise ValueError(value)
    return value


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
    first, last = map(_number, data["statement"])
    extra = data["extra"]
    return Finding(
        code=_text(data["code"]),
        name=_text(data["name"]),
        path=Path(_text(data["path"])),
        span=Span(*map(_number, data["span"])),
        severity=_one_of(data["severity"], get_args(Severity)),
        message=_text(data["message"]),
        evidence=tuple(_evidence_from(*step) for step in data["evidence"]),
        raises=_text(data["raises"]),
        remedy=_text(data["remedy"]),
        fix=_fix_from(*data["fix"]) if data["fix"] else None,
        suggestions=tuple(
            Suggestion(_text(title), _text(code)) for title, code in data["suggestions"]
        ),
        statement=(first, last),
        receiver_classes=tuple(map(_text, data["receiver_classes"])),
        accessor=_text(data["accessor"]),
        extra={_text(key): _text(value) for key, value in extra.items()},
    )


def _evidence_from(text: Any, path: Any, line: Any, column: Any) -> Evidence:
    place = Path(_text(path)) if path else None
    return Evidence(_text(text), place, _place(line), _place(column))


def _fix_from(title: Any, applicability: Any, edits: Any, reason: Any) -> Fix:
    made = tuple(
        Edit(_number(start), _number(end), _text(text).encode("latin-1"))
        for start, end, text in edits
    )
    kind = _one_of(applicability, get_args(Applicability))
    return Fix(_text(title), kind, made, _text(reason))
