"""What goes to standard error: inputs that could not be checked, and the run in one paragraph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kvlint.findings import FileError
from kvlint.output.report import Report
from kvlint.output.streams import harmless
from kvlint.output.style import on_one_line
from kvlint.project.files import Selection


@dataclass(frozen=True, slots=True)
class Counts:
    """Of fixes and suppressions. `gone`: entries of a baseline that are fixed, and `taken_out`:
    those that are no longer in it; `not_added`: findings that --force would add; `more`: fixes
    that --unsafe-fixes would add."""

    suppressed: int = 0
    known: int = 0
    gone: int = 0
    taken_out: int = 0
    not_added: int = 0
    applied: int = 0
    would_apply: int = 0
    more: int = 0
    undone: int = 0
    ignored: int = 0
    fixing: bool = False


def complaints(report: Report, selection: Selection) -> Iterator[str]:
    """A line for each input that could not be checked, or was passed over."""
    if selection.led_out:
        shown = ", ".join(on_one_line(report.shown_path(path)) for path in selection.led_out[:3])
        more = f" and {len(selection.led_out) - 3:,} more" if len(selection.led_out) > 3 else ""
        yield f"kvlint: passed over, since they lead out of the repository: {shown}{more}"
    for path, problem in selection.unread_ignores:
        yield f"{on_one_line(report.shown_path(path))}: passed over: {harmless(problem)}"
    for path in selection.missing:
        yield f"{on_one_line(report.shown_path(path))}: error: no such file or folder"
    for path in selection.bare:
        yield (
            f"{on_one_line(report.shown_path(path))}: error: holds nothing to check"
            " (no Python or launch file, or all are excluded)"
        )
    for error in report.errors:
        yield f"{_place(report, error)}: error: {harmless(error.message)}"


def _place(report: Report, error: FileError) -> str:
    parts = [on_one_line(report.shown_path(error.path))]
    if error.line is not None:
        parts.append(str(error.line))
        parts += [str(error.column)] if error.column is not None else []
    return ":".join(parts)


def rules_that_are_off(off: Mapping[str, str], settings: Path | None) -> Iterator[str]:
    """A line for each reason why rules were not asked of the files under a settings file. `off`:
    code -> reason."""
    where = f"{on_one_line(str(settings))}: " if settings is not None else ""
    reasons: dict[str, list[str]] = {}
    for code, reason in off.items():
        reasons.setdefault(reason, []).append(code)
    for reason, codes in reasons.items():
        yield f"{where}off, {harmless(reason)}: {', '.join(codes)}"


def summary(report: Report, counts: Counts) -> str:
    return " ".join(part for part in (*_found(report), *_fixes(report, counts), *_hidden(counts)))


def _found(report: Report) -> Iterator[str]:
    checked = _number(report.files, "file")
    releases = "; ".join(release.reason for release in report.releases)
    against = f" against {releases}" if releases and report.files else ""
    unread = f"; {report.unread:,} could not be checked" if report.unread else ""
    where = f"{checked} checked{against}{unread}"
    if not report.findings:
        if report.files:
            yield f"No findings ({where})."
        else:
            yield "Nothing could be checked." if report.unread else "Nothing to check."
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
        are, them = ("is", "it") if counts.gone == 1 else ("are", "them")
        entries = _number(counts.gone, "entry", "entries")
        yield f"{entries} of the baseline {are} fixed: --write-baseline takes {them} out."
    if counts.taken_out:
        entries = _number(counts.taken_out, "entry", "entries")
        yield f"Took {entries} out of the baseline: fixed."
    if counts.not_added:
        yield f"{counts.not_added:,} not added to the baseline: only --force adds to it."


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
