"""What stands between kvlint and a terminal or a log: nothing foreign reaches them raw.

Names of files, settings, versions and messages of parsers come from the repository that is checked.
Each is made harmless where it is put into a sentence; whatever is forgotten there
is caught here, on the way out of both streams, in every command and format.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, TextIO, cast

_FOREIGN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_OF_OURS = re.compile(r"\x1b\[[0-9;?]*[mKAJlh]|\r")
"""Colours, and what redraws a line of progress."""
_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\[)", re.M)
"""How a line becomes a command to GitHub's runner: `::` at its start, `##[` anywhere."""
_HASH_MARKS = {"junit": "&#35;"} | dict.fromkeys(("json", "sarif", "gitlab"), r"\u0023")
"""How a `#` can be written in a format, so that it stays what it is."""


def in_actions() -> bool:
    """Whether the output is a log of GitHub Actions, whose lines can be commands."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def without_commands(text: str, hash_mark: str = r"\x23") -> str:
    """`text` with no line that GitHub's runner takes for a command. `hash_mark` stands for the
    second `#` of `##[`, in the words of the format."""
    if "::" not in text and "##[" not in text:
        return text
    return _COMMAND.sub(lambda found: _broken(found, hash_mark), text)


def _broken(found: re.Match[str], hash_mark: str) -> str:
    return f"#{hash_mark}" if found[0] == "##" else rf"{found[1]}\x3a"


def write_report(stream: TextIO, text: str, output_format: str) -> None:
    """Write a whole report. In the format `github` each line is a command of ours; what the lines
    hold must be none of the old kind, which may stand anywhere in a line."""
    if output_format == "github":
        text = text.replace("##[", r"#\x23[")
    elif in_actions():
        text = without_commands(text, _HASH_MARKS.get(output_format, r"\x23"))
    stream.flush()
    stream.buffer.write(text.encode(stream.encoding or "utf-8", "backslashreplace"))
    stream.flush()


class Guarded:
    """A text stream that writes control and direction characters as escapes, apart from line ends,
    tabs and, on a terminal, the sequences that kvlint itself uses."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(self._harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def _harmless(self, text: str) -> str:
        if in_actions():
            text = without_commands(text)
        if text.isascii():
            if text.isprintable():
                return text
        else:
            encoding = self._stream.encoding or "utf-8"
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        if self._draws():
            parts = _OF_OURS.split(text)
            kept = [*_OF_OURS.findall(text), ""]
            return "".join(harmless(part) + own for part, own in zip(parts, kept, strict=True))
        return harmless(text)

    def _draws(self) -> bool:
        return self._stream.isatty() or bool(os.environ.get("FORCE_COLOR"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(stream: TextIO) -> TextIO:
    return cast(TextIO, Guarded(stream))


def harmless(text: str) -> str:
    """`text` with control and direction characters written as escapes."""
    return _FOREIGN.sub(lambda match: _escape(match.group()), text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
