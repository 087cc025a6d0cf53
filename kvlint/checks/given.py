"""May a pool have been given an attribute from outside its class?"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator

from kvlint.checks.asked import Asked
from kvlint.interpret.classes import is_subclass, source_class
from kvlint.interpret.interest import touches
from kvlint.interpret.pool_sets import PoolSet
from kvlint.interpret.values import UNKNOWN, ClassObject, Instance, Value, value

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def may_be_given(asked: Asked, pools: PoolSet, name: str) -> bool:
    """Whether the module gives an object of these classes, or one of which it does not say what it
    is, an attribute of that name: assigned, by `setattr`, or patched for a test."""
    key = (asked.module.name, name)
    objects = asked.ctx.given.get(key)
    if objects is None:
        found = _given(asked, name, _lines_that_name(asked, name))
        objects = asked.ctx.given[key] = tuple(dict.fromkeys(found))
    return any(_may_be_one_of(asked, known, pools) for known in objects)


def _lines_that_name(asked: Asked, name: str) -> list[int]:
    spelled = re.compile(rf"\.{re.escape(name)}\b|['\".]{re.escape(name)}['\"]|\b{name}=")
    starts = asked.module.source.line_starts
    return [bisect_right(starts, m.start()) for m in spelled.finditer(asked.module.source.text)]


def _given(asked: Asked, name: str, lines: list[int]) -> Iterator[Value]:
    """What the objects are that are given the attribute."""
    for target, known in asked.given.items():
        if target.attr == name:
            yield known
    for node, own in _nodes(asked.module.tree, lines, None, None):
        if isinstance(node, ast.Attribute):
            if node.attr == name and isinstance(node.ctx, ast.Store) and node not in asked.given:
                yield _object(asked, node.value, own)
        elif isinstance(node, ast.Call) and _sets(node, name):
            yield _object(asked, node.args[0], own) if len(node.args) > 1 else UNKNOWN


_Own = tuple[str, ast.ClassDef] | None
"""The name of `self` where an expression stands, and the class around it."""


def _nodes(
    node: ast.AST, lines: list[int], cls: ast.ClassDef | None, own: _Own
) -> Iterator[tuple[ast.AST, _Own]]:
    """The nodes of statements that hold one of the lines."""
    for child in ast.iter_child_nodes(node):
        parts = [child, *getattr(child, "decorator_list", ())]
        if isinstance(child, ast.stmt) and not any(touches(lines, part) for part in parts):
            continue
        inner = own
        if isinstance(child, _FUNCTIONS) and cls is not None and child.args.args:
            inner = (child.args.args[0].arg, cls)
        yield child, inner
        yield from _nodes(child, lines, child if isinstance(child, ast.ClassDef) else None, inner)


def _sets(node: ast.Call, name: str) -> bool:
    """`setattr(pool, "name", ...)`, `patch.object(pool, "name")`, `patch("module.Pool.name")`."""
    names = {each.id for each in ast.walk(node.func) if isinstance(each, ast.Name)}
    names |= {each.attr for each in ast.walk(node.func) if isinstance(each, ast.Attribute)}
    if not any(each == "setattr" or each.startswith("patch") for each in names):
        return False
    texts = [a.value for a in node.args[:2] if isinstance(a, ast.Constant)]
    texts += [keyword.arg for keyword in node.keywords]
    return any(isinstance(text, str) and text.rpartition(".")[2] == name for text in texts)


def _object(asked: Asked, node: ast.expr, own: _Own) -> Value:
    if own is None or not isinstance(node, ast.Name) or node.id != own[0]:
        return UNKNOWN
    info = asked.ctx.class_of_node.get(own[1])
    return value(Instance(info.qualname)) if info is not None else UNKNOWN


def _may_be_one_of(asked: Asked, known: Value, pools: PoolSet) -> bool:
    if known.atoms is None:
        return True
    return any(
        isinstance(atom, (Instance, ClassObject)) and _related(asked, atom.cls, cls)
        for atom in known.atoms
        for cls in pools.classes
    )


def _related(asked: Asked, cls: str, pool: str) -> bool:
    if is_subclass(asked.ctx, pool, cls) or is_subclass(asked.ctx, cls, pool):
        return True
    info = source_class(asked.ctx, cls)
    return info is not None and "?" in info.bases
