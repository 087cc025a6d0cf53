"""Small questions about Python's syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from kvlint.interpret.names import ENDING

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_CAUGHT = frozenset(
    {"Exception", "BaseException", "ValueError", "RuntimeError", "SystemExit", "AssertionError"}
)


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether the end of a block is not reached."""
    last = body[-1] if body else None
    match last:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call(func=function)):
            return ast.unparse(function) in ENDING
        case ast.If(body=first, orelse=second):
            return leaves(first) and leaves(second)
        case ast.With(body=inner) | ast.AsyncWith(body=inner):
            managers = [name_of(item.context_expr) for item in last.items]
            return leaves(inner) and "suppress" not in managers
    return False


def constants_assigned(body: Sequence[ast.stmt], name: str) -> list[ast.Constant] | None:
    """What a block assigns to a name, where that is nothing but constants; None otherwise."""
    stores = 0
    found: list[ast.Constant] = []
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            stores += 1
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            targets = [t for t in node.targets if isinstance(t, ast.Name) and t.id == name]
            found += [node.value] * len(targets)
    return found if found and len(found) == stores else None


def asks_about(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a condition of a block speaks of a name."""
    tests = [
        getattr(node, "test", None) or getattr(node, "subject", None)
        for statement in body
        for node in ast.walk(statement)
    ]
    read = (part for test in tests if test is not None for part in ast.walk(test))
    return any(isinstance(part, ast.Name) and part.id == name for part in read)


def ends_early(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop's body may leave the loop before it has seen every item."""
    inner = (node for statement in body for node in ast.walk(statement))
    return any(isinstance(node, ast.Break | ast.Return | ast.Raise) for node in inner)


def expects_errors(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches what SGLang raises and goes on."""
    names = {name_of(node) for node in ast.walk(handler.type)} if handler.type else {"Exception"}
    if not names & _CAUGHT:
        return False
    for node in ast.walk(handler):
        if isinstance(node, ast.Raise):
            return False
        if isinstance(node, ast.Call) and name_of(node.func) in ("exit", "_exit", "fail"):
            return False
    return True


def name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return name_of(function)
    return ""


def is_fixture(node: FunctionNode) -> bool:
    return any(name_of(decorator) == "fixture" for decorator in node.decorator_list)


def is_autouse(node: FunctionNode) -> bool:
    return any("autouse=True" in ast.unparse(decorator) for decorator in node.decorator_list)


def is_static(node: FunctionNode) -> bool:
    return any(name_of(decorator) == "staticmethod" for decorator in node.decorator_list)


def functions_in(body: Iterable[ast.stmt]) -> Iterator[FunctionNode]:
    """Functions of the module, those inside of other functions included."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement
            yield from functions_in(statement.body)
        elif not isinstance(statement, ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from functions_in(getattr(statement, name, None) or [])


def classes_in(body: Iterable[ast.stmt]) -> Iterator[ast.ClassDef]:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            for name in ("body", "orelse", "finalbody"):
                yield from classes_in(getattr(statement, name, None) or [])


def assigned_names(body: Sequence[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def called_for_errors(tree: ast.AST, expecting: frozenset[str]) -> frozenset[str]:
    """Names of functions that are only called inside of `with pytest.raises(...)` and its like."""
    blocks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.With | ast.AsyncWith)
        and any(name_of(item.context_expr) in expecting for item in node.items)
    ]
    inside = [name for block in blocks for name in _called_names(block)]
    everywhere = list(_called_names(tree)) if inside else []
    return frozenset(name for name in inside if inside.count(name) == everywhere.count(name))


def expects_refusals(tree: ast.AST, expecting: frozenset[str]) -> bool:
    """Whether a file tests for errors, so that what it merely lists may be meant to be wrong."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            if "ValueError" in {name_of(part) for part in ast.walk(node.type)}:
                return True
        elif isinstance(node, ast.Call) and name_of(node.func) in expecting:
            return True
    return False


def _called_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
