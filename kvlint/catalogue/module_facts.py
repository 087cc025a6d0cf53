"""What SGLang's modules offer by name: functions of `mem_cache`, and which names there are."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kvlint.catalogue.bodies import dotted
from kvlint.catalogue.class_facts import function_facts
from kvlint.catalogue.model import Method, PoolClass
from kvlint.catalogue.program import Program
from kvlint.catalogue.tree import is_test_file
from kvlint.source.reading import read_regular

WHOLE = ("sglang/srt/mem_cache",)
"""Packages all of whose modules are known: a module of theirs that is not listed does not exist."""
UNTOLD = ("*",)
_PLAIN = frozenset(("lru_cache", "cache", "no_grad", "inference_mode", "wraps"))


def module_functions(program: Program) -> dict[str, Method]:
    """The functions at the left margin of `sglang.srt.mem_cache` and below."""
    found: dict[str, Method] = {}
    for name, module in sorted(program.modules.items()):
        if not name.startswith("sglang.srt.mem_cache."):
            continue
        for statement in module.tree.body:
            if isinstance(statement, ast.FunctionDef) and _is_plain(statement):
                found[f"{name}.{statement.name}"] = function_facts(statement)
    return found


def _is_plain(node: ast.FunctionDef) -> bool:
    """Whether others call it, and its decorators leave how it is called as it is written."""
    if node.name.startswith("_"):
        return False
    names = (
        dotted(one.func if isinstance(one, ast.Call) else one).rpartition(".")[2]
        for one in node.decorator_list
    )
    return all(name in _PLAIN for name in names)


def module_names(package: Path, classes: Mapping[str, PoolClass]) -> dict[str, tuple[str, ...]]:
    """The names that each module binds at its top level: modules of the packages that are known
    whole, and those that define a class of the catalogue."""
    root = package.parent
    paths = {path for folder in WHOLE for path in (root / folder).rglob("*.py")}
    paths |= {root / own.path for own in classes.values() if own.is_contract and own.path}
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(paths):
        relative = path.relative_to(root).as_posix()
        if not is_test_file(relative) and path.is_file():
            name = relative.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            found[name] = _names_of(path)
    return found


def _names_of(path: Path) -> tuple[str, ...]:
    try:
        tree = ast.parse(read_regular(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return UNTOLD
    names = set(_bound(tree.body))
    return UNTOLD if names & {"*", "__getattr__"} else tuple(sorted(names))


def _bound(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0]
        else:
            yield from _targets(statement)
            for part in ("body", "orelse", "finalbody"):
                yield from _bound(getattr(statement, part, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _bound(handler.body)


def _targets(statement: ast.stmt) -> Iterator[str]:
    """Plain names that a statement assigns; a call of `globals()` may bind any."""
    for node in ast.walk(statement) if isinstance(statement, _BINDING) else ():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Call) and dotted(node.func) in ("globals", "vars"):
            yield "*"


_BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With, ast.Expr)
