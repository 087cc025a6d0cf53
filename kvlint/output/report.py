"""What a run found, as every output format needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvlint.findings import FileError, Finding
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile
from kvlint.waivers.comments import Suppressed

_SURROGATE = re.compile("[\ud800-\udfff]")


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
    """How many were checked."""
    unread: int = 0
    """How many inputs could not be read or checked: each is among `errors`."""
    releases: tuple[Release, ...] = ()
    rules: Sequence[Rule] = ()
    sources: Mapping[Path, SourceFile] = field(default_factory=dict)

    def shown_path(self, path: Path) -> str:
        """Path from the working folder; one that stands elsewhere is shown whole. Bytes of a name
        that are no UTF-8 are written as escapes: no format's reader takes them as they are."""
        return _SURROGATE.sub(_escaped, self.path_from_root(path))

    def path_from_root(self, path: Path) -> str:
        """The same with every byte as the file system has it."""
        try:
            return str(path.relative_to(self.root))
        except ValueError:
            return str(path)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"
