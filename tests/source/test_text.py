"""How the text of a file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.source.text import decode_source


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("first", ["", "#!/usr/bin/env python\n"])
def test_an_encoding_is_declared_however_lines_end(end: str, first: str) -> None:
    text = f"{first}# coding: latin-1\nx = 'é'\n".replace("\n", end)
    read = decode_source(Path("a.py"), text.encode("latin-1"))
    assert (read.text, read.encoding) == (text, "iso8859-1")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_third_line_declares_nothing(end: str) -> None:
    text = "\n\n# coding: latin-1\nx = 'é'\n".replace("\n", end)
    assert decode_source(Path("a.py"), text.encode("utf-8")).encoding == "utf-8"
