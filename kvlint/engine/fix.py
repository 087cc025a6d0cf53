"""Fixes and suppression comments, from findings into files."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from kvlint.engine.check import rechecker
from kvlint.engine.results import SYNTAX_ERROR, Change, Fixed, Input, Judged, Run
from kvlint.findings import FileError, Finding
from kvlint.fixing.apply import FixOutcome, fix_text
from kvlint.source.comments import takes_comments
from kvlint.source.text import SourceFile, decode_source
from kvlint.source.writing import WriteError, write_atomically
from kvlint.waivers.add import with_ignores
from kvlint.waivers.comments import BARE, UNUSED

Write = Callable[[Path, bytes, bytes], None]


def fix_run(run: Run, inputs: Input, unsafe: bool, write: Write | None) -> Fixed:
    """Fix what can be fixed. Files are written by `write`; without one the run stays as it was,
    and the changes only say what would be made.

    A file that cannot be written is a failure, and its findings are left.
    """
    judged: list[Judged] = []
    changes: list[Change] = []
    undone: list[Finding] = []
    failures: list[FileError] = []
    more = 0
    for item in run.judged:
        source = item.source
        if source is None or not any(finding.fix for finding in item.findings):
            judged.append(item)
            continue
        outcome = fix_text(source, item.findings, rechecker(item, inputs), unsafe)
        change = Change(item.path, source, outcome.data, outcome.applied)
        changed = change.data != source.data
        failure = _write(change, write, "was not fixed") if changed and write else None
        if failure is not None:
            failures.append(failure)
            judged.append(item)
            continue
        changes.append(change)
        undone.extend(outcome.undone)
        more += outcome.more_with_unsafe
        judged.append(_after(item, source, outcome) if write else item)
    made = tuple(change for change in changes if change.data != change.source.data)
    after = replace(run, judged=tuple(judged))
    return Fixed(after, made, tuple(undone), more, tuple(failures))


def _after(item: Judged, source: SourceFile, outcome: FixOutcome) -> Judged:
    text = decode_source(item.path, outcome.data) if outcome.data != source.data else source
    return replace(item, source=text, findings=outcome.remaining)


def _write(change: Change, write: Write, consequence: str) -> FileError | None:
    try:
        write(change.path, change.source.data, change.data)
    except WriteError as error:
        return FileError(change.path, f"{consequence}: it {error}")
    return None


def keep_in_memory(path: Path, old: bytes, new: bytes) -> None:
    """For standard input: the fixed text goes to standard output, not into a file."""


def add_ignores(run: Run, reason: str, write: Write = write_atomically) -> Fixed:
    """Write a suppression comment for each finding that a comment can suppress."""
    judged: list[Judged] = []
    changes: list[Change] = []
    failures: list[FileError] = []
    for item in run.judged:
        change = _with_ignores(item, reason)
        failure = _write(change, write, "got no suppression comment") if change else None
        if failure is not None:
            failures.append(failure)
        elif change is not None:
            changes.append(change)
            item = replace(item, findings=_not_in(item.findings, change.applied))
        judged.append(item)
    return Fixed(replace(run, judged=tuple(judged)), tuple(changes), failures=tuple(failures))


def _with_ignores(item: Judged, reason: str) -> Change | None:
    """A comment cannot suppress what is wrong with comments, nor where no comment can be read."""
    findings = tuple(f for f in item.findings if f.code not in (SYNTAX_ERROR, UNUSED, BARE))
    if item.source is None or not findings or not takes_comments(item.source):
        return None
    text = with_ignores(item.source, findings, reason)
    mark = codecs.BOM_UTF8 if item.source.has_bom else b""
    return Change(item.path, item.source, mark + item.source.encode(text), findings)


def _not_in(findings: Iterable[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    gone = {id(finding) for finding in others}
    return tuple(finding for finding in findings if id(finding) not in gone)
