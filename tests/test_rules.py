"""Each rule's own example is its test: bad is found, good is silent, fixing bad gives good."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from kvlint.catalogue.families import Family
from kvlint.engine.analysis import CHECKS
from kvlint.rules.rule import CHECKS as RULE_CHECKS
from kvlint.rules.rule import (
    FAMILIES,
    HEADINGS,
    PROBE_KINDS,
    Rule,
    RuleError,
    builtin_rules,
    load_rules,
    parse_rule,
)
from kvlint.runtime.probes import ProbeKind
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
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(own_rule(), encoding="utf-8")
    first, second = tmp_path / "a.md", tmp_path / "b.md"
    with pytest.raises(RuleError) as error:
        load_rules([tmp_path])
    assert str(error.value) == f"{second}: OWN101 own-rule is taken by {first}"


def own_rule(old: str = "", new: str = "") -> str:
    """A rule file of somebody's own, with one text replaced."""
    rule = next(rule for rule in builtin_rules() if rule.code == "KV101")
    text = rule.path.read_text(encoding="utf-8")
    text = text.replace('code = "KV101"', 'code = "OWN101"').replace(rule.name, "own-rule")
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'check = "guarded_accessor"',
            'check = "os.system"',
            ":7: check 'os.system' is none of absent_accessor, assumed_type, call_arguments,"
            " capability_probe, constructor_arguments, dead_dispatch, guarded_accessor,"
            " missing_implementation, moved_name, override, raw_buffer_write, replaced_class,"
            " result_arity, sub_pool_reference, sub_pool_write, builtin, launch",
        ),
        (
            'fixable = "sometimes"',
            'fixable = "zzz"',
            ":12: fixable 'zzz' is none of none, sometimes, always",
        ),
        (
            'code = "OWN101"',
            'code = "KV666"',
            ":2: code KV666: KV is for kvlint's own, take other letters",
        ),
        ("misuse = ", "misues = ", ":20: probe: unknown key 'misues'; known: pool, misuse, kind"),
        (
            'kind = ["guard", "fix"]',
            'kind = ["zzz"]',
            ":21: probe: kind must be a list of guard, facts, fix, necessity, writer, launch",
        ),
        (
            "accessors = ",
            "accesors = ",
            ":15: parameters: unknown key 'accesors'; known: accessors, classes, family, rest",
        ),
        (
            'family = "single-kv"',
            'family = "zzz"',
            ":16: parameters: family must be one of single-kv, k-only, no-op, composite",
        ),
        ('severity = "error"', "severity = 1", ":5: severity is missing or no text"),
        ('code = "OWN101"\n', "", ":1: code is missing or no text"),
        ('sglang = "', 'sglang = "=', ":6: sglang: Invalid specifier"),
        ('check = "guarded_accessor"', "check = = 1", ":7: is not valid TOML: Invalid value"),
        ('code = "OWN101"', 'pedantic = 1\ncode = "OWN101"', ":2: pedantic must be true or false"),
        ("+++\n", "", ":1: front matter between two +++ lines is missing"),
    ],
)
def test_a_rule_file_that_is_wrong_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = tmp_path / "own.md"
    file.write_text(own_rule(old, new), encoding="utf-8")
    with pytest.raises(RuleError) as error:
        load_rules([file])
    assert str(error.value).startswith(f"{file}{message}")


def test_a_check_that_goes_by_codes_is_for_kvlints_own_rules(tmp_path: Path) -> None:
    front, _, rest = own_rule().partition("[parameters]")
    probe = "[probe]" + rest.partition("[probe]")[2]
    file = tmp_path / "own.md"
    file.write_text(front.replace("guarded_accessor", "launch") + probe, encoding="utf-8")
    with pytest.raises(RuleError) as error:
        load_rules([file])
    assert str(error.value) == f"{file}:7: check 'launch' serves kvlint's own rules only"


def test_a_rule_file_that_is_no_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "own.md"
    file.write_bytes(b"+++\ncode = '\xff'\n+++\n")
    with pytest.raises(RuleError) as error:
        load_rules([file])
    assert str(error.value) == f"{file}:2: is not valid UTF-8"


def test_a_folder_without_rule_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuleError) as error:
        load_rules([tmp_path])
    assert str(error.value) == f"{tmp_path}: holds no rule files (*.md)"


def test_every_check_that_a_rule_can_name_is_there() -> None:
    assert set(RULE_CHECKS) == set(CHECKS)
    assert get_args(Family) == FAMILIES
    assert get_args(ProbeKind) == PROBE_KINDS


def test_the_index_in_the_documentation_is_the_one_of_the_rules() -> None:
    assert INDEX.read_text(encoding="utf-8") == rules_index()
