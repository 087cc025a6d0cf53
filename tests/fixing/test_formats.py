"""The bytes around an edit stay, whatever they are."""

from __future__ import annotations

import codecs

import pytest

from tests.fixing.by_name import becomes, stays

READ, FIXED = "pool.get_kv_buffer(i)", "pool.get_key_buffer(i)"
PLAIN = f"def f(pool, i):\n    k, v = {READ}\n    return k.shape\n"
AFTER = f"def f(pool, i):\n    k = {FIXED}\n    return k.shape\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("tail", ["", "\n", "\n\n\n", "\n# ende: ü\n", "\n\x0c\n"])
def test_line_ends_byte_order_mark_and_the_end_of_the_file(
    end: str, mark: bytes, tail: str
) -> None:
    before, after = (text[:-1] + tail for text in (PLAIN, AFTER))
    becomes(mark + before.replace("\n", end).encode(), mark + after.replace("\n", end).encode())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    k, v = {0}   \t", "    k = {1}   \t"),
        ("\n\x0c    k, v = {0}  # \x0c", "\n\x0c    k = {1}  # \x0c"),
        ("    k  ,\tv\t=\t{0} ;", "    k\t=\t{1} ;"),
        ("    x = 'ü€😀'; k, v = {0}; y = 'é'", "    x = 'ü€😀'; k = {1}; y = 'é'"),
        ("    if i: k, v = {0}", "    if i: k = {1}"),
        ("    while i: x = 1; k, v = {0}; break", "    while i: x = 1; k = {1}; break"),
        ("    k, v = \\\n  {0}", "    k = \\\n  {1}"),
        ("    k, v = (\n{0}\n)", "    k = (\n{1}\n)"),
        ("    x = '''\n\x0c#,('''; k, v = {0}", "    x = '''\n\x0c#,('''; k = {1}"),
        ("    x = f'{{i!r:>{{i}}}}'; k, v = {0}", "    x = f'{{i!r:>{{i}}}}'; k = {1}"),
        ("    k, v = pool. \\\n get_kv_buffer(i)", "    k = pool. \\\n get_key_buffer(i)"),
    ],
)  # fmt: skip
def test_layout_of_the_line(before: str, after: str) -> None:
    frame = "def f(pool, i):\n{}\n    return k\n"
    becomes(frame.format(before.format(READ, FIXED)), frame.format(after.format(READ, FIXED)))


def test_tabs() -> None:
    becomes(PLAIN.replace("    ", "\t"), AFTER.replace("    ", "\t"))


def test_names_that_are_not_ascii() -> None:
    before = "def f(pool, é):\n    schlüssel, größe = pool.get_kv_buffer(é)\n    return schlüssel\n"
    after = "def f(pool, é):\n    schlüssel = pool.get_key_buffer(é)\n    return schlüssel\n"
    becomes(before, after)


def test_a_name_that_python_would_normalise_is_left_alone() -> None:
    stays(PLAIN.replace("get_kv_buffer", "get_kv_buﬀer"))


def test_a_very_long_line() -> None:
    padding = "x = [" + ",".join(["'ü'"] * 20_000) + "]; "
    before, after = (text.replace("    k", f"    {padding}k", 1) for text in (PLAIN, AFTER))
    becomes(before, after)


def test_an_expression_that_is_too_deep_to_follow_may_read_anything() -> None:
    padding = "x = " + "+".join(["'ü'"] * 950) + "; "
    before = PLAIN.replace("    k", f"    {padding}k", 1)
    becomes(before, before.replace("k, v", "k = v").replace(READ, FIXED), unsafe=True)


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("latin-1", "ÄÖ ÿ"),
        ("iso-8859-15", "€ Š"),
        ("cp1252", "„“ €"),
        ("shift_jis", "キー表示ソ"),
        ("euc-jp", "鍵と値"),
        ("gb18030", "键值😀"),
        ("koi8-r", "ключ"),
        ("iso2022_jp", "鍵と値"),
        ("utf-8", "鍵😀"),
    ],
)
def test_declared_encodings(encoding: str, words: str) -> None:
    frame = "# -*- coding: {} -*-\n# {}\ndef f(pool, i):\n    x = '{}'; {}  # {}\n    return k\n"

    def program(line: str) -> bytes:
        return frame.format(encoding, words, words, line, words).encode(encoding)

    becomes(program(f"k, v = {READ}"), program(f"k = {FIXED}"))


def test_bytes_that_do_not_come_back_from_their_text_are_left_alone() -> None:
    twice = b"\x1b$B8.\x1b(B\x1b$B8.\x1b(B"
    program = b"# coding: iso2022_jp\n# " + twice + b"\n" + PLAIN.encode()
    assert twice.decode("iso2022_jp").encode("iso2022_jp") != twice
    stays(program)
