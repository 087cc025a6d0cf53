"""What kvlint says: findings, the steps by which it knows, and the edits that fix them.

Plain frozen data. Checks make findings, `fixing` applies their edits, `output` renders them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Severity = Literal["error", "warning", "hint"]
Applicability = Literal["safe", "unsafe"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file. Lines and columns count from 1; columns count characters.

    The end is exclusive: `end_column` is the column after the last character.
    """

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the bytes `start` to `end` (exclusive, counted from the start of the file, a byte
    order mark included) by `replacement`, which is in the encoding of the file already."""

    start: int
    end: int
    replacement: bytes


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together. An unsafe fix says what may change in `reason`."""

    title: str
    applicability: Applicability
    edits: tuple[Edit, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One step by which kvlint knows what the receiver is, with its place when it has one.

    `narrows`: a condition, which says something only where it holds, not where ways meet again.
    """

    text: str
    path: Path | None = None
    line: int | None = None
    column: int | None = None
    narrows: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A documented alternative that is shown but never applied."""

    title: str
    code: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One misuse at one place."""

    code: str
    name: str
    path: Path
    span: Span
    severity: Severity
    message: str
    evidence: tuple[Evidence, ...] = ()
    raises: str = ""
    """What SGLang does when this runs, as `NotImplementedError: Use get_key_buffer instead.`"""
    remedy: str = ""
    """What to do instead, one or two sentences."""
    fix: Fix | None = None
    suggestions: tuple[Suggestion, ...] = ()
    statement: tuple[int, int] = (0, 0)
    """First and last line of the statement the finding stands in: where a suppression comment
    counts. (0, 0) means the lines of `span`."""
    receiver_classes: tuple[str, ...] = ()
    """Short names of the pool classes the receiver can be; what `kvlint run` matches probes by."""
    accessor: str = ""
    extra: dict[str, str] = field(default_factory=dict, compare=False, hash=False)

    @property
    def sort_key(self) -> tuple[str, int, int, str]:
        return (str(self.path), self.span.line, self.span.column, self.code)

    @property
    def statement_lines(self) -> tuple[int, int]:
        first, last = self.statement
        return (first, last) if first else (self.span.line, self.span.end_line)


@dataclass(frozen=True, slots=True)
class FileError:
    """An input that could not be checked: named with its file and, where known, its line."""

    path: Path
    message: str
    line: int | None = None
    column: int | None = None
