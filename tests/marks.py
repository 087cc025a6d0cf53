"""The trailing comments by which examples and fixtures say what is right for a line.

`# KV101` at the end of a line: this rule, and no other, is found there. The marks are no part of
the program: they are stripped before a fix is compared with its expected form.
"""

from __future__ import annotations

import re

_MARK = re.compile(r"[ \t]*# (KV\d{3}(?:, KV\d{3})*)$", re.M)


def marks(text: str) -> set[tuple[int, str]]:
    """(line, code) of every mark."""
    found = set()
    for number, line in enumerate(text.splitlines(), 1):
        if match := _MARK.search(line):
            found |= {(number, code) for code in match[1].split(", ")}
    return found


def unmarked(text: str) -> str:
    """The program without its marks."""
    return _MARK.sub("", text)
