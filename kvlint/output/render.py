"""From a report to the text of a format."""

from __future__ import annotations

import json
from collections import Counter
from importlib import import_module

from kvlint.output.report import Report
from kvlint.output.style import Style
from kvlint.project.settings import OutputFormat


def render(report: Report, output_format: OutputFormat, style: Style) -> str:
    """The whole text of a report. Only the module of the format asked for is imported."""
    text: str = import_module(f"kvlint.output.{output_format}").render(report, style)
    return text


def statistics(report: Report, output_format: OutputFormat, style: Style) -> str:
    """Findings counted by rule, the most frequent first: a table, or JSON for that format."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    fixable = Counter(finding.code for finding in report.findings if finding.fix)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if output_format == "json":
        data = [
            {"code": code, "name": name, "count": count, "fixable": fixable[code]}
            for (code, name), count in rows
        ]
        return json.dumps(data, indent=2) + "\n"
    lines = []
    for (code, name), count in rows:
        mark = f"  {style.paint(f'[{fixable[code]} fixable]', 'cyan')}" if fixable[code] else ""
        lines.append(f"{count:>5}  {style.paint(code, 'bold')}  {name}{mark}\n")
    return "".join(lines)
