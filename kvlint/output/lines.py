"""From byte offsets of edits back to lines and columns."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from dataclasses import dataclass

from kvlint.findings import Span
from kvlint.source.text import SourceFile


@dataclass(frozen=True, slots=True)
class Positions:
    source: SourceFile

    def span(self, start: int, end: int) -> Span:
        return Span(*self.position(start), *self.position(end))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a byte offset."""
        source = self.source
        mark = len(codecs.BOM_UTF8) if source.has_bom else 0
        character = len(source.data[mark : max(offset, mark)].decode(source.encoding, "replace"))
        line = bisect_right(source.line_starts, character)
        return line, character - source.line_starts[line - 1] + 1
