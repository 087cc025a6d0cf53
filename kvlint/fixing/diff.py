"""The unified diff of two versions of a file, as `git apply` and `patch -p1` take it."""

from __future__ import annotations

import difflib
import os
import re

_ODD = re.compile(rb"[^ !#-\[\]-~]")
_ESCAPES = {0x22: b'\\"', 0x5C: b"\\\\", 0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r"}
_NO_NEWLINE = b"\\ No newline at end of file\n"


def unified_diff(name: str, old: bytes, new: bytes) -> bytes:
    """The diff from `old` to `new`, empty where they are equal.

    Lines are those of git: only LF ends one, a CR before it belongs to the line.
    """
    label = os.fsencode(name.replace(os.sep, "/"))
    before, after = (b"", b"") if name.startswith("/") else (b"a/", b"b/")
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _lines(old),
        _lines(new),
        _label(before + label),
        _label(after + label),
    )
    return b"".join(line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE for line in lines)


def _label(name: bytes) -> bytes:
    """As git writes it: what is more than plain text between quotes, as escapes."""
    if _ODD.search(name) is None:
        return name + b"\t" if b" " in name else name
    return b'"' + b"".join(_escaped(byte) for byte in name) + b'"'


def _escaped(byte: int) -> bytes:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte


def diff_text(name: str, old: bytes, new: bytes, encoding: str = "utf-8") -> str:
    """The same to be shown: decoded from the file's encoding."""
    return unified_diff(name, old, new).decode(encoding, "replace")


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
