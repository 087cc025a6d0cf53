"""One line for each finding: `path:line:col: CODE message [fix]`."""

from __future__ import annotations

from kvlint.findings import Finding
from kvlint.output.report import Report
from kvlint.output.streams import harmless
from kvlint.output.style import Style, on_one_line


def render(report: Report, style: Style) -> str:
    return "".join(f"{headline(report, finding, style)}\n" for finding in report.findings)


def headline(report: Report, finding: Finding, style: Style, code_color: str = "red") -> str:
    path = style.paint(on_one_line(report.shown_path(finding.path)), "bold")
    place = f"{path}:{finding.span.line}:{finding.span.column}:"
    message = harmless(" ".join(finding.message.split()))
    mark = fix_mark(finding)
    end = f" {style.paint(mark, 'cyan')}" if mark else ""
    return f"{place} {style.paint(finding.code, 'bold', code_color)} {message}{end}"


def fix_mark(finding: Finding) -> str:
    if finding.fix is None:
        return ""
    return "[fix]" if finding.fix.applicability == "safe" else "[unsafe fix]"
