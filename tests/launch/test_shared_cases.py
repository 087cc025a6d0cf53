"""The cases that were written for this project, where they are at hand."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.launch.asking import findings, fixed

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(os.environ.get("KVLINT_SHARED", ROOT.parent / "shared")) / "cases"
GROUPS = {"backend": "KV302", "precondition": "KV303", "decode": "KV304", "choice": "KV305"}
LAUNCH = sorted(CASES.glob("launch/*/case.json"))
FIXES = sorted(CASES.glob("fixes/server_args_*/case.json"))

pytestmark = pytest.mark.skipif(not LAUNCH, reason="KVLINT_SHARED names no folder with the cases")


@pytest.mark.parametrize("case", LAUNCH, ids=lambda case: case.parent.name)
def test_launch(case: Path) -> None:
    """Each expected finding at its line or the next to it, and no other."""
    data = json.loads(case.read_text(encoding="utf-8"))
    file = case.parent / data["file"]
    left = [(f.span.line, f.code) for f in findings(str(file), file.read_text("utf-8"))]
    for line, group in data["expect"]:
        near = [f for f in left if f[1] == GROUPS[group] and abs(f[0] - line) <= 1]
        assert near, f"nothing of {group} near line {line}"
        left.remove(near[0])
    assert left == []


@pytest.mark.parametrize("case", FIXES, ids=lambda case: case.parent.name)
def test_fix(case: Path) -> None:
    before, after = (
        (case.parent / f"{name}.py").read_text("utf-8") for name in ("before", "after")
    )
    assert fixed("before.py", before) == after
