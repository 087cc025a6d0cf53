"""Diffs are what git and patch take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kvlint.fixing.diff import diff_text, unified_diff


def test_a_diff() -> None:
    assert diff_text("a/b.py", b"1\n2\n3\n", b"1\nx\n3\n") == (
        "--- a/a/b.py\n+++ b/a/b.py\n@@ -1,3 +1,3 @@\n 1\n-2\n+x\n 3\n"
    )


def test_no_difference() -> None:
    assert unified_diff("a.py", b"1\n", b"1\n") == b""


def test_absolute_names_stay() -> None:
    assert diff_text("/x/a.py", b"1\n", b"2\n").startswith("--- /x/a.py\n+++ /x/a.py\n")


def test_a_missing_last_line_end_is_told() -> None:
    assert unified_diff("a", b"1", b"2\n").splitlines()[3:] == [
        b"-1",
        b"\\ No newline at end of file",
        b"+2",
    ]


def test_text_is_decoded_from_the_files_encoding() -> None:
    assert "-ü\n" in diff_text("a.py", "ü\n".encode("latin-1"), b"u\n", "latin-1")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"1\n2\n", b"1\n3\n"),
        (b"1\r\n2\r\n", b"1\r\n3\r\n"),
        (b"1\r2\r3", b"1\rx\r3"),
        (b"1\n2", b"1\n3"),
        (b"1\n2", b"1\n2\n"),
        (b"\xef\xbb\xbf1\n", b"\xef\xbb\xbf2\n"),
        (b"\x0c1\n\x0b2\x1c\n", b"\x0c1\n\x0b3\x1c\n"),
        ("é\n\x85\u2028x\n".encode(), "é\n\x85\u2028y\n".encode()),
        (b"# coding: latin-1\n\xe9\n1\n", b"# coding: latin-1\n\xe9\n2\n"),
        (b"".join(b"%d\n" % n for n in range(99)), b"".join(b"%d\n" % (n % 50) for n in range(99))),
    ],
)
@pytest.mark.parametrize("name", ["a.py", "with space.py", "sub/größe.py"])
def test_git_makes_the_new_file_of_the_old_one(
    old: bytes, new: bytes, name: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(old)
    subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"],
        input=unified_diff(name, old, new),
        cwd=tmp_path,
        check=True,
        env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "PATH": "/usr/bin:/bin"},
    )
    assert file.read_bytes() == new


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize(
    "name", ["x\n::error::y\x1b[31m.py", 'a"b\\c.py', "t\tb.py", "é\u202e.py", "a b.py"]
)
def test_odd_names_are_written_as_git_writes_them(tmp_path: Path, name: str) -> None:
    diff = unified_diff(name, b"1\n", b"2\n")
    head = diff.split(b"\n")[:2]
    assert all(line.isascii() and line.replace(b"\t", b"").decode().isprintable() for line in head)
    (tmp_path / name).write_bytes(b"1\n")
    subprocess.run(["git", "apply", "-"], input=diff, cwd=tmp_path, check=True)
    assert (tmp_path / name).read_bytes() == b"2\n"
