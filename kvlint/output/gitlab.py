"""GitLab's code quality report."""

from __future__ import annotations

import json

from kvlint.output.report import Report
from kvlint.output.style import Style
from kvlint.waivers.fingerprints import fingerprints

_SEVERITIES = {"error": "major", "warning": "minor", "hint": "info"}


def render(report: Report, style: Style) -> str:
    items = [
        {
            "description": f"{finding.code} {finding.message}",
            "check_name": finding.name,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.severity],
            "location": {
                "path": report.shown_path(finding.path),
                "positions": {
                    "begin": {"line": finding.span.line, "column": finding.span.column},
                    "end": {"line": finding.span.end_line, "column": finding.span.end_column},
                },
            },
        }
        for finding, fingerprint in fingerprints(report.findings, report.sources, report.root)
    ]
    return json.dumps(items, indent=2) + "\n"
