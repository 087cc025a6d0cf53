"""Imports run one way."""

from __future__ import annotations

import ast
from collections import Counter

from tests.module_map import arrows, circles, imports, module_files, package_of

GRAPH = imports(module_files())
WITH_CIRCLES = {"catalogue": 2, "interpret": 30, "launch": 7, "runtime": 3}
"""Packages whose files still import each other in circles, with the most files that may: a debt
that only shrinks."""


def test_no_circle_of_packages() -> None:
    assert circles(arrows(GRAPH)) == set()


def test_circles_of_files_only_get_fewer() -> None:
    found = Counter(map(package_of, circles(GRAPH)))
    assert found.keys() <= WITH_CIRCLES.keys()
    assert all(found[package] <= most for package, most in WITH_CIRCLES.items())


def test_what_stands_at_the_bottom() -> None:
    between = arrows(GRAPH)
    assert between["source"] <= {"findings", "errors"}
    assert between["interpret"] <= {"catalogue", "findings", "rules", "source"}
    assert not between["launch"] & {"cli", "engine", "output", "project"}


def test_only_the_runtime_imports_what_it_runs() -> None:
    for name, path in module_files().items():
        if package_of(name) != "runtime":
            text = path.read_text(encoding="utf-8")
            assert "import torch" not in text
            assert "import triton" not in text


READ_THEMSELVES = {
    "catalogue.demands": "package data",
    "catalogue.embed": "package data",
    "engine.command_line": "/proc of a process that the command line names",
    "launch.facts": "package data",
}
"""Modules that read files without `source.reading`, and which files these are."""


def test_what_a_repository_holds_is_read_by_one_module() -> None:
    """A pipe or device in the place of a file must neither block a run nor be read for ever."""
    direct = set()
    for name, path in module_files().items():
        if package_of(name) != "runtime":
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Attribute) and node.attr in ("read_bytes", "read_text"):
                    direct.add(name)
    assert direct == set(READ_THEMSELVES)
