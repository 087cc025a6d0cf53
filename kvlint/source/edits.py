"""From characters of a text to bytes of its file."""

from __future__ import annotations

from kvlint.findings import Edit
from kvlint.source.text import SourceFile


def edit_of(source: SourceFile, start: int, end: int, text: str) -> Edit | None:
    """The edit that replaces the characters `start` to `end` (exclusive) by `text`. None where the
    file's encoding does not give the same bytes back, so that offsets could not be trusted."""
    try:
        old = source.encode(source.text[start:end])
        first = source.byte_offset(start)
        new = source.encode(text)
    except UnicodeEncodeError:
        return None
    last = first + len(old)
    return Edit(first, last, new) if source.data[first:last] == old else None
