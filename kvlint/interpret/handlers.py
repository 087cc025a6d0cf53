"""Which exceptions the code around a statement deals with."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from kvlint.interpret.context import Env, Frame
from kvlint.interpret.names import last_name
from kvlint.interpret.values import ClassObject, External

BASES = {
    "NotImplementedError": ("RuntimeError", "Exception", "BaseException"),
    "RuntimeError": ("Exception", "BaseException"),
    "AttributeError": ("Exception", "BaseException"),
    "AssertionError": ("Exception", "BaseException"),
    "TypeError": ("Exception", "BaseException"),
    "ValueError": ("Exception", "BaseException"),
    "KeyError": ("LookupError", "Exception", "BaseException"),
    "IndexError": ("LookupError", "Exception", "BaseException"),
}
EVERYTHING = "BaseException"
_RAISES = ("raises", "assertRaises", "assertRaisesRegex", "suppress")
_LOGGING = ("debug", "info", "warning", "warn", "error", "exception", "critical", "log", "print")


def catches(caught: frozenset[str], exception: str) -> bool:
    """Whether a handler for `caught` takes an exception of that class."""
    if EVERYTHING in caught or exception in caught:
        return True
    return any(base in caught for base in BASES.get(exception, ("Exception",)))


def caught_by_try(frame: Frame, env: Env, node: Any) -> frozenset[str]:
    """Exceptions that a `try` handles: a handler that only raises again, logged or not, handles
    nothing. A handler in front that lets its exception pass takes it away from those behind."""
    caught: set[str] = set()
    passed: set[str] = set()
    for handler in node.handlers:
        names = exception_names(frame, env, handler.type)
        if _only_reraises(handler):
            passed |= names
        else:
            caught |= {name for name in names if not catches(frozenset(passed), name)}
            if passed & set(BASES) and names & {"Exception", EVERYTHING}:
                caught |= {name for name in BASES if not catches(frozenset(passed), name)}
                caught -= {"Exception", EVERYTHING}
    return frozenset(caught)


def caught_by_with(frame: Frame, env: Env, context: ast.expr) -> frozenset[str]:
    """Exceptions that `pytest.raises(...)`, `assertRaises(...)` or `suppress(...)` expect."""
    if not isinstance(context, ast.Call) or last_name(context.func) not in _RAISES:
        return frozenset()
    if not context.args:
        types = [k.value for k in context.keywords if k.arg == "expected_exception"]
        return frozenset().union(*(exception_names(frame, env, t) for t in types))
    if last_name(context.func) == "suppress":
        return frozenset().union(*(exception_names(frame, env, a) for a in context.args))
    return frozenset(exception_names(frame, env, context.args[0]))


def exception_names(frame: Frame, env: Env, node: ast.expr | None, depth: int = 0) -> set[str]:
    """Short names of the exception classes in an `except` clause, constants looked through."""
    if node is None:
        return {EVERYTHING}
    if isinstance(node, (ast.Tuple, ast.List)):
        return set().union(*(exception_names(frame, env, e, depth) for e in node.elts))
    if isinstance(node, ast.Starred):
        return exception_names(frame, env, node.value, depth)
    if isinstance(node, ast.BinOp):
        return exception_names(frame, env, node.left, depth) | exception_names(
            frame, env, node.right, depth
        )
    name = last_name(node)
    if isinstance(node, ast.Attribute) and not name[:1].isupper():
        return {EVERYTHING}
    if _is_kept(frame, env, node):
        return {EVERYTHING}
    if isinstance(node, ast.Name) and depth < 4:
        for binding in frame.module.bindings.get(node.id, ()):
            inner = getattr(binding, "value", None)
            if isinstance(inner, (ast.Tuple, ast.Name, ast.Attribute)):
                return exception_names(frame, env, inner, depth + 1)
    return {name} if name else {EVERYTHING}


def _is_kept(frame: Frame, env: Env, node: ast.expr) -> bool:
    """Whether the exceptions are kept in a variable or an attribute: they may be any."""
    if isinstance(node, ast.Attribute):
        root = node.value
        return isinstance(root, ast.Name) and root.id in ("self", "cls", frame.self_name)
    if not isinstance(node, ast.Name) or frame.function is None:
        return False
    known = next((scope[node.id] for scope in (env, *frame.outer) if node.id in scope), None)
    atoms = known.atoms if known is not None else frozenset()
    return known is not None and not any(
        isinstance(atom, (ClassObject, External)) for atom in atoms or ()
    )


def expected_by_decorator(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """`pytest.mark.xfail`, `unittest.expectedFailure`: the test is meant to fail."""
    for decorator in function.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        if last_name(node) in ("xfail", "expectedFailure"):
            return True
    return False


def _only_reraises(handler: ast.ExceptHandler) -> bool:
    """A bare `raise` (or `raise e` of the caught name) with nothing but logging before it."""
    if not handler.body:
        return False
    *before, last = handler.body
    if not isinstance(last, ast.Raise) or not all(_is_logging(s) for s in before):
        return False
    return last.exc is None or (isinstance(last.exc, ast.Name) and last.exc.id == handler.name)


def _is_logging(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and last_name(statement.value.func) in _LOGGING
    )


def all_caught(caught: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset(name for names in caught for name in names)
