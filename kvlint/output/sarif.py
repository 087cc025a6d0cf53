"""SARIF 2.1.0, as code scanning services read it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kvlint import __version__
from kvlint.findings import Edit, Evidence, FileError, Finding, Fix, Span, Suggestion
from kvlint.output.lines import Positions
from kvlint.output.report import Report
from kvlint.output.style import Style
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile
from kvlint.waivers.comments import Suppressed
from kvlint.waivers.fingerprints import fingerprints

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "kvlint/v1"
_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}
_ROOT = "ROOT"


def render(report: Report, style: Style) -> str:
    return json.dumps(log(report), indent=2) + "\n"


def log(report: Report) -> dict[str, Any]:
    index = {rule.code: number for number, rule in enumerate(report.rules)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(report)},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"uri": f"{report.root.as_uri().rstrip('/')}/"}},
                "invocations": [_invocation(report)],
                "results": _results(report, index),
            }
        ],
    }


def _driver(report: Report) -> dict[str, Any]:
    return {
        "name": "kvlint",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in report.rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    sections = [f"## {heading}\n\n{text}" for heading, text in rule.sections.items()]
    markdown = "\n\n".join([f"# {rule.code} {rule.name}", *sections])
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.sections["What it does"]},
        "help": {"text": markdown, "markdown": markdown},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _invocation(report: Report) -> dict[str, Any]:
    return {
        "executionSuccessful": not report.errors,
        "toolExecutionNotifications": [_notification(report, error) for error in report.errors],
    }


def _notification(report: Report, error: FileError) -> dict[str, Any]:
    span = (
        Span(error.line, error.column or 1, error.line, error.column or 1) if error.line else None
    )
    return {
        "level": "error",
        "message": {"text": error.message},
        "locations": [_location(report, error.path, span)],
    }


def _results(report: Report, index: Mapping[str, int]) -> list[dict[str, Any]]:
    by_comment = {id(item.finding): item for item in report.suppressed}
    everything = [*report.findings, *(item.finding for item in report.suppressed)]
    everything.sort(key=lambda finding: finding.sort_key)
    return [
        _result(report, finding, mark, index, by_comment.get(id(finding)))
        for finding, mark in fingerprints(everything, report.sources, report.root)
    ]


def _result(
    report: Report,
    finding: Finding,
    fingerprint: str,
    index: Mapping[str, int],
    suppressed: Suppressed | None,
) -> dict[str, Any]:
    source = report.sources.get(finding.path)
    fixes = [_fix(report, finding.path, finding.fix, source)] if finding.fix and source else []
    if source:
        fixes += [_suggestion(report, finding, item, source) for item in finding.suggestions]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [_location(report, finding.path, finding.span)],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "suppressions": [_suppression(suppressed)] if suppressed else [],
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    steps = [_step(report, finding, number, e) for number, e in enumerate(finding.evidence)]
    related = [step for step in steps if step is not None]
    if related:
        result["relatedLocations"] = related
    if fixes:
        result["fixes"] = fixes
    return result


def _message(finding: Finding) -> str:
    steps = [f"{step.text}." for step in finding.evidence]
    raises = f"SGLang: {finding.raises}" if finding.raises else ""
    return "\n".join(filter(None, [finding.message, *steps, raises, finding.remedy]))


def _step(
    report: Report, finding: Finding, number: int, evidence: Evidence
) -> dict[str, Any] | None:
    if evidence.line is None:
        return None
    column = evidence.column or 1
    span = Span(evidence.line, column, evidence.line, column)
    location = _location(report, evidence.path or finding.path, span)
    return {"id": number, **location, "message": {"text": evidence.text}}


def _suppression(item: Suppressed) -> dict[str, Any]:
    kind = "external" if item.kind == "baseline" else "inSource"
    why = {"justification": item.reason} if item.reason else {}
    return {"kind": kind, "status": "accepted", **why}


def _location(report: Report, path: Path, span: Span | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(report, path)}
    if span is not None:
        place["region"] = _region(span)
    return {"physicalLocation": place}


def _artifact(report: Report, path: Path) -> dict[str, str]:
    try:
        relative = path.relative_to(report.root).as_posix()
    except ValueError:
        return {"uri": path.as_uri()}
    return {"uri": quote(relative.encode("utf-8", "surrogateescape")), "uriBaseId": _ROOT}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _fix(report: Report, path: Path, fix: Fix, source: SourceFile) -> dict[str, Any]:
    unsafe = f" (unsafe{f': {fix.reason}' if fix.reason else ''})"
    title = fix.title + (unsafe if fix.applicability == "unsafe" else "")
    return _change(report, path, title, [_replacement(edit, source) for edit in fix.edits])


def _replacement(edit: Edit, source: SourceFile) -> dict[str, Any]:
    return {
        "deletedRegion": _region(Positions(source).span(edit.start, edit.end)),
        "insertedContent": {"text": edit.replacement.decode(source.encoding, "replace")},
    }


def _suggestion(
    report: Report, finding: Finding, suggestion: Suggestion, source: SourceFile
) -> dict[str, Any]:
    """A documented alternative, to take the place of the whole statement."""
    first, last = finding.statement_lines
    line = source.line(first)
    indent = line[: len(line) - len(line.lstrip())]
    code = "\n".join(indent + part if part else part for part in suggestion.code.splitlines())
    region = _region(Span(first, 1, last, len(source.line(last)) + 1))
    change = {"deletedRegion": region, "insertedContent": {"text": code}}
    return _change(report, finding.path, suggestion.title, [change])


def _change(
    report: Report, path: Path, title: str, replacements: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    change = {"artifactLocation": _artifact(report, path), "replacements": list(replacements)}
    return {"description": {"text": title}, "artifactChanges": [change]}
