"""The text of one file, and the way from a tree's positions back to its bytes."""

from __future__ import annotations

import codecs
import errno
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

from kvlint.findings import FileError, Span
from kvlint.source.reading import read_regular

_DECLARED = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_LONGEST_HEAD = 16_384
_WORD = re.compile(r"\w+")
_NEWLINE = re.compile(r"\r\n|\n|\r")


class SourceError(Exception):
    """A file that cannot be read as text. Carries the FileError to report."""

    def __init__(self, error: FileError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True)
class SourceFile:
    """A file as read: `data` is its bytes, `text` the same decoded, the byte order mark left out,
    every line end as it stands in the file."""

    path: Path
    data: bytes
    text: str
    encoding: str
    has_bom: bool = False

    @cached_property
    def line_starts(self) -> list[int]:
        """Character offset at which each line starts; CR, LF and CRLF end a line, as for Python's
        parser (a form feed does not)."""
        return [0, *(match.end() for match in _NEWLINE.finditer(self.text))]

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        starts = [*self.line_starts, len(self.text)]
        return [self.text[a:b].rstrip("\r\n") for a, b in pairwise(starts)]

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the text, those of comments and strings included."""
        return frozenset(_WORD.findall(self.text))

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def offset(self, line: int, utf8_column: int) -> int:
        """Character offset in `text` of the position that `ast` gives (line from 1, column in
        UTF-8 bytes from 0)."""
        start = self.line_starts[line - 1]
        text = self.line(line)
        if text.isascii():
            return start + utf8_column
        return start + len(text.encode("utf-8")[:utf8_column].decode("utf-8", "ignore"))

    def byte_offset(self, character_offset: int) -> int:
        """Offset in `data` of a character offset in `text`."""
        prefix = self.text[:character_offset]
        size = (
            len(prefix)
            if prefix.isascii() and _is_ascii_superset(self.encoding)
            else len(self.encode(prefix))
        )
        return size + (len(codecs.BOM_UTF8) if self.has_bom else 0)

    def encode(self, text: str) -> bytes:
        """`text` in the file's encoding. Raises UnicodeEncodeError."""
        return text.encode(self.encoding)

    def span(self, line: int, utf8_column: int, end_line: int, end_utf8_column: int) -> Span:
        """Span of the positions that `ast` gives."""
        return Span(
            line,
            self.offset(line, utf8_column) - self.line_starts[line - 1] + 1,
            end_line,
            self.offset(end_line, end_utf8_column) - self.line_starts[end_line - 1] + 1,
        )


def _is_ascii_superset(encoding: str) -> bool:
    return encoding in ("utf-8", "ascii", "iso-8859-1", "iso8859-1", "latin-1", "cp1252")


def read_source(path: Path) -> SourceFile:
    """Read a Python file. Raises SourceError with a message for people."""
    try:
        data = read_regular(path)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno == errno.EFBIG:
            raise SourceError(FileError(path, f"{reason}, which kvlint does not check")) from error
        raise SourceError(FileError(path, f"cannot be read: {reason}")) from error
    return decode_source(path, data)


def decode_source(path: Path, data: bytes) -> SourceFile:
    """Decode the bytes of a Python file by its byte order mark and PEP 263 comment.

    Raises SourceError for NUL bytes, unknown encodings and undecodable bytes.
    """
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise SourceError(FileError(path, "holds a NUL byte: no Python source", line))
    has_bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if has_bom else data
    try:
        encoding = _encoding(data)
    except (SyntaxError, LookupError) as error:
        line, declared = _declaration(body)
        message = f"its encoding is not understood: {error}"
        if has_bom and declared:
            message = f"is declared as {declared}, but starts with the byte order mark of UTF-8"
        raise SourceError(FileError(path, message, line)) from error
    if not _holds_ascii(encoding):
        message = f"its encoding is not understood: {encoding} is none for source text"
        raise SourceError(FileError(path, message, _declaration(body)[0]))
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body[: error.start].count(b"\n") + 1
        message = f"is not valid {encoding}: byte 0x{body[error.start]:02x}, {error.reason}"
        raise SourceError(FileError(path, message, line)) from error
    return SourceFile(path, data, text, encoding, has_bom)


@lru_cache(maxsize=32)
def _holds_ascii(encoding: str) -> bool:
    """Whether ASCII text stands for itself: rot13, hex, idna and the like are codecs of Python,
    but nothing that a parser takes."""
    sample = f"# coding: x\n\tf('a.B-c_1')\n{'long' * 40}\n"
    try:
        return sample.encode(encoding) == sample.encode("ascii") and (
            sample.encode("ascii").decode(encoding) == sample
        )
    except (LookupError, ValueError):
        return False


def _declaration(body: bytes) -> tuple[int, str]:
    """The line that declares the encoding, and what it says; line 1 and nothing without one."""
    for number, line in enumerate(body.splitlines()[:2], 1):
        found = _DECLARED.match(line)
        if found:
            return number, found.group(1).decode("ascii")
    return 1, ""


def _encoding(data: bytes) -> str:
    """Raises SyntaxError or LookupError for a declaration that is not understood. Bytes that are
    no UTF-8, where nothing is declared, are left to the decoding: it says where they are."""
    head = b"".join(_first_lines(data))
    if b"coding" not in head:
        return "utf-8"
    declared, _ = tokenize.detect_encoding(io.BytesIO(head).readline)
    return "utf-8" if declared == "utf-8-sig" else codecs.lookup(declared).name


def _first_lines(data: bytes) -> list[bytes]:
    """The two lines that may declare an encoding, however they end, each with a line feed."""
    lines = data[:_LONGEST_HEAD].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n", 2)
    return [line + b"\n" for line in lines[:2]]
