"""Parameters and annotations as facts."""

from __future__ import annotations

import ast
from dataclasses import replace

from kvlint.catalogue.model import Parameter, ParameterKind


def parameters(arguments: ast.arguments, *, bound: bool) -> tuple[Parameter, ...]:
    """The parameters of a function; `bound` leaves out the first one (self or cls)."""
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    found = [
        _parameter(
            argument,
            "positional-only" if index < len(arguments.posonlyargs) else "positional",
            arguments.defaults[index - first_default] if index >= first_default else None,
        )
        for index, argument in enumerate(positional)
    ]
    if bound:
        found = found[1:]
    if arguments.vararg:
        found.append(_parameter(arguments.vararg, "var-positional", None))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(_parameter(argument, "keyword-only", default))
    if arguments.kwarg:
        found.append(_parameter(arguments.kwarg, "var-keyword", None))
    return tuple(found)


def _parameter(argument: ast.arg, kind: ParameterKind, default: ast.expr | None) -> Parameter:
    return Parameter(
        argument.arg,
        kind,
        default is not None,
        annotation_text(argument.annotation),
        literal_default(default),
    )


def without_annotations(found: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return tuple(replace(one, annotation=None) for one in found)


def literal_default(node: ast.expr | None) -> str | None:
    """The text of a default that is a number, a short text, True, False or None."""
    if isinstance(node, ast.Constant) and len(repr(node.value)) < 40:
        return repr(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return ast.unparse(node)
    return None


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
