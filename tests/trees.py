"""What kvlint says about published packages, in a form that survives moved lines.

A finding's key is its file, code and the function or class it stands in; how many of them there are
is part of the golden. Each key has a verdict, given by a person who read the source:

right      a real defect, or a guard that this code reaches
harmless   true as stated, though nothing breaks where it stands
wrong      a false alarm
"""

from __future__ import annotations

import ast
import json
import os
from collections import Counter
from pathlib import Path
from typing import TypedDict

from tests.running import by_file, check

GOLDEN = Path(__file__).parent / "golden" / "trees.json"
TREES: dict[str, str] = {
    "sglang-0.5.16": "sglang",
    "sglang-0.5.19": "sglang",
    "sglang-0.5.23": "sglang",
    "turbo_attn-0.70.1": "tkv",
    "lmcache-0.5.6": "lmcache",
    "kvcached-0.1.6": "kvcached",
    "sglang_omni-0.1.9": ".",
}
UNJUDGED = "unjudged"


class Entry(TypedDict):
    path: str
    code: str
    where: str
    severity: str
    count: int
    verdict: str
    reason: str


def trees_folder() -> Path | None:
    folder = os.environ.get("KVLINT_TREES")
    return Path(folder) if folder else None


def observe(name: str) -> list[Entry]:
    """The findings in one tree, without verdicts. SGLang's own trees are their own catalogue."""
    folder = trees_folder()
    if folder is None:
        raise RuntimeError("KVLINT_TREES is not set")
    root = (folder / name).resolve()
    release = str(root) if name.startswith("sglang-0") else "0.5.23"
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for path, findings in by_file(check("--sglang", release, root / TREES[name])).items():
        tree = ast.parse(path.read_bytes()) if path.suffix == ".py" else None
        for finding in findings:
            where = enclosing(tree, finding.line) if tree else ""
            relative = path.relative_to(root).as_posix()
            counts[relative, finding.code, where, finding.severity] += 1
    return [
        Entry(
            path=path,
            code=code,
            where=where,
            severity=severity,
            count=count,
            verdict=UNJUDGED,
            reason="",
        )
        for (path, code, where, severity), count in sorted(counts.items())
    ]


def enclosing(tree: ast.AST, line: int) -> str:
    """Dotted name of the function or class that a line stands in."""
    for node in ast.iter_child_nodes(tree):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if first <= line <= last:
            inner = enclosing(node, line)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                return f"{node.name}.{inner}".rstrip(".")
            return inner
    return ""


def key(entry: Entry) -> tuple[str, str, str, str]:
    return entry["path"], entry["code"], entry["where"], entry["severity"]


def read_golden() -> dict[str, list[Entry]]:
    golden: dict[str, list[Entry]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return golden
