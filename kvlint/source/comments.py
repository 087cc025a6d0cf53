"""The comments of a file, and nothing that only looks like one."""

from __future__ import annotations

import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from kvlint.source.languages import is_python
from kvlint.source.text import SourceFile

_COMMENTLESS_SUFFIXES = (".json", ".ipynb")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment. `start` and `end` are character offsets in the file's text, from the `#` to the
    end of the line. `alone`: nothing else stands on the line."""

    line: int
    start: int
    end: int
    text: str
    alone: bool


def takes_comments(source: SourceFile) -> bool:
    return source.path.suffix not in _COMMENTLESS_SUFFIXES


def comments(source: SourceFile) -> list[Comment]:
    """The comments of a Python, shell, YAML or Docker file, in order."""
    if not takes_comments(source):
        return []
    places = _python_places(source) if is_python(source.path, source.data) else _hash_places(source)
    return [_comment(source, line, column) for line, column in places]


def _comment(source: SourceFile, line: int, column: int) -> Comment:
    content = source.line(line)
    text = content[column:].rstrip()
    start = source.line_starts[line - 1] + column
    return Comment(line, start, start + len(text), text, not content[:column].strip())


def _python_places(source: SourceFile) -> Iterator[tuple[int, int]]:
    """Line and column of the comments, as far as the text can be cut into tokens."""
    lines = iter([f"{line}\n" for line in source.lines])
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                yield token.start
    except (tokenize.TokenError, SyntaxError):
        return


def _hash_places(source: SourceFile) -> Iterator[tuple[int, int]]:
    """In shell, YAML and Docker files a `#` starts a comment after white space, outside quotes."""
    for number, line in enumerate(source.lines, 1):
        column = _hash_column(line) if "#" in line else None
        if column is not None:
            yield number, column


def _hash_column(line: str) -> int | None:
    quote = ""
    escaped = False
    for column, character in enumerate(line):
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character == "#" and (column == 0 or line[column - 1] in " \t;"):
            return column
        elif character in "\"'" and (column == 0 or not line[column - 1].isalnum()):
            quote = character
    return None
