"""What a run found, as every output format needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvlint.findings import FileError, Finding
from kvlint.rules import Rule
from kvlint.source.text import SourceFile
from kvlint.suppressions import Suppressed


@dataclass(frozen=True, slots=True)
class Release:
    """The SGLang release that files were checked against, and why it was chosen."""

    version: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run. Findings are sorted; `sources` has the text of every file with one.

    `root` is the folder that shown paths count from: the working folder.
    """

    root: Path
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    errors: tuple[FileError, ...] = ()
    files: int = 0
    releases: tuple[Release, ...] = ()
    rules: Sequence[Rule] = ()
    sources: Mapping[Path, SourceFile] = field(default_factory=dict)

    def shown_path(self, path: Path) -> str:
        """Path from the working folder; one that stands elsewhere is shown whole."""
        try:
            return str(path.relative_to(self.root))
        except ValueError:
            return str(path)
