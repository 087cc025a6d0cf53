"""Passes, overlaps and fixes that are undone, on texts whose findings are words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kvlint.findings import Applicability, Edit, Finding, Fix, Span
from kvlint.fixing.apply import FixOutcome, fix_text
from kvlint.source.text import SourceFile

Check = Callable[[bytes], list[Finding]]


def finding(code: str, edits: list[tuple[int, int, bytes]], unsafe: bool = False) -> Finding:
    applicability: Applicability = "unsafe" if unsafe else "safe"
    fix = Fix("a title", applicability, tuple(Edit(*edit) for edit in edits))
    place = Span(1, edits[0][0] + 1, 1, edits[0][1] + 1)
    return Finding(code, "a-name", Path("a.py"), place, "error", "text", fix=fix)


def words(replacements: Mapping[bytes, bytes], unsafe: frozenset[bytes] = frozenset()) -> Check:
    """Each of these words is a finding, with the word as its code."""

    def check(data: bytes) -> list[Finding]:
        return [
            finding(word.decode(), [(match.start(), match.end(), new)], word in unsafe)
            for word, new in replacements.items()
            for match in re.finditer(rb"\b%s\b" % word, data)
        ]

    return check


def outcome(data: bytes, check: Check, unsafe: bool = False, name: str = "a.py") -> FixOutcome:
    source = SourceFile(Path(name), data, data.decode(), "utf-8")
    return fix_text(source, check(data), check, unsafe)


def codes(findings: tuple[Finding, ...]) -> list[str]:
    return [each.code for each in findings]


def test_nothing_to_fix() -> None:
    result = outcome(b"x = 1", words({}))
    assert result == FixOutcome(b"x = 1", (), (), (), 0)


def test_fixes_of_one_pass_are_independent_of_their_order() -> None:
    check = words({b"bad": b"good", b"x": b"longer"})
    result = outcome(b"bad; x; bad", check)
    assert result.data == b"good; longer; good"
    assert codes(result.applied) == ["bad", "x", "bad"]


def test_a_finding_without_a_fix_stays() -> None:
    def check(data: bytes) -> list[Finding]:
        place = Span(1, 1, 1, 2)
        return [Finding("KV1", "a-name", Path("a.py"), place, "error", "text")]

    result = outcome(b"x", check, unsafe=True)
    assert (result.data, codes(result.remaining)) == (b"x", ["KV1"])


def test_unsafe_fixes_wait_to_be_asked_for() -> None:
    check = words({b"a": b"b", b"c": b"d"}, frozenset({b"c"}))
    careful, bold = outcome(b"a; c; c", check), outcome(b"a; c; c", check, unsafe=True)
    assert (careful.data, careful.more_with_unsafe) == (b"b; c; c", 2)
    assert codes(careful.remaining) == ["c", "c"]
    assert (bold.data, bold.more_with_unsafe) == (b"b; d; d", 0)
    assert codes(bold.applied) == ["a", "c", "c"]


def test_more_with_unsafe_counts_what_would_really_apply() -> None:
    check = words({b"a": b"(", b"c": b"d"}, frozenset({b"a", b"c"}))
    assert outcome(b"a; c", check).more_with_unsafe == 1


def test_overlapping_fixes_take_turns() -> None:
    def check(data: bytes) -> list[Finding]:
        found = []
        if b"[0]" in data:
            start = data.index(b"f(")
            found.append(
                finding("KV2", [(start, start + 1, b"g"), (data.index(b"["), len(data), b"")])
            )
        if b"old" in data:
            start = data.index(b"old")
            found.append(finding("KV1", [(start - 2, start + 3, b"g(new")]))
        return found

    result = outcome(b"f(old)[0]", check)
    assert result.data == b"g(new)"
    assert sorted(codes(result.applied)) == ["KV1", "KV2"]


def test_the_same_fix_of_two_rules_applies_once() -> None:
    def check(data: bytes) -> list[Finding]:
        edit = [(0, 3, b"good")]
        return [finding(code, edit) for code in ("KV1", "KV2")] if data == b"bad" else []

    result = outcome(b"bad", check)
    assert (result.data, codes(result.applied)) == (b"good", ["KV1"])


def test_a_fix_that_brings_another_rules_findings_is_undone() -> None:
    result = outcome(b"a", words({b"a": b"b + b", b"b": b"c"}))
    assert (result.data, codes(result.undone)) == (b"a", ["a"])


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_a_fix_that_breaks_the_syntax_is_undone_alone(count: int) -> None:
    check = words({b"a": b"b", b"bad": b"("})
    text = "; ".join(["a"] * count + ["bad"] + ["a"] * count).encode()
    result = outcome(text, check)
    assert result.data == text.replace(b"; a", b"; b").replace(b"a;", b"b;", 1)
    assert codes(result.applied) == ["a"] * 2 * count
    assert codes(result.undone) == codes(result.remaining) == ["bad"]


def test_a_fix_that_brings_a_finding_is_undone_alone() -> None:
    check = words({b"a": b"x", b"b": b"c", b"c": b"y"})
    for before, after in ((b"a; b; c", b"x; b; y"), (b"a; b", b"x; b")):
        result = outcome(before, check)
        assert (result.data, codes(result.undone)) == (after, ["b"])


def test_a_fix_that_leaves_its_own_finding_is_undone() -> None:
    result = outcome(b"a", words({b"a": b"a "}))
    assert (result.data, codes(result.undone)) == (b"a", ["a"])


def test_an_undone_fix_is_not_tried_again_where_it_moved_to() -> None:
    tried = []

    def check(data: bytes) -> list[Finding]:
        tried.append(data)
        return words({b"long_name": b"n", b"bad": b"("})(data)

    result = outcome(b"long_name; bad; long_name", check)
    assert result.data == b"n; bad; n"
    assert codes(result.undone) == ["bad"]
    assert len(tried) <= 4


def test_edits_of_one_fix_that_overlap_are_refused() -> None:
    def check(data: bytes) -> list[Finding]:
        return [finding("KV1", [(0, 3, b"a"), (2, 4, b"b")])] if data == b"abcd" else []

    result = outcome(b"abcd", check)
    assert (result.data, codes(result.undone)) == (b"abcd", ["KV1"])


@pytest.mark.parametrize(
    ("name", "after"),
    [("a.py", b"a"), ("a.pyi", b"a"), ("a.pyw", b"a"), ("a.sh", b"("), ("a.yaml", b"(")],
)
def test_only_python_has_to_parse(name: str, after: bytes) -> None:
    assert outcome(b"a", words({b"a": b"("}), name=name).data == after


def test_a_script_has_to_parse_by_its_first_line() -> None:
    script = b"#!/usr/bin/env python3\na"
    assert outcome(script, words({b"a": b"("}), name="script").data == script


def test_a_text_without_an_ending_that_is_no_python() -> None:
    assert outcome(b"FROM a:1", words({b"a": b"("}), name="Dockerfile").data == b"FROM (:1"
