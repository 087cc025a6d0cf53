"""Applies the fixes of one text, pass by pass, until nothing is left to apply.

Bytes outside of the edits never change. A fix that would break the syntax or bring a finding is
undone, alone: the others still apply.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kvlint.findings import Edit, Finding
from kvlint.source.languages import is_python
from kvlint.source.text import SourceFile

Recheck = Callable[[bytes], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """What fixing made of a text. `applied`: over all passes, each with its place in the text of
    its pass. `remaining`: the findings of `data`. `undone`: those whose fix would have broken the
    syntax or brought a finding. `more_with_unsafe`: how many more unsafe fixes would apply."""

    data: bytes
    applied: tuple[Finding, ...]
    remaining: tuple[Finding, ...]
    undone: tuple[Finding, ...]
    more_with_unsafe: int


@dataclass(frozen=True, slots=True)
class _State:
    """A text between two passes. `refused`: code and start of each fix that was undone."""

    data: bytes
    findings: tuple[Finding, ...]
    applied: tuple[Finding, ...] = ()
    undone: tuple[Finding, ...] = ()
    refused: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class _Checker:
    recheck: Recheck
    is_python: bool

    def findings_of(self, data: bytes) -> tuple[Finding, ...] | None:
        """The findings of a text, None where it does not parse."""
        if self.is_python and not _parses(data):
            return None
        return tuple(self.recheck(data))


def fix_text(
    source: SourceFile, findings: Sequence[Finding], recheck: Recheck, unsafe: bool
) -> FixOutcome:
    """Apply the fixes of `findings`, the safe ones or all.

    `findings` are those of `source`; `recheck` gives the findings of another text of this file.
    """
    checker = _Checker(recheck, is_python(source.path, source.data))
    state = _run_passes(_State(source.data, tuple(findings)), checker, unsafe)
    more = 0
    if not unsafe and any(_is_unsafe(finding) for finding in state.findings):
        more = len(_run_passes(state, checker, True).applied) - len(state.applied)
    return FixOutcome(state.data, state.applied, state.findings, state.undone, more)


def _run_passes(state: _State, checker: _Checker, unsafe: bool) -> _State:
    """Each pass that applies something leaves fewer findings, so this ends."""
    while batch := _next_batch(state, unsafe):
        state = _apply_batch(state, batch, checker)
    return state


def _next_batch(state: _State, unsafe: bool) -> list[Finding]:
    """The fixes of this pass: in the order of the text, those that overlap wait for the next."""
    candidates = [
        (finding.fix.edits, finding)
        for finding in state.findings
        if finding.fix is not None
        and finding.fix.edits
        and (unsafe or not _is_unsafe(finding))
        and (finding.code, finding.fix.edits[0].start) not in state.refused
    ]
    batch: list[Finding] = []
    taken: list[Edit] = []
    for edits, finding in sorted(candidates, key=lambda each: each[0]):
        if not _overlap(taken, edits):
            batch.append(finding)
            taken.extend(edits)
    return batch


def _is_unsafe(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.applicability == "unsafe"


def _overlap(taken: Iterable[Edit], edits: Sequence[Edit]) -> bool:
    return any(
        edit.start == other.start or (edit.start < other.end and other.start < edit.end)
        for edit in edits
        for other in taken
    )


def _apply_batch(state: _State, batch: Sequence[Finding], checker: _Checker) -> _State:
    kept: list[Finding] = []
    undone: list[Finding] = []
    result = state.findings
    parts = [list(batch)]
    while parts:
        part = parts.pop(0)
        after = _findings_after(state, [*kept, *part], checker)
        if after is not None:
            kept, result = [*kept, *part], after
        elif len(part) == 1:
            undone += part
        else:
            parts[:0] = [part[: len(part) // 2], part[len(part) // 2 :]]
    edits = _edits_of(kept)
    refused = {*state.refused, *((each.code, _start(each)) for each in undone)}
    return _State(
        _edited(state.data, edits),
        result,
        (*state.applied, *kept),
        (*state.undone, *undone),
        frozenset((code, _moved(start, edits)) for code, start in refused),
    )


def _findings_after(
    state: _State, fixes: Sequence[Finding], checker: _Checker
) -> tuple[Finding, ...] | None:
    """The findings once these fixes are applied; None where the syntax breaks or the fixes leave
    more findings of some rule than there were without those that they fix."""
    edits = _edits_of(fixes)
    if any(_overlap(edits[index + 1 :], [edit]) for index, edit in enumerate(edits)):
        return None
    after = checker.findings_of(_edited(state.data, edits))
    if after is None:
        return None
    allowed = Counter(finding.code for finding in state.findings)
    allowed.subtract(finding.code for finding in fixes)
    found = Counter(finding.code for finding in after)
    return after if all(found[code] <= allowed[code] for code in found) else None


def _start(finding: Finding) -> int:
    return finding.fix.edits[0].start if finding.fix and finding.fix.edits else 0


def _edits_of(fixes: Iterable[Finding]) -> list[Edit]:
    return sorted(edit for finding in fixes if finding.fix for edit in finding.fix.edits)


def _edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    parts = []
    position = 0
    for edit in edits:
        parts += [data[position : edit.start], edit.replacement]
        position = edit.end
    return b"".join([*parts, data[position:]])


def _moved(start: int, edits: Sequence[Edit]) -> int:
    """Where an offset lies after the edits before it."""
    before = (edit for edit in edits if edit.start < start)
    return start + sum(len(edit.replacement) - (edit.end - edit.start) for edit in before)


def _parses(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
