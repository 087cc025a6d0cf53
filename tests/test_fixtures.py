"""The programs under fixtures/: what is found in them, and what fixing makes of them.

`python -m tests.regolden` rewrites the fixed forms.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures import FIXED, PROGRAMS, SILENT, fixed_texts
from tests.marks import marks
from tests.running import by_file, check

FILES = sorted(PROGRAMS.rglob("*.py"))


@pytest.fixture(scope="module")
def found() -> dict[Path, set[tuple[int, str]]]:
    findings = by_file(check("--sglang", "0.5.23", PROGRAMS))
    return {
        path: {(finding.line, finding.code) for finding in of_file}
        for path, of_file in findings.items()
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PROGRAMS)))
def test_every_mark_is_found_and_nothing_else(
    file: Path, found: dict[Path, set[tuple[int, str]]]
) -> None:
    assert found.get(file, set()) == marks(file.read_text(encoding="utf-8"))


def test_code_that_only_looks_like_a_misuse_is_silent() -> None:
    assert check("--sglang", "0.5.23", SILENT) == []


@pytest.mark.parametrize("level", sorted(FIXED))
def test_fixing_gives_the_fixed_form(level: str, tmp_path: Path) -> None:
    folder, arguments = FIXED[level]
    expected = {
        str(file.relative_to(folder)): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*.py"))
    }
    assert fixed_texts(tmp_path, arguments) == expected


@pytest.mark.parametrize("level", sorted(FIXED))
def test_fixing_the_fixed_form_changes_nothing(level: str, tmp_path: Path) -> None:
    folder, arguments = FIXED[level]
    once = {str(f.relative_to(folder)): f.read_text(encoding="utf-8") for f in folder.rglob("*.py")}
    assert fixed_texts(tmp_path, arguments, source=folder) == once
