"""Writes `# kvlint: ignore[...]` comments for the findings that are left."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvlint.findings import Finding
from kvlint.source.languages import is_python
from kvlint.source.text import SourceFile
from kvlint.waivers.comments import Directive, directives


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where a comment goes: the characters `start` to `end` are replaced by `before`, the comment
    (of a directive that is there already: only the further codes) and `after`."""

    start: int
    end: int
    before: str
    after: str = ""
    grows: bool = False


@dataclass(frozen=True, slots=True)
class _Layout:
    """What decides the places: directives by line, and the lines that may end in a comment."""

    source: SourceFile
    existing: dict[int, Directive]
    ends: frozenset[int]


def with_ignores(source: SourceFile, findings: Sequence[Finding], reason: str) -> str:
    """The text of a file with a comment for each statement that has findings.

    In Python the comment ends the statement's last line; in other files, where a comment after
    code may be part of a command, it stands on a line of its own above.
    """
    ends = _ends_of_code(source) if is_python(source.path, source.data) else frozenset()
    existing = {d.comment.line: d for d in directives(source) if _can_grow(d)}
    layout = _Layout(source, existing, ends)
    codes: dict[_Place, set[str]] = {}
    for finding in findings:
        codes.setdefault(_place(layout, finding.statement_lines), set()).add(finding.code)
    text = source.text
    for place in sorted(codes, reverse=True):
        text = text[: place.start] + _written(place, codes[place], reason) + text[place.end :]
    return text


def _written(place: _Place, codes: Iterable[str], reason: str) -> str:
    listed = ", ".join(sorted(codes))
    if not place.grows:
        listed = f"# kvlint: ignore[{listed}]{f' {reason}' if reason else ''}"
    return f"{place.before}{listed}{place.after}"


def _can_grow(directive: Directive) -> bool:
    return directive.kind == "ignore" and not directive.problem


def _place(layout: _Layout, lines: tuple[int, int]) -> _Place:
    source = layout.source
    first, last = lines
    for line in range(first, last + 1):
        if line in layout.existing:
            bracket = source.text.index("]", layout.existing[line].start)
            return _Place(bracket, bracket, ", ", grows=True)
    for line in range(last, first - 1, -1):
        if line in layout.ends:
            start, content = source.line_starts[line - 1], source.line(line)
            return _Place(start + len(content.rstrip()), start + len(content), "  ")
    start, content = source.line_starts[first - 1], source.line(first)
    return _Place(start, start, content[: len(content) - len(content.lstrip())], _end(source))


def _end(source: SourceFile) -> str:
    """How the file ends its lines."""
    found = re.search(r"\r\n|\n|\r", source.text)
    return found.group() if found else "\n"


def _ends_of_code(source: SourceFile) -> frozenset[int]:
    """Lines that may end in a comment: none that ends inside a string or in a backslash."""
    lines = iter([f"{line}\n" for line in source.lines])
    ends: set[int] = set()
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT):
                ends.add(token.start[0])
    except (tokenize.TokenError, SyntaxError):
        return frozenset()
    return frozenset(ends)
