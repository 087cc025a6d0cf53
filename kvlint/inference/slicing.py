"""Which part of a function matters to a question about it.

"What does `self.kv` hold?" asks for the assignments to it and for what those read, not for all
that a method of five hundred lines does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_PLAIN = (ast.Constant, ast.Compare, ast.JoinedStr, ast.UnaryOp)


@dataclass(frozen=True, slots=True)
class Slice:
    """Names whose bindings are followed, and attributes of self whose assignments are."""

    names: frozenset[str]
    attribute: str | None = None
    returns: bool = False


@dataclass(frozen=True, slots=True)
class Bindings:
    """What a function binds: name -> names read for it; what it stores on self; what it returns."""

    reads: dict[str, frozenset[str]]
    stores: dict[str, frozenset[str]]
    returned: frozenset[str]
    plain_stores: frozenset[str]
    """Attributes that are only ever given constants, comparisons and the like."""
    plain_returns: bool


def names_in(node: ast.AST) -> Iterator[str]:
    """Names that an expression reads."""
    stack: list[ast.AST] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, ast.Name):
            yield current.id
        else:
            stack.extend(ast.iter_child_nodes(current))


def bindings_in(function: FunctionNode) -> Bindings:
    """Read a function's bindings off, nested functions left out."""
    positional = [*function.args.posonlyargs, *function.args.args]
    first = positional[0].arg if positional else None
    reads: dict[str, set[str]] = {}
    stores: dict[str, set[str]] = {}
    bearing: set[str] = set()
    returned: set[str] = set()
    returns_something = False
    for target, values in _bound(function.body):
        used = {name for each in values for name in names_in(each)}
        if isinstance(target, ast.Return):
            returned |= used
            returns_something = returns_something or not all(is_plain(v) for v in values)
            continue
        for node in _targets(target):
            if isinstance(node, ast.Name):
                reads.setdefault(node.id, set()).update(used)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id == first:
                    stores.setdefault(node.attr, set()).update(used)
                    if not values or not all(is_plain(v) for v in values):
                        bearing.add(node.attr)
                else:
                    reads.setdefault(node.value.id, set()).update(used)
    return Bindings(
        {name: frozenset(used) for name, used in reads.items()},
        {name: frozenset(used) for name, used in stores.items()},
        frozenset(returned),
        frozenset(set(stores) - bearing),
        not returns_something,
    )


def is_plain(node: ast.expr) -> bool:
    """Whether an expression can hold no pool, nor an object on the way to one. None is not plain:
    it is one of the things that an attribute of a pool is set to."""
    if isinstance(node, ast.Constant):
        return node.value is not None
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, (ast.BitOr, ast.Add))
    return isinstance(node, _PLAIN)


def _targets(target: ast.AST) -> Iterator[ast.AST]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _targets(element)
    elif isinstance(target, (ast.Starred, ast.Subscript)):
        yield from _targets(target.value)
    else:
        yield target


def _bound(body: Iterable[ast.AST]) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield target, [node.value]
        elif isinstance(node, ast.AnnAssign):
            values = [node.annotation, *([node.value] if node.value is not None else [])]
            yield node.target, values
        elif isinstance(node, ast.AugAssign):
            yield node.target, []
        elif isinstance(node, ast.NamedExpr):
            yield node.target, [node.value]
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield node.target, [node.iter]
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield node.optional_vars, [node.context_expr]
        elif isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)):
            yield ast.Return(), [node.value] if node.value is not None else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # `pools.append(pool)`: the list holds it from here on.
            if node.func.attr in ("append", "add", "insert", "extend", "appendleft"):
                yield node.func.value, list(node.args)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                for name in _captured(case.pattern):
                    yield ast.Name(name, ast.Store()), [node.subject]
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))


def _captured(pattern: ast.pattern) -> Iterator[str]:
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            yield name


def closure(bindings: Bindings, start: Iterable[str]) -> frozenset[str]:
    """The names that the start depends on through the function's own assignments."""
    found = set(start)
    queue = list(found)
    while queue:
        for name in bindings.reads.get(queue.pop(), ()):
            if name not in found:
                found.add(name)
                queue.append(name)
    return frozenset(found)
