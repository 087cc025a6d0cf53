"""A run against a baseline: which of its findings are known, and what to write down of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from kvlint.engine.results import SYNTAX_ERROR, Input, Judged, Run
from kvlint.errors import UsageError
from kvlint.findings import Finding
from kvlint.project.files import absolute
from kvlint.project.groups import Group
from kvlint.source.text import SourceFile
from kvlint.source.writing import write_whole
from kvlint.waivers import baseline
from kvlint.waivers.baseline import BaselineError, Compared, Entry, Scope
from kvlint.waivers.comments import Suppressed


def read(path: Path) -> tuple[Entry, ...]:
    """The entries of a baseline file. Raises BaselineError."""
    return baseline.read(absolute(path))


def read_for(group: Group, inputs: Input) -> tuple[Entry, ...]:
    """The entries of the baseline that holds for a group of files. Raises UsageError, which names
    the settings where they name the baseline."""
    path = inputs.baseline_for(group)
    if path is None:
        return ()
    try:
        return read(path)
    except BaselineError as error:
        if inputs.baseline is not None:
            raise
        raise UsageError(f"{group.settings.place('baseline')}: baseline: {error}") from error


def without(
    judged: Sequence[Judged], group: Group, entries: Iterable[Entry], path: Path
) -> tuple[list[Judged], tuple[Entry, ...]]:
    """A group's results with known findings counted as suppressed, and the entries fixed."""
    root = absolute(path).parent
    compared = _compare(judged, entries, root, Scope(frozenset(group.files), group.codes))
    return [_without(item, compared.known) for item in judged], compared.fixed


def unknown(item: Judged, entries: Iterable[Entry], root: Path) -> tuple[Finding, ...]:
    """The findings of one file that a baseline in `root` does not know."""
    compared = _compare([item], entries, root, Scope((), ()))
    return _without(item, compared.known).findings


def write(run: Run, path: Path, force: bool) -> Run:
    """Write a run's findings to a baseline and count those that it then knows as suppressed.

    A baseline that exists only loses what is fixed, unless forced; a file that is no baseline is
    never overwritten. Raises UsageError.
    """
    path = absolute(path)
    before = baseline.read(path) if os.path.lexists(path) else None
    shrinks = before is not None and not force
    if before is None or not shrinks:
        before = _entries(run.judged, path.parent)
    compared = _compare(run.judged, before, path.parent, run.scope)
    data = baseline.render(baseline.shrunk(before, compared))
    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    judged = tuple(_without(item, compared.known) for item in run.judged)
    not_added = len(_findings(judged)[0])
    return replace(run, judged=judged, fixed=compared.fixed, not_added=not_added)


def _compare(
    judged: Iterable[Judged], entries: Iterable[Entry], root: Path, scope: Scope
) -> Compared:
    findings, sources = _findings(judged)
    return baseline.compare(findings, sources, entries, root, scope)


def _entries(judged: Iterable[Judged], root: Path) -> tuple[Entry, ...]:
    findings, sources = _findings(judged)
    return tuple(baseline.entries_of(findings, sources, root))


def _findings(judged: Iterable[Judged]) -> tuple[list[Finding], dict[Path, SourceFile]]:
    """A file that does not parse was not checked: that is nothing to get used to."""
    items = list(judged)
    findings = [f for item in items for f in item.findings if f.code != SYNTAX_ERROR]
    return findings, {item.path: item.source for item in items if item.source is not None}


def _without(item: Judged, known: Sequence[Finding]) -> Judged:
    """The same with known findings counted as suppressed."""
    hidden = {id(finding) for finding in known}
    by_baseline = [
        Suppressed(finding, 0, "", "baseline") for finding in item.findings if id(finding) in hidden
    ]
    left = tuple(finding for finding in item.findings if id(finding) not in hidden)
    return replace(item, findings=left, suppressed=(*item.suppressed, *by_baseline))
