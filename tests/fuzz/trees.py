"""What the rewrites share: walking a libcst tree, names, small nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import libcst as cst

Parents = tuple[cst.CSTNode, ...]
Rewrite = Callable[[cst.Module, Random], "cst.Module | None"]
"""A rewrite gives a program that means the same, or None where it finds nothing to rewrite."""
Block = cst.IndentedBlock | cst.Module


def walk(node: cst.CSTNode, parents: Parents = ()) -> Iterator[tuple[cst.CSTNode, Parents]]:
    """Every node below, outermost first, with those above it, the nearest last."""
    yield node, parents
    below = (*parents, node)
    for child in node.children:
        yield from walk(child, below)


def replaced(
    module: cst.Module, old: cst.CSTNode, new: cst.CSTNode | cst.FlattenSentinel[cst.CSTNode]
) -> cst.Module:
    changed = module.deep_replace(old, new)  # type: ignore[type-var]
    assert isinstance(changed, cst.Module)
    return changed


def statement(text: str) -> cst.BaseStatement:
    parsed: cst.BaseStatement = cst.parse_statement(text)
    return parsed


def function_of(parents: Parents) -> cst.FunctionDef | None:
    """The innermost function that the node stands in; None in a class body or at the top."""
    for parent in reversed(parents):
        if isinstance(parent, cst.FunctionDef):
            return parent
        if isinstance(parent, cst.ClassDef | cst.Lambda):
            return None
    return None


def names_in(node: cst.CSTNode) -> set[str]:
    return {found.value for found, _ in walk(node) if isinstance(found, cst.Name)}


def fresh(module: cst.Module, stem: str) -> str:
    """A name that the program does not have."""
    taken = names_in(module)
    number = 0
    while f"{stem}_{number}" in taken:
        number += 1
    return f"{stem}_{number}"


def has(node: cst.CSTNode, *kinds: type) -> bool:
    return any(isinstance(found, kinds) for found, _ in walk(node))


def with_import(module: cst.Module, line: str) -> cst.Module:
    """The module with a line after its docstring and `from __future__` imports."""
    body = list(module.body)
    at = 0
    while at < len(body) and _comes_first(body[at]):
        at += 1
    return module.with_changes(body=[*body[:at], statement(line), *body[at:]])


def _comes_first(line: cst.BaseStatement) -> bool:
    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString()), *_]):
            return True
        case cst.SimpleStatementLine(body=[cst.ImportFrom(module=cst.Name("__future__")), *_]):
            return True
    return False


def loads(module: cst.Module) -> list[tuple[cst.Name, Parents]]:
    """Names that are read in a function's expressions: never a target, parameter or keyword."""
    return [
        (node, parents)
        for node, parents in walk(module)
        if isinstance(node, cst.Name)
        and function_of(parents) is not None
        and _is_load(node, parents)
        and not _is_asked_of(node, parents)
    ]


_NO_EXPRESSION = (
    *(cst.Annotation, cst.Decorator, cst.Global, cst.Nonlocal, cst.Del, cst.Import, cst.ImportFrom),
    *(cst.MatchClass, cst.MatchValue, cst.FormattedString),
)


def _is_load(node: cst.Name, parents: Parents) -> bool:
    """Only in places that can be told at a glance: receivers, arguments and returned values."""
    match parents[-1]:
        case cst.Attribute(value=value):
            readable = value is node and not _is_target(parents)
        case cst.Arg(value=value):
            readable = value is node and not _in_declaration(parents)
        case cst.Return():
            readable = True
        case _:
            readable = False
    return readable and not any(isinstance(parent, _NO_EXPRESSION) for parent in parents)


def _is_asked_of(node: cst.Name, parents: Parents) -> bool:
    """The start of a path whose end is tested: `isinstance(self.pool, C)` says of `self.pool` what
    no linter would say of `(self, None)[0].pool`."""
    function = function_of(parents)
    return isinstance(parents[-1], cst.Attribute) and any(
        isinstance(found, cst.Attribute)
        and isinstance(found.value, cst.Name)
        and found.value.value == node.value
        and any(isinstance(parent, cst.If | cst.Assert | cst.While | cst.IfExp) for parent in above)
        for found, above in (walk(function) if function is not None else ())
    )


def _is_target(parents: Parents) -> bool:
    return any(isinstance(parent, cst.AssignTarget) for parent in parents) or any(
        isinstance(parent, cst.AugAssign | cst.AnnAssign | cst.For | cst.WithItem | cst.CompFor)
        for parent in parents[-4:]
    )


def _in_declaration(parents: Parents) -> bool:
    """Bases of a class; arguments of `super` and of type-level helpers are part of their form."""
    if len(parents) > 1 and isinstance(parents[-2], cst.ClassDef):
        return True
    call = parents[-2] if len(parents) > 1 else None
    return isinstance(call, cst.Call) and called(call) in _FORMS


_FORMS = frozenset(
    ("super", "isinstance", "issubclass", "type", "cast", "TypeVar", "NewType", "hasattr")
)


def called(call: cst.Call) -> str:
    match call.func:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return str(name)
    return ""


def simple_lines(module: cst.Module) -> list[tuple[cst.SimpleStatementLine, Parents]]:
    """Lines of one statement in function bodies, docstrings and declarations left out."""
    return [
        (node, parents)
        for node, parents in walk(module)
        if isinstance(node, cst.SimpleStatementLine)
        and function_of(parents) is not None
        and isinstance(parents[-1], cst.IndentedBlock)
        and _is_one_action(node)
    ]


def _is_one_action(node: cst.SimpleStatementLine) -> bool:
    declares = isinstance(node.body[0], cst.Global | cst.Nonlocal | cst.Import | cst.ImportFrom)
    # A type comment belongs to the line it stands before, or after.
    typed = any(line.comment and "type:" in line.comment.value for line in node.leading_lines)
    return len(node.body) == 1 and not (declares or typed or _is_docstring(node))


def _is_docstring(node: cst.SimpleStatementLine) -> bool:
    match node.body[0]:
        case cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString()):
            return True
    return False


def binds(node: cst.CSTNode) -> bool:
    """Whether a statement gives a name a value, so that it may not become a part of a branch."""
    return has(
        node,
        cst.AssignTarget,
        cst.AnnAssign,
        cst.AugAssign,
        cst.NamedExpr,
        cst.Del,
        cst.FunctionDef,
        cst.ClassDef,
    )


def block(*lines: cst.BaseStatement) -> cst.IndentedBlock:
    return cst.IndentedBlock(body=list(lines))
