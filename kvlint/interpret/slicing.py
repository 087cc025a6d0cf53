"""Which part of a function matters to a question about it.

"What does `self.kv` hold?" asks for the assignments to it and for what those read, not for all
that a method of five hundred lines does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_PLAIN = (ast.Constant, ast.Compare, ast.JoinedStr, ast.UnaryOp)


@dataclass(frozen=True, slots=True)
class Slice:
    """Names whose bindings are followed, and attributes of self whose assignments are."""

    names: frozenset[str]
    attribute: str | None = None
    returns: bool = False

    def wants(self, target: ast.expr) -> bool:
        """Whether binding a target can change what is asked for."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return any(self.wants(element) for element in target.elts)
        if isinstance(target, ast.Subscript) and self.wants(target.value):
            return True
        if isinstance(target, ast.Attribute) and target.attr == self.attribute:
            return True
        return _root(target) in self.names

    def asks(self, test: ast.expr) -> bool:
        """Whether a condition speaks of a followed name, or of the attribute."""
        if not self.names.isdisjoint(names_in(test)):
            return True
        return self.attribute is not None and any(
            isinstance(node, ast.Attribute) and node.attr == self.attribute
            for node in ast.walk(test)
        )

    def touches(self, call: ast.Call) -> bool:
        """Whether a call can: of a followed name, or one that puts something into the attribute,
        `self.pools.append(pool)`, `setattr(self, "pool", pool)`."""
        if _root(call.func) in self.names:
            return True
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Attribute):
            return call.func.value.attr == self.attribute
        name = call.args[1] if len(call.args) == 3 else None
        return isinstance(name, ast.Constant) and name.value == self.attribute


def _root(node: ast.AST) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def has_walrus(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(value, (ast.BoolOp, ast.IfExp, ast.NamedExpr)) and any(
        isinstance(node, ast.NamedExpr) for node in ast.walk(value)
    )


@dataclass(frozen=True, slots=True)
class Bindings:
    """What a function binds. Only statements are walked; the names that an expression reads are
    looked up when a question follows it."""

    names: dict[str, list[ast.expr]]
    """Name -> expressions bound to it, put into it, or assigned to an attribute of it."""
    stores: dict[str, list[ast.expr]]
    """Attribute of self -> expressions assigned to it."""
    annotated: dict[str, ast.AnnAssign]
    """Attribute of self -> the assignment that annotates it."""
    returned: list[ast.expr]
    yields: bool
    inner_stores: frozenset[str] = frozenset()
    """Attributes of self that a function defined in this one assigns."""

    def is_plain_store(self, attribute: str) -> bool:
        return all(is_plain(value) for value in self.stores.get(attribute, ()))

    @property
    def plain_result(self) -> bool:
        return all(is_plain(value) for value in self.returned)


def names_in(node: ast.AST) -> Iterator[str]:
    """Names that an expression reads."""
    stack: list[Any] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, ast.Name):
            yield current.id
        elif isinstance(current, list):
            stack.extend(current)
        elif isinstance(current, ast.AST):
            stack.extend(getattr(current, name, None) for name in current._fields)


def bindings_in(function: FunctionNode) -> Bindings:
    """Read a function's bindings off, nested functions left out."""
    positional = [*function.args.posonlyargs, *function.args.args]
    first = positional[0].arg if positional else None
    found = Bindings({}, {}, {}, [], any_yield(function), _inner_stores(function, first))
    for target, value in _bound(function.body):
        if target is None:
            found.returned.append(value)
            continue
        for node in _targets(target):
            if isinstance(node, ast.Name):
                found.names.setdefault(node.id, []).append(value)
            elif isinstance(node, ast.Attribute):
                _bind_attribute(found, node, value, first)
    for node in _annotations(function.body, first):
        target = node.target
        if isinstance(target, ast.Attribute):
            found.annotated.setdefault(target.attr, node)
    return found


def _inner_stores(function: FunctionNode, first: str | None) -> frozenset[str]:
    """Attributes of the first parameter that nested functions assign."""
    found: set[str] = set()
    for nested in _statements(function.body) if first is not None else ():
        if isinstance(nested, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for target, _ in _bound(nested.body):
                for node in _targets(target) if target is not None else ():
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                        found |= {node.attr} if node.value.id == first else set()
    return frozenset(found)


def _bind_attribute(
    found: Bindings, node: ast.Attribute, value: ast.expr, first: str | None
) -> None:
    root: ast.expr = node
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if isinstance(node.value, ast.Name) and node.value.id == first:
        found.stores.setdefault(node.attr, []).append(value)
    elif isinstance(root, ast.Name):
        found.names.setdefault(root.id, []).append(value)


def _annotations(body: list[ast.stmt], first: str | None) -> Iterator[ast.AnnAssign]:
    for statement in _statements(body):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Attribute)
            and isinstance(statement.target.value, ast.Name)
            and statement.target.value.id == first
        ):
            yield statement


def globals_of(function: FunctionNode) -> set[str]:
    """Names that a function declares global."""
    declared = (s for s in _statements(function.body) if isinstance(s, ast.Global))
    return {name for statement in declared for name in statement.names}


def any_yield(function: FunctionNode) -> bool:
    return any(
        isinstance(getattr(statement, "value", None), (ast.Yield, ast.YieldFrom))
        for statement in _statements(function.body)
    )


def is_plain(node: ast.expr) -> bool:
    """Whether an expression can hold no pool, nor an object on the way to one. None is not plain:
    it is one of the things that an attribute of a pool is set to."""
    if isinstance(node, ast.Constant):
        return node.value is not None
    if isinstance(node, ast.BinOp):
        repeated = isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
        return not isinstance(node.op, (ast.BitOr, ast.Add)) and not repeated
    return isinstance(node, _PLAIN)


def _targets(target: ast.AST) -> Iterator[ast.AST]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _targets(element)
    elif isinstance(target, (ast.Starred, ast.Subscript)):
        yield from _targets(target.value)
    else:
        yield target


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a function's body, those of its blocks included, nested functions' not."""
    stack = list(body)
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, _OWN_SCOPE):
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            if block:
                stack.extend(block)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            stack.extend(part.body)


_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ADDING = ("append", "add", "insert", "extend", "appendleft", "update", "setdefault")


def _bound(body: Iterable[ast.stmt]) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """(target, value) for each binding; the target of what is returned or yielded is None."""
    for node in _statements(body):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield target, node.value
        elif isinstance(node, ast.AnnAssign):
            yield node.target, node.value if node.value is not None else node.annotation
        elif isinstance(node, ast.AugAssign):
            yield node.target, node.value
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield node.target, node.iter
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            results = [value for target, value in _bound(node.body) if target is None]
            yield from ((ast.Name(node.name, ast.Store()), result) for result in results)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    yield item.optional_vars, item.context_expr
        elif isinstance(node, ast.Match):
            for case in node.cases:
                for name in _captured(case.pattern):
                    yield ast.Name(name, ast.Store()), node.subject
        yield from _in_expressions(node)


def _in_expressions(node: ast.stmt) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    value = getattr(node, "value", None)
    if isinstance(node, ast.Return) and value is not None:
        yield None, value
    elif isinstance(value, (ast.Yield, ast.YieldFrom)) and value.value is not None:
        yield None, value.value
    elif isinstance(node, ast.Expr) and isinstance(value, ast.Call):
        function = value.func
        if isinstance(function, ast.Attribute) and function.attr in _ADDING:
            # `pools.append(pool)`: the list holds it from here on.
            for argument in value.args:
                yield function.value, argument
        elif isinstance(function, ast.Name) and function.id == "setattr" and len(value.args) == 3:
            target, name, given = value.args
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield ast.Attribute(target, name.value, ast.Store()), given
    for expression in (value, getattr(node, "test", None)):
        for inner in _walruses(expression):
            yield inner.target, inner.value


def _walruses(node: object) -> Iterator[ast.NamedExpr]:
    """Walruses where people write them: in conditions, comparisons and first arguments."""
    if isinstance(node, ast.NamedExpr):
        yield node
        yield from _walruses(node.value)
    elif isinstance(node, ast.BoolOp):
        for operand in node.values:
            yield from _walruses(operand)
    elif isinstance(node, ast.Compare):
        yield from _walruses(node.left)
    elif isinstance(node, ast.UnaryOp):
        yield from _walruses(node.operand)
    elif isinstance(node, ast.Call) and node.args:
        yield from _walruses(node.args[0])


def _captured(pattern: ast.pattern) -> Iterator[str]:
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            yield name


def closure(bindings: Bindings, start: Iterable[ast.expr]) -> frozenset[str]:
    """The names that expressions depend on through the function's own assignments."""
    found = {name for expression in start for name in names_in(expression)}
    queue = list(found)
    while queue:
        for value in bindings.names.get(queue.pop(), ()):
            for name in names_in(value):
                if name not in found:
                    found.add(name)
                    queue.append(name)
    return frozenset(found)


_SHORT = 40
"""Statements of a block that are looked at one by one."""


def statements_asked(part: Slice, body: Sequence[ast.stmt], index: BlockIndex) -> list[ast.stmt]:
    """The statements of a long block that can matter to a slice, in order: what it does not ask
    for is not even looked at."""
    wanted = set(index.always)
    for name in part.names:
        wanted.update(index.by_name.get(name, ()))
    if part.attribute is not None:
        wanted.update(index.by_attribute.get(part.attribute, ()))
    return [body[position] for position in sorted(wanted)]


@dataclass(frozen=True, slots=True)
class BlockIndex:
    """The positions of a block's statements by what they bind; `always`: all that are no plain
    assignments."""

    always: tuple[int, ...]
    by_name: Mapping[str, Sequence[int]]
    by_attribute: Mapping[str, Sequence[int]]


def block_index(body: Sequence[ast.stmt]) -> BlockIndex | None:
    """None for a block so short that an index would not pay."""
    if len(body) < _SHORT:
        return None
    always: list[int] = []
    by_name: dict[str, list[int]] = {}
    by_attribute: dict[str, list[int]] = {}
    for position, statement in enumerate(body):
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            always.append(position)
            continue
        if has_walrus(statement):
            always.append(position)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            names, attributes = _bound_by(target)
            for name in names:
                by_name.setdefault(name, []).append(position)
            for attribute in attributes:
                by_attribute.setdefault(attribute, []).append(position)
    return BlockIndex(tuple(always), by_name, by_attribute)


def _bound_by(target: ast.expr) -> tuple[set[str], set[str]]:
    """The names and attributes for which `Slice.wants` holds of a target."""
    names: set[str] = set()
    attributes: set[str] = set()
    pending = [target]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Tuple, ast.List)):
            pending.extend(node.elts)
            continue
        root = _root(node)
        if root is not None:
            names.add(root)
        if isinstance(node, ast.Attribute):
            attributes.add(node.attr)
        elif isinstance(node, ast.Subscript):
            pending.append(node.value)
    return names, attributes
