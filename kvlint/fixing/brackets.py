"""The elements between a pair of brackets, and how one is taken out without losing a comment."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from kvlint.fixing.places import Change, has_comment

_BLANK = " \t\f"
_LONE_CR = re.compile(r"\r(?!\n)")
_LAYOUT = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.INDENT}
    | {tokenize.DEDENT}
)


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its character offsets (its own parentheses included, comments around it not)
    and the offset of the comma behind it."""

    start: int
    end: int
    comma: int | None


def elements(text: str, start: int, end: int) -> tuple[Element, ...] | None:
    """The elements of the bracketed text from `start` (the opening bracket) to `end` (exclusive);
    None where it cannot be taken apart."""
    part = _LONE_CR.sub("\n", text[start:end])
    line_starts = [0, *accumulate(len(line) + 1 for line in part.split("\n"))]
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(part).readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    found: list[Element] = []
    first = last = None
    depth = 0
    for token in tokens:
        if token.type in _LAYOUT:
            continue
        at = start + line_starts[token.start[0] - 1] + token.start[1]
        stop = start + line_starts[token.end[0] - 1] + token.end[1]
        if token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
        ends = depth == 0 or (depth == 1 and token.type == tokenize.OP and token.string == ",")
        if ends and first is not None and last is not None:
            found.append(Element(first, last, at if depth else None))
            first = last = None
        elif not ends and depth:
            first, last = (at if first is None else first), stop
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
    return tuple(found) if depth == 0 else None


def without(text: str, items: Sequence[Element], dropped: Sequence[int]) -> list[Change]:
    """Take elements with their commas out of several; comments around them stay."""
    changes: list[Change] = []
    for run in _runs(sorted(dropped)):
        changes += _without_run(text, items, run)
    return changes


def _runs(indices: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def _without_run(text: str, items: Sequence[Element], run: Sequence[int]) -> list[Change]:
    first, last = run[0], run[-1]
    if first and not _comments(text, items[first - 1 : last + 1]):
        return [Change(items[first - 1].comma or items[first - 1].end, items[last].end)]
    if not first and last + 1 < len(items) and not _comments(text, items[: last + 2]):
        return [Change(items[0].start, items[last + 1].start)]
    return [cut(text, items[index]) for index in run]


def _comments(text: str, items: Sequence[Element]) -> bool:
    """Whether a comment stands between these elements."""
    return any(has_comment(text[left.end : right.start]) for left, right in pairwise(items))


def cut(text: str, item: Element) -> Change:
    """Take out the element and its comma, and the line if nothing else is on it."""
    start, end = item.start, item.comma + 1 if item.comma is not None else item.end
    while text[end : end + 1] and text[end] in _BLANK:
        end += 1
    line_start = start
    while line_start and text[line_start - 1] in _BLANK:
        line_start -= 1
    alone = line_start and text[line_start - 1] in "\r\n"
    if alone and text[end : end + 1] in ("\r", "\n"):
        return Change(line_start, end + (2 if text[end : end + 2] == "\r\n" else 1))
    return Change(start, end)
