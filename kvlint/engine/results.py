"""What a run of `kvlint check` is given and what it finds: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from kvlint.findings import FileError, Finding
from kvlint.project.files import Selection
from kvlint.project.groups import Choices, Group
from kvlint.source.text import SourceFile
from kvlint.waivers.baseline import Entry, Scope
from kvlint.waivers.comments import Suppressed

SYNTAX_ERROR = "KV001"


@dataclass(frozen=True, slots=True)
class Input:
    """What to check. `text` stands for standard input: the content of the only path. `writes` are
    the files that the run is to make, each with its option."""

    paths: tuple[Path, ...]
    choices: Choices = field(default_factory=Choices)
    text: bytes | None = None
    baseline: Path | None = None
    use_baseline: bool = True
    writes: tuple[tuple[str, Path], ...] = ()
    use_cache: bool = True
    jobs: int = 0

    def baseline_for(self, group: Group) -> Path | None:
        """The baseline that holds for a group of files: the command line's, or the settings'."""
        return (self.baseline or group.settings.baseline) if self.use_baseline else None


@dataclass(frozen=True, slots=True)
class Judged:
    """One file's findings after the settings and its comments have had their say."""

    path: Path
    group: Group
    source: SourceFile | None
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    error: FileError | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Everything a run found. `fixed` are entries of baselines that are no longer found;
    `not_added` counts the findings that a baseline did not take, since it may only shrink;
    `notices` are what else is to be said on standard error."""

    selection: Selection
    groups: tuple[Group, ...]
    judged: tuple[Judged, ...]
    scope: Scope
    fixed: tuple[Entry, ...] = ()
    not_added: int = 0
    notices: tuple[str, ...] = ()

    @property
    def has_syntax_error(self) -> bool:
        return any(f.code == SYNTAX_ERROR for item in self.judged for f in item.findings)


@dataclass(frozen=True, slots=True)
class Change:
    """A file's old and new bytes, and the findings whose fixes made them."""

    path: Path
    source: SourceFile
    data: bytes
    applied: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """What fixing made of a run. `more` counts the fixes that `--unsafe-fixes` would add."""

    run: Run
    changes: tuple[Change, ...] = ()
    undone: tuple[Finding, ...] = ()
    more: int = 0
    failures: tuple[FileError, ...] = ()

    @property
    def applied(self) -> tuple[Finding, ...]:
        return tuple(finding for change in self.changes for finding in change.applied)
