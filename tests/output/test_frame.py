"""The code frame: what is shown of long, wide and tabbed lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.findings import Span
from kvlint.output.frame import frame
from kvlint.output.style import Style, columns
from kvlint.source.text import decode_source


def shown(text: str, span: Span, width: int = 80) -> list[str]:
    source = decode_source(Path("x.py"), text.encode())
    return list(frame(source, span, Style(width), "red"))


def test_blank_lines_before_are_left_out() -> None:
    assert shown("a\n\n\nb = 2\n", Span(4, 1, 4, 2)) == ["  |", "4 | b = 2", "  | ^"]


def test_a_span_of_several_lines_is_marked_on_each() -> None:
    assert shown("f(\n    1,\n)\n", Span(1, 1, 3, 2)) == [
        "  |",
        "1 | f(",
        "  | ^^",
        "2 |     1,",
        "  |     ^^",
        "3 | )",
        "  | ^",
    ]


def test_of_a_long_span_the_first_lines_are_shown() -> None:
    text = "f(\n" + "    1,\n" * 20 + ")\n"
    lines = shown(text, Span(1, 1, 22, 2))
    assert lines[-1] == "  | ..."
    assert len(lines) == 10


def test_line_numbers_of_different_lengths_stand_in_one_column() -> None:
    text = "".join(f"x{number} = 1\n" for number in range(1, 12))
    assert shown(text, Span(10, 1, 10, 4)) == [
        "   |",
        " 8 | x8 = 1",
        " 9 | x9 = 1",
        "10 | x10 = 1",
        "   | ^^^",
    ]


def test_tabs_and_wide_characters_keep_the_mark_in_place() -> None:
    assert shown("\t名 = pool\n", Span(1, 6, 1, 10)) == [
        "  |",
        "1 |     名 = pool",
        "  |          ^^^^",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("place", [1, 60, 150, 280])
def test_long_lines_are_cut_around_the_span(width: int, place: int) -> None:
    line = "x" * (place - 1) + "pool.get()" + "y" * 200
    lines = shown(line + "\n", Span(1, place, 1, place + 10), width)
    _, code, mark = lines
    assert columns(code) <= width
    start = mark.index("^")
    assert code[start : start + 10] == "pool.get()"
    assert mark.count("^") == 10


def test_the_end_of_the_file_can_be_marked() -> None:
    assert shown("def f(", Span(1, 7, 1, 8)) == ["  |", "1 | def f(", "  |       ^"]


def test_an_empty_file_has_a_frame() -> None:
    assert shown("", Span(1, 1, 1, 2)) == ["  |", "1 |", "  | ^"]
