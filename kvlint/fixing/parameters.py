"""The fix of an override that refuses arguments: the parameters it lacks, with their defaults."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kvlint.catalogue.model import Parameter
from kvlint.findings import Fix
from kvlint.fixing.places import Change, code_positions, make_fix
from kvlint.source.text import SourceFile

_REASON = "the method accepts the arguments from now on, and does nothing with them"


def fix_override(
    source: SourceFile,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    own: Sequence[Parameter],
    overridden: Sequence[Parameter],
) -> Fix | None:
    """Add the parameters of the overridden method that this one lacks. None where one of them has
    no default that is known, where the two begin differently, or where the method takes any."""
    lacking = _lacking(own, overridden)
    if not lacking or any(one.default is None for one in lacking):
        return None
    if any(one.kind.startswith("var-") for one in own):
        return None
    at = _end_of_parameters(source, node)
    if at is None:
        return None
    added = "".join(_text(one) for one in lacking)
    title = f"Accept {', '.join(one.name for one in lacking)}"
    return make_fix(source, title, [Change(at, at, added)], [_REASON])


def _lacking(own: Sequence[Parameter], overridden: Sequence[Parameter]) -> list[Parameter]:
    """What to add at the end of the list; nothing where that would not be their place."""
    kept = [one.name for one in own]
    before = [one.name for one in overridden]
    if kept != before[: len(kept)] or any(one.kind == "keyword-only" for one in own):
        return []
    lacking = list(overridden[len(kept) :])
    return lacking if all(one.kind == "positional" for one in lacking) else []


def _text(one: Parameter) -> str:
    if one.annotation in ("bool", "int", "float", "str"):
        return f", {one.name}: {one.annotation} = {one.default}"
    return f", {one.name}={one.default}"


def _end_of_parameters(
    source: SourceFile, node: ast.FunctionDef | ast.AsyncFunctionDef
) -> int | None:
    """The offset behind the last parameter, its annotation and default included."""
    arguments = node.args
    parts: list[ast.expr | ast.arg] = [*arguments.posonlyargs, *arguments.args]
    parts += arguments.defaults
    ends = [source.offset(one.end_lineno or 0, one.end_col_offset or 0) for one in parts]
    if not ends or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        return None
    end = max(ends)
    first = node.body[0]
    rest = source.text[end : source.offset(first.lineno, first.col_offset)]
    # A default in parentheses ends behind its expression: then the place is not certain.
    closing = next((rest[at] for at in code_positions(rest, 0, len(rest)) if rest[at] in "),"), "")
    return end if closing and "(" not in rest.split(")")[0] else None
