"""The unified diff of two versions of a file, as `git apply` and `patch -p1` take it."""

from __future__ import annotations

import difflib
import os

_NO_NEWLINE = b"\\ No newline at end of file\n"


def unified_diff(name: str, old: bytes, new: bytes) -> bytes:
    """The diff from `old` to `new`, empty where they are equal.

    Lines are those of git: only LF ends one, a CR before it belongs to the line.
    """
    label = os.fsencode(name.replace(os.sep, "/"))
    old_label, new_label = (
        (label, label) if name.startswith("/") else (b"a/" + label, b"b/" + label)
    )
    tail = b"\t" if b" " in label else b""
    lines = difflib.diff_bytes(
        difflib.unified_diff, _lines(old), _lines(new), old_label + tail, new_label + tail
    )
    return b"".join(line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE for line in lines)


def diff_text(name: str, old: bytes, new: bytes, encoding: str = "utf-8") -> str:
    """The same to be shown: decoded from the file's encoding."""
    return unified_diff(name, old, new).decode(encoding, "replace")


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
