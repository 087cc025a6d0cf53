"""The lines of code around a finding, with the place marked."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.findings import Span
from kvlint.output.streams import harmless
from kvlint.output.style import Style, columns
from kvlint.source.text import SourceFile

LINES_BEFORE = 2
MOST_MARKED = 4
_TAB = "    "


def margin_of(source: SourceFile, span: Span) -> int:
    """Columns that line numbers take in the frame of a span."""
    return len(str(_last(source, span)))


def _last(source: SourceFile, span: Span) -> int:
    return min(span.end_line, span.line + MOST_MARKED - 1, max(1, len(source.lines)))


def frame(source: SourceFile, span: Span, style: Style, color: str) -> Iterator[str]:
    """Up to two lines before the span, then its lines; of a long span the first few."""
    first = max(1, span.line - LINES_BEFORE)
    while first < span.line and not source.line(first).strip():
        first += 1
    last = _last(source, span)
    margin = margin_of(source, span)
    gutter = style.paint(" " * margin + " |", "blue")
    yield gutter
    for number in range(first, last + 1):
        code, mark = _fitted(source.line(number), _marked(span, number), style.width - margin - 3)
        yield f"{style.paint(f'{number:>{margin}} |', 'blue')} {code}".rstrip()
        if mark:
            yield f"{gutter} {style.paint(mark, color)}"
    if last < span.end_line:
        yield f"{gutter} ..."


def _marked(span: Span, number: int) -> tuple[int, int | None] | None:
    """Characters (from 0) that the span takes on a line: start and end, None for the line's end."""
    if not span.line <= number <= span.end_line:
        return None
    start = span.column - 1 if number == span.line else 0
    return start, span.end_column - 1 if number == span.end_line else None


def _fitted(line: str, marked: tuple[int, int | None] | None, width: int) -> tuple[str, str]:
    """A line of code and the line of marks below it, both cut to `width` columns."""
    if marked is None:
        return _cut(_shown(line), 0, width), ""
    start, end = marked
    if line[:start].strip() == "":
        start = max(start, len(line) - len(line.lstrip()))
    before = _shown(line[:start])
    inside = _shown(line[start:end].rstrip())
    code = before + inside + _shown(line[len(line[:start]) + len(line[start:end].rstrip()) :])
    left = 0 if columns(before + inside) <= width else max(0, len(before) - width // 3)
    room = width - columns(_cut(before, left, width))
    mark = "^" * max(1, min(columns(inside), room))
    lead = 3 if left else 0
    return _cut(code, left, width), " " * (columns(before[left:]) + lead) + mark[: room or 1]


def _shown(text: str) -> str:
    return harmless(text.replace("\f", "").replace("\t", _TAB))


def _cut(text: str, left: int, width: int) -> str:
    text = f"...{text[left:]}" if left else text
    if columns(text) <= width:
        return text
    while columns(text) > width - 3:
        text = text[: max(0, len(text) - max(1, (columns(text) - width + 3) // 2))]
    return f"{text}..."
