"""How the body of one method can end, and what it raises."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Literal

from kvlint.catalogue.model import MethodKind

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LEAVES = frozenset(
    (ast.Name, ast.Constant, str, int, float, bool, bytes, complex, type(None), ast.Load, ast.Store)
)
_YIELDS = (ast.Yield, ast.YieldFrom)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WITHS = (ast.With, ast.AsyncWith)
_TRIES: tuple[type[ast.AST], ...] = (
    (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)
)
_SWALLOWING = ("suppress", "raises", "assertRaises")

Exit = Literal["fall", "return", "raise", "break"]


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception a guard raises: its class as a short name, its text where it is a literal."""

    exception: str | None = None
    message: str | None = None
    has_message: bool = False


@dataclass
class Scope:
    """The nodes of one function body that facts are read from, each kind in the order of the
    source. Nested functions are given as nodes; what is in them, in lambdas and in classes is not.
    """

    attributes: list[ast.Attribute] = field(default_factory=list)
    calls: list[ast.Call] = field(default_factory=list)
    assignments: list[ast.Assign] = field(default_factory=list)
    annotated: list[ast.AnnAssign] = field(default_factory=list)
    augmented: list[ast.AugAssign] = field(default_factory=list)
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=list)
    raises: list[ast.Raise | ast.Assert] = field(default_factory=list)
    generator: bool = False


def scan(body: list[ast.stmt]) -> Scope:
    """One walk over a body: the trees of a release have a few hundred thousand nodes, so that
    every walk more is felt."""
    scope = Scope()
    buckets: dict[type[ast.AST], list[Any]] = {
        ast.Attribute: scope.attributes,
        ast.Call: scope.calls,
        ast.Assign: scope.assignments,
        ast.AnnAssign: scope.annotated,
        ast.AugAssign: scope.augmented,
        ast.FunctionDef: scope.functions,
        ast.AsyncFunctionDef: scope.functions,
        ast.Raise: scope.raises,
        ast.Assert: scope.raises,
    }
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in _LEAVES:
            continue
        if kind in buckets:
            buckets[kind].append(node)
        if kind in _SCOPES:
            continue
        scope.generator = scope.generator or kind in _YIELDS
        for name in kind._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                stack.extend(value)
            elif isinstance(value, ast.AST):
                stack.append(value)
    for bucket in buckets.values():
        if bucket is not scope.functions:
            bucket.reverse()
    scope.raises = [node for node in scope.raises if _is_raise(node)]
    return scope


def method_kind(body: list[ast.stmt], scope: Scope) -> MethodKind:
    """ "guard" when every way through the body raises, "conditional" when one does."""
    if scope.generator or not scope.raises:
        return "works"
    ends = exits(body)
    if ends == {"raise"}:
        return "guard"
    return "conditional" if "raise" in ends else "works"


def _is_raise(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise) or (
        isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and not node.test.value
    )


def exits(body: list[ast.stmt]) -> set[Exit]:
    """The ways in which control can leave a list of statements."""
    found: set[Exit] = set()
    for statement in body:
        ends = _exits_of(statement)
        found |= ends - {"fall"}
        if "fall" not in ends:
            return found
    return found | {"fall"}


def _exits_of(statement: ast.stmt) -> set[Exit]:
    if _is_raise(statement):
        return {"raise"}
    if isinstance(statement, ast.Return):
        return {"return"}
    if isinstance(statement, (ast.Break, ast.Continue)):
        return {"break"}
    if isinstance(statement, ast.If):
        return exits(statement.body) | exits(statement.orelse)
    if isinstance(statement, _LOOPS):
        inner = exits(statement.body) | exits(statement.orelse)
        return (inner - {"break"}) | {"fall"}
    if isinstance(statement, _WITHS):
        return _with_exits(statement)
    if isinstance(statement, ast.Match):
        return _match_exits(statement)
    if isinstance(statement, _TRIES):
        return _try_exits(statement)  # type: ignore[arg-type]
    return {"fall"}


def _with_exits(statement: ast.With | ast.AsyncWith) -> set[Exit]:
    ends = exits(statement.body)
    if "raise" in ends and swallows(statement):
        return ends | {"fall"}
    return ends


def swallows(statement: ast.With | ast.AsyncWith) -> bool:
    """Whether a context manager of the statement may swallow what its body raises."""
    return any(
        isinstance(item.context_expr, ast.Call)
        and dotted(item.context_expr.func).rpartition(".")[2] in _SWALLOWING
        for item in statement.items
    )


def _match_exits(statement: ast.Match) -> set[Exit]:
    ends: set[Exit] = set()
    for case in statement.cases:
        ends |= exits(case.body)
    last = statement.cases[-1]
    complete = (
        last.guard is None
        and isinstance(last.pattern, ast.MatchAs)
        and last.pattern.pattern is None
    )
    return ends if complete else ends | {"fall"}


def _try_exits(statement: ast.Try) -> set[Exit]:
    final = exits(statement.finalbody)
    if "fall" not in final:
        return final
    ends = exits(statement.body)
    if "fall" in ends:
        ends = (ends - {"fall"}) | exits(statement.orelse)
    if statement.handlers:
        ends = ends - {"raise"}
    for handler in statement.handlers:
        ends |= exits(handler.body)
    return ends | (final - {"fall"})


def raised(scope: Scope) -> Raised:
    """What a method raises: of several exceptions the first one in the source."""
    names = {
        node.targets[0].id: node.value
        for node in scope.assignments
        if isinstance(node.targets[0], ast.Name)
    }
    for node in scope.raises:
        if isinstance(node, ast.Assert):
            return _with_text("AssertionError", node.msg, names)
        if node.exc is not None:
            return _raised_by(node.exc, names)
    return Raised()


def _raised_by(value: ast.expr, names: dict[str, ast.expr]) -> Raised:
    if isinstance(value, ast.Name) and value.id in names:
        value = names[value.id]
    call = value if isinstance(value, ast.Call) else None
    name = dotted(call.func if call else value).rpartition(".")[2]
    if not name[:1].isupper():
        return Raised(has_message=call is not None and bool(call.args))
    return _with_text(name, call.args[0] if call and call.args else None, names)


def _with_text(exception: str, text: ast.expr | None, names: dict[str, ast.expr]) -> Raised:
    if text is None:
        return Raised(exception)
    if isinstance(text, ast.Name):
        text = names.get(text.id, text)
    return Raised(exception, literal_text(text), True)


def literal_text(node: ast.expr) -> str | None:
    """The text of a string literal, `{}` for an f-string's holes; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            "{}" if isinstance(part, ast.FormattedValue) else literal_text(part) or ""
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = literal_text(node.left), literal_text(node.right)
        return None if left is None or right is None else left + right
    return None


def dotted(node: ast.expr | None) -> str:
    """`a.b.c` of a chain of names, "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def may_return(statement: ast.stmt) -> bool:
    """Whether a return statement stands in the statement (nested functions left out)."""
    if isinstance(statement, ast.Return):
        return True
    if isinstance(statement, _SCOPES):
        return False
    parts: list[ast.stmt] = []
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for part in getattr(statement, name, ()):
            parts.extend(
                part.body if isinstance(part, (ast.ExceptHandler, ast.match_case)) else [part]
            )
    return any(may_return(part) for part in parts)
