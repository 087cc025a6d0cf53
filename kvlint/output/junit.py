"""JUnit XML, which Jenkins and most other CI servers read: one test suite for each file."""

from __future__ import annotations

import re
from itertools import groupby
from xml.etree import ElementTree

from kvlint.findings import Finding
from kvlint.output.report import Report
from kvlint.output.streams import harmless
from kvlint.output.style import Style

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, style: Style) -> str:
    """A run without findings is one test that passes, since an empty report is an error to some
    servers."""
    total = len(report.findings) + len(report.errors)
    root = ElementTree.Element(
        "testsuites",
        name="kvlint",
        tests=str(max(1, total)),
        failures=str(len(report.findings)),
        errors=str(len(report.errors)),
    )
    for path, findings in groupby(report.findings, key=lambda finding: finding.path):
        _suite(root, report.shown_path(path), list(findings))
    for error in report.errors:
        path = _clean(report.shown_path(error.path))
        suite = _new_suite(root, path, tests=1, errors=1)
        case = ElementTree.SubElement(suite, "testcase", name="read", classname=path)
        if error.line:
            case.set("line", str(error.line))
        ElementTree.SubElement(case, "error", message=_clean(error.message))
    if not total:
        suite = _new_suite(root, "kvlint", tests=1)
        ElementTree.SubElement(suite, "testcase", name="no findings", classname="kvlint")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _new_suite(
    root: ElementTree.Element, name: str, tests: int, failures: int = 0, errors: int = 0
) -> ElementTree.Element:
    return ElementTree.SubElement(
        root,
        "testsuite",
        name=_clean(name),
        tests=str(tests),
        failures=str(failures),
        errors=str(errors),
    )


def _suite(root: ElementTree.Element, path: str, findings: list[Finding]) -> None:
    suite = _new_suite(root, path, tests=len(findings), failures=len(findings))
    for finding in findings:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            name=f"{finding.code} {finding.name} line {finding.span.line}",
            classname=_clean(path),
            line=str(finding.span.line),
            column=str(finding.span.column),
        )
        failure = ElementTree.SubElement(
            case, "failure", type=finding.severity, message=_clean(finding.message)
        )
        place = f"{path}:{finding.span.line}:{finding.span.column}"
        steps = [step.text for step in finding.evidence]
        lines = [f"{place}: {finding.code} {finding.message}", *steps, finding.raises]
        failure.text = _clean("\n".join(filter(None, [*lines, finding.remedy])))


def _clean(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", harmless(text))
