"""What goes to standard error: inputs that could not be checked, and the run in one paragraph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kvlint.findings import FileError
from kvlint.output.style import harmless
from kvlint.report import Report
from kvlint.source.files import Selection


@dataclass(frozen=True, slots=True)
class Counts:
    """Of fixes and suppressions. `gone`: entries of a baseline that are fixed; `more`: fixes that
    --unsafe-fixes would add."""

    suppressed: int = 0
    known: int = 0
    gone: int = 0
    applied: int = 0
    would_apply: int = 0
    more: int = 0
    undone: int = 0
    ignored: int = 0
    fixing: bool = False


def complaints(report: Report, selection: Selection) -> Iterator[str]:
    """A line for each input that could not be checked."""
    for path in selection.missing:
        yield f"{harmless(report.shown_path(path))}: error: no such file or folder"
    for path in selection.bare:
        yield (
            f"{harmless(report.shown_path(path))}: error: holds nothing to check"
            " (no Python or launch file, or all are excluded)"
        )
    for error in report.errors:
        yield f"{_place(report, error)}: error: {harmless(error.message)}"


def _place(report: Report, error: FileError) -> str:
    parts = [harmless(report.shown_path(error.path))]
    if error.line is not None:
        parts.append(str(error.line))
        parts += [str(error.column)] if error.column is not None else []
    return ":".join(parts)


def summary(report: Report, counts: Counts) -> str:
    return " ".join(part for part in (*_found(report), *_fixes(report, counts), *_hidden(counts)))


def _found(report: Report) -> Iterator[str]:
    checked = _number(report.files, "file")
    releases = "; ".join(release.reason for release in report.releases)
    where = f"{checked} checked{f' against {releases}' if releases else ''}"
    if not report.findings:
        yield f"No findings ({where})." if report.files else "Nothing to check."
        return
    by_severity = Counter(finding.severity for finding in report.findings)
    listed = [_number(by_severity[s], s) for s in ("error", "warning", "hint") if by_severity[s]]
    files = len({finding.path for finding in report.findings})
    yield f"Found {', '.join(listed)} in {_number(files, 'file')} ({where})."


def _fixes(report: Report, counts: Counts) -> Iterator[str]:
    if counts.applied:
        yield f"Applied {_number(counts.applied, 'fix', 'fixes')}."
    if counts.would_apply:
        yield f"Would apply {_number(counts.would_apply, 'fix', 'fixes')}."
    if counts.undone:
        yield f"Undid {_number(counts.undone, 'fix', 'fixes')} that would have done harm."
    if counts.fixing:
        if counts.more:
            yield f"{counts.more} more with --unsafe-fixes."
        return
    kinds = Counter(f.fix.applicability for f in report.findings if f.fix)
    if kinds["safe"]:
        yield f"{kinds['safe']} fixable with --fix."
    if kinds["unsafe"]:
        more = "more " if kinds["safe"] else ""
        yield f"{kinds['unsafe']} {more}fixable with --fix --unsafe-fixes."


def _hidden(counts: Counts) -> Iterator[str]:
    if counts.ignored:
        yield f"Wrote suppressions for {_number(counts.ignored, 'finding')}."
    if counts.suppressed:
        yield f"{counts.suppressed} suppressed by comments."
    if counts.known:
        yield f"{counts.known} known to the baseline."
    if counts.gone:
        entries = _number(counts.gone, "entry", "entries")
        yield f"{entries} of the baseline fixed: --write-baseline takes them out."


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
