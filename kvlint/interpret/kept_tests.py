"""Tests of an object's own pool that its class keeps: `self.is_single = isinstance(pool, C)`, a
property or a method that returns `isinstance(self.pool, C)`."""

from __future__ import annotations

import ast
import copy

from kvlint.interpret.classes import (
    ClassInfo,
    FunctionNode,
    bindings_of_function,
    is_property,
    source_class,
)
from kvlint.interpret.context import Frame


def kept_on_self(frame: Frame, node: ast.expr) -> ast.expr | None:
    """The condition behind `self.flag`, spelled with attributes of self."""
    if not _is_own_attribute(frame, node) or not isinstance(node, ast.Attribute):
        return None
    for info in _classes(frame):
        for member in info.members.get(node.attr, ()):
            if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return _returned(frame, member) if is_property(member) else None
            return None
        methods = info.stores.get(node.attr, [])
        if methods:
            return _stored(frame, info, methods, node.attr) if len(methods) == 1 else None
    return None


def test_of_self(frame: Frame, function: ast.expr) -> ast.expr | None:
    """The condition that `self.method()` returns, spelled with attributes of self."""
    if not _is_own_attribute(frame, function) or not isinstance(function, ast.Attribute):
        return None
    for info in _classes(frame):
        for member in info.members.get(function.attr, ()):
            if isinstance(member, ast.FunctionDef) and not is_property(member):
                return _returned(frame, member)
            return None
    return None


def _is_own_attribute(frame: Frame, node: ast.expr) -> bool:
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    return frame.cls is not None and node.value.id == frame.self_name


def _classes(frame: Frame) -> list[ClassInfo]:
    """The class of the method, where its attributes are all its own or those of its module."""
    from kvlint.interpret.classes import ancestors

    if frame.cls is None:
        return []
    infos = [source_class(frame.ctx, name) for name in ancestors(frame.ctx, frame.cls.qualname)]
    return [info for info in infos if info is not None and info.module is frame.module]


def _returned(frame: Frame, function: FunctionNode) -> ast.expr | None:
    """`return <condition>` as the whole of a method, self renamed to what it is called here."""
    body = [s for s in function.body if not _is_text(s)]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return None
    parameters = [*function.args.posonlyargs, *function.args.args]
    if len(parameters) != 1 or not _asks_for_a_class(body[0].value):
        return None
    own = ast.Name(frame.self_name or "", ast.Load())
    return _renamed(body[0].value, {parameters[0].arg: own})


def _stored(
    frame: Frame, info: ClassInfo, methods: list[FunctionNode], name: str
) -> ast.expr | None:
    """The condition assigned to an attribute once, its names those of attributes assigned once."""
    [method] = methods
    bindings = bindings_of_function(frame.ctx, method)
    conditions = bindings.stores.get(name, [])
    if len(conditions) != 1 or name in bindings.inner_stores:
        return None
    if not _asks_for_a_class(conditions[0]):
        return None
    spelled: dict[str, ast.expr] = {}
    for attribute, values in bindings.stores.items():
        once = info.stores.get(attribute) == [method] and len(values) == 1
        if once and isinstance(values[0], ast.Name) and values[0].id not in bindings.names:
            own = ast.Name(frame.self_name or "", ast.Load())
            spelled[values[0].id] = ast.Attribute(own, attribute, ast.Load())
    parameters = [*method.args.posonlyargs, *method.args.args]
    if parameters:
        spelled[parameters[0].arg] = ast.Name(frame.self_name or "", ast.Load())
    return _renamed(conditions[0], spelled)


def _asks_for_a_class(node: ast.expr) -> bool:
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    return any(isinstance(c.func, ast.Name) and c.func.id in _ASKING for c in calls)


_ASKING = ("isinstance", "issubclass", "type")


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class _Renamer(ast.NodeTransformer):
    def __init__(self, spelled: dict[str, ast.expr]) -> None:
        self.spelled = spelled

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self.spelled.get(node.id)
        return ast.copy_location(copy.deepcopy(known), node) if known is not None else node


def _renamed(node: ast.expr, spelled: dict[str, ast.expr]) -> ast.expr:
    renamed: ast.expr = _Renamer(spelled).visit(copy.deepcopy(node))
    return renamed
