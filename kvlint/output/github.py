"""Workflow commands that GitHub shows as annotations."""

from __future__ import annotations

from kvlint.findings import Finding
from kvlint.output.report import Report
from kvlint.output.streams import harmless
from kvlint.output.style import Style

_LEVELS = {"error": "error", "warning": "warning", "hint": "notice"}


def render(report: Report, style: Style) -> str:
    lines = [_finding(report, finding) for finding in report.findings]
    for error in report.errors:
        place = f"file={_property(report.shown_path(error.path))},line={error.line or 1}"
        lines.append(f"::error {place},title=kvlint::{_data(error.message)}")
    return "".join(f"{line}\n" for line in lines)


def _finding(report: Report, finding: Finding) -> str:
    span = finding.span
    path = report.shown_path(finding.path)
    properties = {
        "title": f"kvlint {finding.code} {finding.name}",
        "file": path,
        "line": str(span.line),
        "endLine": str(span.end_line),
    }
    if span.line == span.end_line:
        properties["col"] = str(span.column)
        properties["endColumn"] = str(span.end_column)
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    place = f"{path}:{span.line}:{span.column}"
    text = [f"{place}: {finding.code} {finding.message}", finding.raises, finding.remedy]
    return f"::{_LEVELS[finding.severity]} {listed}::" + _data("\n".join(filter(None, text)))


def _data(text: str) -> str:
    return harmless(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
