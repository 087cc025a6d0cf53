"""For people: the place, the code, how kvlint knows, what SGLang does, what to do instead."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.findings import Evidence, Finding
from kvlint.output.concise import headline
from kvlint.output.frame import frame, margin_of
from kvlint.output.report import Report
from kvlint.output.streams import harmless
from kvlint.output.style import Style, on_one_line, wrapped
from kvlint.waivers.comments import Suppressed

_COLORS = {"error": "red", "warning": "yellow", "hint": "blue"}


def render(report: Report, style: Style) -> str:
    blocks = ["\n".join(_finding(report, finding, style)) for finding in report.findings]
    blocks += ["\n".join(_suppressed(report, item, style)) for item in report.suppressed]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _finding(report: Report, finding: Finding, style: Style) -> Iterator[str]:
    color = _COLORS[finding.severity]
    yield headline(report, finding, style, color)
    source = report.sources.get(finding.path)
    margin = 1
    if source is not None:
        margin = margin_of(source, finding.span)
        yield from frame(source, finding.span, style, color)
        yield style.paint(" " * margin + " |", "blue")
    yield from _details(report, finding, style, " " * margin)


def _details(report: Report, finding: Finding, style: Style, margin: str) -> Iterator[str]:
    if finding.extra.get("certainty") == "likely":
        yield from _note("warning", LIKELY, style, margin)
    elif finding.severity == "hint":
        yield from _note("hint", NOISY, style, margin)
    for evidence in finding.evidence:
        yield from _note("because", _step(report, finding, evidence), style, margin)
    if finding.raises:
        yield from _note("SGLang", finding.raises, style, margin)
    if "runtime" in finding.extra:
        yield from _note("on real pools", finding.extra["runtime"], style, margin)
    if finding.remedy:
        yield from _note("instead", finding.remedy, style, margin)
    if finding.fix is not None:
        yield from _note("fix", _fix(finding), style, margin)
    for suggestion in finding.suggestions:
        yield from _note("or", suggestion.title, style, margin)
        for line in suggestion.code.splitlines():
            yield f"{margin}     {harmless(line)}".rstrip()


LIKELY = "likely, but not certain for every class the receiver can be"
NOISY = "noisy by nature: shown with --pedantic only"


def _note(word: str, text: str, style: Style, margin: str) -> Iterator[str]:
    start = f"{margin} = {word}: "
    first, *rest = wrapped(text, style.width, start, f"{margin}     ")
    sign, label = style.paint("=", "blue"), style.paint(f"{word}:", "bold")
    yield f"{margin} {sign} {label} {first[len(start) :]}"
    yield from rest


def _step(report: Report, finding: Finding, evidence: Evidence) -> str:
    if evidence.line is None:
        return evidence.text
    path = evidence.path or finding.path
    place = f"line {evidence.line}"
    if path != finding.path:
        place = f"{on_one_line(report.shown_path(path))}:{evidence.line}"
    return evidence.text if place in evidence.text else f"{evidence.text} ({place})"


def _fix(finding: Finding) -> str:
    fix = finding.fix
    if fix is None:
        return ""
    if fix.applicability == "safe":
        return f"{fix.title} (--fix)"
    reason = f": {fix.reason}" if fix.reason else ""
    return f"{fix.title} (--fix --unsafe-fixes{reason})"


def _suppressed(report: Report, item: Suppressed, style: Style) -> Iterator[str]:
    by = "the baseline" if item.kind == "baseline" else f"line {item.line}"
    reason = f": {harmless(item.reason)}" if item.reason else ""
    yield f"{headline(report, item.finding, style, 'blue')} (suppressed by {by}{reason})"
