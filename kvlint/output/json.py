"""JSON, schema version 1 (docs/output.md)."""

from __future__ import annotations

import json
from typing import Any

from kvlint import __version__
from kvlint.output.as_data import finding_data
from kvlint.output.report import Report
from kvlint.output.style import Style
from kvlint.waivers.comments import Suppressed

SCHEMA_VERSION = 1


def render(report: Report, style: Style) -> str:
    return json.dumps(data(report), indent=2) + "\n"


def data(report: Report) -> dict[str, Any]:
    return {
        "version": SCHEMA_VERSION,
        "kvlint": __version__,
        "sglang": [{"version": r.version, "reason": r.reason} for r in report.releases],
        "files": report.files,
        "findings": [finding_data(report, finding) for finding in report.findings],
        "suppressed": [_suppressed(report, item) for item in report.suppressed],
        "errors": [
            {
                "path": report.shown_path(error.path),
                "line": error.line,
                "column": error.column,
                "message": error.message,
            }
            for error in report.errors
        ],
    }


def _suppressed(report: Report, item: Suppressed) -> dict[str, Any]:
    by = {"kind": item.kind, "line": item.line or None, "reason": item.reason or None}
    return {**finding_data(report, item.finding), "suppressed_by": by}
