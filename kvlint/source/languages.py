"""Whether a file is Python: one answer for the screen, the checks, comments and fixes."""

from __future__ import annotations

from pathlib import Path

from kvlint.source.reading import open_regular

PYTHON_SUFFIXES = (".py", ".pyi", ".pyw")
_LONGEST_HEAD = 200


def is_python(path: Path, data: bytes | None = None) -> bool:
    """By the suffix, or by a `#!...python` line where there is none. `data` is the file's content
    where it is at hand."""
    if path.suffix:
        return path.suffix.lower() in PYTHON_SUFFIXES
    first = _head(path) if data is None else data.split(b"\n", 1)[0][:_LONGEST_HEAD]
    return first.startswith(b"#!") and b"python" in first


def _head(path: Path) -> bytes:
    try:
        descriptor, _ = open_regular(path)
        with open(descriptor, "rb") as handle:  # noqa: PTH123 - a descriptor
            return handle.readline(_LONGEST_HEAD)
    except OSError:
        return b""
