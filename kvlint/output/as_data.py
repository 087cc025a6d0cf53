"""Findings as plain data for the machine-readable formats."""

from __future__ import annotations

from typing import Any

from kvlint.findings import Edit, Finding, Fix, Span
from kvlint.output.lines import Positions
from kvlint.output.report import Report
from kvlint.source.text import SourceFile

DOCUMENTATION = "kvlint rule {code}"


def span_data(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def finding_data(report: Report, finding: Finding) -> dict[str, Any]:
    """One finding by the JSON schema, version 1."""
    return {
        "code": finding.code,
        "name": finding.name,
        "path": report.shown_path(finding.path),
        **span_data(finding.span),
        "severity": finding.severity,
        "message": finding.message,
        "evidence": [
            {
                "text": step.text,
                "path": report.shown_path(step.path or finding.path),
                "line": step.line,
                "column": step.column,
            }
            for step in finding.evidence
        ],
        "raises": finding.raises or None,
        "remedy": finding.remedy or None,
        "receiver_classes": list(finding.receiver_classes),
        "accessor": finding.accessor or None,
        "documentation": DOCUMENTATION.format(code=finding.code),
        "fix": fix_data(finding.fix, report.sources.get(finding.path)),
        "runtime": finding.extra.get("runtime"),
        "suggestions": [{"title": s.title, "code": s.code} for s in finding.suggestions],
    }


def fix_data(fix: Fix | None, source: SourceFile | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    return {
        "title": fix.title,
        "applicability": fix.applicability,
        "reason": fix.reason or None,
        "edits": [edit_data(edit, source) for edit in fix.edits],
    }


def edit_data(edit: Edit, source: SourceFile | None) -> dict[str, Any]:
    """`start` and `end` count bytes of the file; lines and columns count from 1."""
    encoding = source.encoding if source else "utf-8"
    data: dict[str, Any] = {
        "start": edit.start,
        "end": edit.end,
        "replacement": edit.replacement.decode(encoding, "replace"),
    }
    if source is not None:
        data.update(span_data(Positions(source).span(edit.start, edit.end)))
    return data
