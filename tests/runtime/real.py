"""Runs `kvlint run` on real SGLang trees; skips, with the reason, where there are none."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kvlint.runtime.plan import select
from kvlint.runtime.probes import Engine, Report, RunOptions
from kvlint.runtime.releases import find_release, inspect_interpreter
from kvlint.runtime.session import all_probes, catalogue_of, run_probes

CPU: tuple[Engine, ...] = ("cpu", "triton-interpreter")


def runtime_python() -> str:
    python = os.environ.get("KVLINT_RUNTIME_PYTHON")
    if not python:
        pytest.skip("KVLINT_RUNTIME_PYTHON names no Python with torch and triton")
    return python


def tree(version: str) -> Path:
    runtime_python()
    trees = os.environ.get("KVLINT_TREES")
    if not trees:
        pytest.skip("KVLINT_TREES names no folder with unpacked SGLang wheels")
    found = Path(trees) / f"sglang-{version}"
    if not found.is_dir():
        pytest.skip(f"{found} is missing")
    return found


def run(
    root: Path, *words: str, engines: tuple[Engine, ...] = CPU, options: RunOptions | None = None
) -> Report:
    """Run the probes that the words select on the tree in `root`."""
    interpreter = inspect_interpreter(runtime_python())
    release = find_release(str(root), interpreter)
    probes = select(all_probes(release, catalogue_of(release)), words)
    return run_probes(interpreter, release, probes, engines, options or RunOptions())


def verdicts(report: Report) -> dict[str, str]:
    """probe id -> verdict; with its engine where a probe ran on several."""
    found: dict[str, str] = {}
    for result in report.results:
        key = result.probe.id
        found[f"{key} [{result.engine}]" if key in found else key] = result.verdict
    return found


def changed_copy(root: Path, target: Path, path: str, edits: dict[str, str]) -> Path:
    """A copy of a tree that is links but for one file, in which each text is replaced once."""
    here, there = root, target
    there.mkdir()
    parts = Path(path).parts
    for index, part in enumerate(parts):
        for child in here.iterdir():
            if child.name not in (part, "__pycache__"):
                (there / child.name).symlink_to(child)
        here, there = here / part, there / part
        if index < len(parts) - 1:
            there.mkdir()
    text = here.read_text("utf-8")
    for old, new in edits.items():
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        text = text.replace(old, new)
    shutil.copy(here, there)
    there.write_text(text, "utf-8")
    return target


def load(text: str) -> dict[str, Any]:
    data = json.loads(text)
    assert isinstance(data, dict)
    return data
