"""Parameters and annotations as facts."""

from __future__ import annotations

import ast

from kvlint.catalogue.model import Parameter, ParameterKind


def parameters(arguments: ast.arguments, *, bound: bool) -> tuple[Parameter, ...]:
    """The parameters of a function; `bound` leaves out the first one (self or cls)."""
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    found = [
        _parameter(
            argument,
            "positional-only" if index < len(arguments.posonlyargs) else "positional",
            index >= first_default,
        )
        for index, argument in enumerate(positional)
    ]
    if bound:
        found = found[1:]
    if arguments.vararg:
        found.append(_parameter(arguments.vararg, "var-positional", False))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(_parameter(argument, "keyword-only", default is not None))
    if arguments.kwarg:
        found.append(_parameter(arguments.kwarg, "var-keyword", False))
    return tuple(found)


def _parameter(argument: ast.arg, kind: ParameterKind, has_default: bool) -> Parameter:
    return Parameter(argument.arg, kind, has_default, annotation_text(argument.annotation))


def annotation_text(node: ast.expr | None) -> str | None:
    """An annotation as text; of a string annotation its content.

    The common forms are written out here because `ast.unparse` is ten times slower, and a tree
    has some thousand annotations.
    """
    if node is None:
        return None
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else repr(node.value)
    if isinstance(node, ast.Attribute):
        return f"{annotation_text(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return f"{annotation_text(node.value)}[{annotation_text(node.slice)}]"
    if isinstance(node, ast.Tuple):
        return ", ".join(annotation_text(part) or "" for part in node.elts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return f"{annotation_text(node.left)} | {annotation_text(node.right)}"
    return ast.unparse(node)
