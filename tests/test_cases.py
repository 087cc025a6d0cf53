"""The collected cases, where they are at hand: KVLINT_SHARED, or ../shared beside this clone."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.running import Found, by_file, check, kvlint

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KVLINT_SHARED") or ROOT.parent / "shared")
CASES = SHARED / "cases"
RELEASES = ("0.5.16", "0.5.19", "0.5.23")
FOUND_FOR_CERTAIN = {
    "single-kv-accessor",
    "unimplemented-method",
    "missing-attr",
    "subpool-write",
    "noop-precondition",
    "override-signature",
    "call-signature",
}

pytestmark = pytest.mark.skipif(
    not CASES.is_dir(), reason=f"no collected cases at {CASES}: set KVLINT_SHARED"
)


def folders(*parts: str) -> list[Path]:
    return sorted(path for path in CASES.joinpath(*parts).glob("*") if path.is_dir())


def expected(file: Path) -> set[int]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if re.search(r"# EXPECT\b", line)}


def errors(findings: Iterable[Found]) -> set[int]:
    return {finding.line for finding in findings if finding.severity == "error"}


@pytest.fixture(scope="module")
def forms() -> dict[str, dict[Path, list[Found]]]:
    """Findings in every form, for each release."""
    return {release: by_file(check("--sglang", release, CASES / "forms")) for release in RELEASES}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("form", folders("forms", "pos"), ids=lambda form: form.name)
def test_form_is_found(form: Path, release: str, forms: dict[str, dict[Path, list[Found]]]) -> None:
    for family in sorted(form.iterdir()):
        bad, good = family / "bad.py", family / "good.py"
        findings = forms[release].get(bad.resolve(), [])
        assert errors(findings) == expected(bad), f"{bad}: {findings}"
        assert {finding.line for finding in findings} == expected(bad), f"{bad}: {findings}"
        assert forms[release].get(good.resolve(), []) == [], good


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("form", folders("forms", "neg"), ids=lambda form: form.name)
def test_form_that_only_looks_like_it_is_silent(
    form: Path, release: str, forms: dict[str, dict[Path, list[Found]]]
) -> None:
    for family in sorted(form.iterdir()):
        assert forms[release].get((family / "good.py").resolve(), []) == [], family


@pytest.fixture(scope="module")
def further_forms() -> dict[Path, list[Found]]:
    return by_file(check("--sglang", "0.5.23", CASES / "forms2"))


@pytest.mark.parametrize("form", folders("forms2", "pos"), ids=lambda form: form.name)
def test_further_form_is_found(form: Path, further_forms: dict[Path, list[Found]]) -> None:
    for family in sorted(form.iterdir()):
        if not family.is_dir():
            continue
        bad, good = family / "bad.py", family / "good.py"
        findings = further_forms.get(bad.resolve(), [])
        assert errors(findings) == expected(bad), f"{bad}: {findings}"
        assert {finding.line for finding in findings} == expected(bad), f"{bad}: {findings}"
        assert further_forms.get(good.resolve(), []) == [], good


def ways(family: str) -> list[Path]:
    rules = sorted(CASES.joinpath("forms47").glob(f"{family}*"))
    return [way for rule in rules for way in sorted(rule.iterdir())]


def marked_as(file: Path, mark: str) -> set[int]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.rstrip().endswith(f"# {mark}")}


@pytest.fixture(scope="module")
def contract_cases() -> dict[Path, list[Found]]:
    rules = sorted(CASES.joinpath("forms47").glob("KV4*"))
    return by_file(check("--sglang", "0.5.23", *rules))


@pytest.mark.parametrize("way", ways("KV4"), ids=lambda way: f"{way.parent.name}-{way.name}")
def test_contract_case(way: Path, contract_cases: dict[Path, list[Found]]) -> None:
    for program in sorted(way.iterdir()):
        assert contract_cases.get((program / "good.py").resolve(), []) == [], program
        bad = program / "bad.py"
        if not bad.exists():
            continue
        found = {finding.line for finding in contract_cases.get(bad.resolve(), [])}
        wanted, also = marked_as(bad, "EXPECT"), marked_as(bad, "OR")
        assert found <= wanted | also, bad
        if not bad.read_text(encoding="utf-8").startswith("# level: warning"):
            assert wanted <= found or found & also, bad


def bug_meta(case: Path) -> dict[str, str]:
    meta: dict[str, str] = json.loads((case / "meta.json").read_text(encoding="utf-8"))
    return meta


@pytest.mark.parametrize("case", folders("bugs"), ids=lambda case: case.name)
def test_bug_report(case: Path) -> None:
    meta = bug_meta(case)
    bad, good = case / "bad.py", case / "good.py"
    assert check("--sglang", "0.5.23", good) == []
    findings = check("--sglang", "0.5.23", bad)
    assert {finding.line for finding in findings} <= expected(bad)
    certain = meta["catchable"] == "certain" and meta["pattern_class"] in FOUND_FOR_CERTAIN
    if certain:
        assert errors(findings) == expected(bad)


def after_fix(case: Path, before: Path, scratch: Path, *arguments: str) -> bytes:
    file = scratch / before.name
    shutil.copyfile(before, file)
    done = kvlint("check", "--no-cache", "--sglang", "0.5.23", *arguments, file)
    assert done.returncode in (0, 1), done.stderr
    return file.read_bytes()


@pytest.mark.parametrize("case", folders("fixes"), ids=lambda case: case.name)
def test_fix(case: Path, tmp_path: Path) -> None:
    [before], [after] = case.glob("before.*"), case.glob("after.*")
    applies = json.loads((case / "case.json").read_text(encoding="utf-8"))["applies"]
    original, fixed = before.read_bytes(), after.read_bytes()
    safe = after_fix(case, before, tmp_path, "--fix")
    assert safe == (fixed if applies == "safe" else original)
    unsafe = after_fix(case, before, tmp_path, "--fix", "--unsafe-fixes")
    assert unsafe == (original if applies == "none" else fixed)
    assert after_fix(case, after, tmp_path, "--fix", "--unsafe-fixes") == fixed
