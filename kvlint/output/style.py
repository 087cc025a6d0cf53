"""How wide and how colourful text is, and how foreign text is made harmless in it."""

from __future__ import annotations

import os
import shutil
import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from kvlint.output.streams import harmless

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
NARROWEST = 40


@dataclass(frozen=True, slots=True)
class Style:
    """`width` is in columns of the terminal."""

    width: int = 80
    color: bool = False

    def paint(self, text: str, *names: str) -> str:
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"


def style_for(stream: TextIO) -> Style:
    """Plain unless `stream` is a terminal, or FORCE_COLOR says so; NO_COLOR goes before that.
    COLUMNS, else the terminal, else 80 gives the width."""
    width = max(NARROWEST, shutil.get_terminal_size((80, 24)).columns)
    return Style(width, color=_wants_color(stream))


def _wants_color(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def on_one_line(text: str) -> str:
    """The same, line ends and tabs too: names of files may hold them."""
    return harmless(text).replace("\n", "\\n").replace("\t", "\\t")


def columns(text: str) -> int:
    """Columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, width: int, first: str, rest: str) -> Iterator[str]:
    """The lines of `text`, the first after `first` and further ones after `rest`."""
    yield from textwrap.wrap(
        harmless(" ".join(text.split())),
        width=max(width, NARROWEST),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    ) or [first.rstrip()]
