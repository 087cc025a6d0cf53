"""Each rule's own example is its test: bad is found, good is silent, fixing bad gives good."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.rules import HEADINGS, Rule, RuleError, builtin_rules, load_rules, parse_rule
from tests.marks import marks, unmarked
from tests.rules_index import INDEX, rules_index
from tests.running import check, kvlint

RULES = [rule for rule in builtin_rules() if rule.example.language in ("python", "py")]
CODES = [rule.code for rule in RULES]
FIXABLE = [rule for rule in RULES if rule.fixable != "none"]


def options(rule: Rule) -> tuple[str, ...]:
    return ("--sglang", "0.5.23", *(("--pedantic",) if rule.pedantic else ()))


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_bad_example_is_found_where_it_is_marked_and_nowhere_else(
    rule: Rule, tmp_path: Path
) -> None:
    file = tmp_path / "bad.py"
    file.write_text(rule.example.bad, encoding="utf-8")
    assert marks(rule.example.bad), "the bad example marks no line"
    if rule.code == "KV001":
        assert kvlint("check", file).returncode == 2
        return
    found = {(finding.line, finding.code) for finding in check(*options(rule), file)}
    assert found == marks(rule.example.bad)


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_good_example_is_silent(rule: Rule, tmp_path: Path) -> None:
    file = tmp_path / "good.py"
    file.write_text(rule.example.good, encoding="utf-8")
    assert check(*options(rule), file) == []


@pytest.mark.parametrize("rule", FIXABLE, ids=[rule.code for rule in FIXABLE])
def test_fix_of_bad_is_good(rule: Rule, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(unmarked(rule.example.bad), encoding="utf-8")
    kvlint("check", "--no-cache", *options(rule), "--fix", "--unsafe-fixes", file)
    assert file.read_text(encoding="utf-8") == rule.example.good


@pytest.mark.parametrize("rule", builtin_rules(), ids=lambda rule: rule.code)
def test_file_is_named_after_the_rule(rule: Rule) -> None:
    assert rule.path.name == f"{rule.code}-{rule.name}.md"


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_rule_without_a_section_does_not_load(heading: str) -> None:
    rule = builtin_rules()[0]
    text = rule.path.read_text(encoding="utf-8")
    broken = text.replace(f"## {heading}\n", f"### {heading}\n")
    with pytest.raises(RuleError, match=heading):
        parse_rule(Path("KV999.md"), broken)


def test_an_unknown_key_in_the_front_matter_is_named() -> None:
    text = builtin_rules()[0].path.read_text(encoding="utf-8")
    with pytest.raises(RuleError, match=r"KV999\.md.*colour"):
        parse_rule(Path("KV999.md"), text.replace("+++\n", '+++\ncolour = "red"\n', 1))


def test_a_code_that_is_taken_is_named_with_both_files(tmp_path: Path) -> None:
    first = builtin_rules()[0]
    copy = tmp_path / "copy.md"
    copy.write_text(first.path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(RuleError, match=rf"{copy}.*taken by .*{first.path.name}"):
        load_rules([first.path.parent, copy])


def test_the_index_in_the_documentation_is_the_one_of_the_rules() -> None:
    assert INDEX.read_text(encoding="utf-8") == rules_index()
