"""From nodes of a tree to places in the text, and from changes there to the edits of a Fix."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kvlint.findings import Applicability, Fix
from kvlint.source.edits import edit_of
from kvlint.source.text import SourceFile

Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)


@dataclass(frozen=True, slots=True)
class Change:
    """Replace the characters `start` to `end` (exclusive, offsets in the text) by `text`."""

    start: int
    end: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Character offsets of a node, the end exclusive; parentheses around it are not part of it."""

    start: int
    end: int


def place_of(source: SourceFile, node: ast.expr | ast.stmt) -> Place:
    return Place(
        source.offset(node.lineno, node.col_offset),
        source.offset(node.end_lineno or node.lineno, node.end_col_offset or 0),
    )


def text_of(source: SourceFile, node: ast.expr | ast.stmt) -> str:
    place = place_of(source, node)
    return source.text[place.start : place.end]


def path_to(tree: ast.Module, node: ast.expr | ast.stmt) -> tuple[ast.AST, ...]:
    """The nodes from the module down to `node`, both included; empty when it is not in the tree."""
    parents = _parents(tree)
    path: list[ast.AST] = [node]
    while path[-1] is not tree:
        parent = parents.get(path[-1])
        if parent is None:
            return ()
        path.append(parent)
    return tuple(reversed(path))


@lru_cache(maxsize=4)
def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    """The parent of each node, worked out once for all fixes of a file."""
    found: dict[ast.AST, ast.AST] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        here = waiting.pop()
        for child in ast.iter_child_nodes(here):
            found[child] = here
            waiting.append(child)
    return found


def enclosing_statement(path: Sequence[ast.AST]) -> ast.stmt | None:
    return next((node for node in reversed(path) if isinstance(node, ast.stmt)), None)


def attribute_name(source: SourceFile, attribute: ast.Attribute) -> Place | None:
    """The place of the name behind the dot; None where the text is not what the tree says."""
    end = place_of(source, attribute).end
    start = end - len(attribute.attr)
    return Place(start, end) if source.text[start:end] == attribute.attr else None


def attribute_dot(source: SourceFile, attribute: ast.Attribute, name: Place) -> int | None:
    """The offset of the dot before `name`."""
    start = place_of(source, attribute.value).end
    dots = [at for at in code_positions(source.text, start, name.start) if source.text[at] == "."]
    return dots[0] if len(dots) == 1 else None


def code_positions(text: str, start: int, end: int) -> Iterable[int]:
    """Offsets between `start` and `end` that are not in a comment. For stretches without
    strings: between two nodes, not inside of one."""
    comment = False
    for at in range(start, end):
        comment = text[at] not in "\r\n" if comment else text[at] == "#"
        if not comment:
            yield at


def has_comment(text: str) -> bool:
    """Whether a part of an expression, or of the space between two, holds a comment."""
    if "#" not in text:
        return False
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"(\n{text}\n)").readline))
    except (tokenize.TokenError, SyntaxError):
        return True
    return any(token.type == tokenize.COMMENT for token in tokens)


def make_fix(
    source: SourceFile,
    title: str,
    changes: Iterable[Change],
    reasons: Sequence[str] = (),
) -> Fix | None:
    """A fix of these changes: safe without `reasons`, unsafe with them. None where the file's
    encoding does not give the same bytes back, so that offsets could not be trusted."""
    edits = []
    for change in changes:
        edit = edit_of(source, change.start, change.end, change.text)
        if edit is None:
            return None
        edits.append(edit)
    applicability: Applicability = "unsafe" if reasons else "safe"
    return Fix(title, applicability, tuple(sorted(edits)), "; ".join(reasons))
