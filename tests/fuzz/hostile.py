"""Files as an enemy, a broken disk or a bad merge would leave them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.fuzz.command import inside
from tests.fuzz.verdicts import ROOT, SHARED, texts

Mutation = Callable[[bytes, Random], bytes]
FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")
SUFFIXES = (".py", ".pyi", ".sh", ".yaml", ".yml", ".json", ".toml", ".dockerfile", ".sbatch")
_TOKENS: tuple[bytes, ...] = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\r\n", b"\x0c", b"\x1b[31m", b"\xc2\x85"),
    *(b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\xf0\x9f\x92\xa9", b"\\\n", b"\\\r\n", b"\t \t"),
    *(b"'''", b'"""', b"f'{", b"}'", b"rb'", b"#", b";", b":=", b"lambda:", b"async ", b"await "),
    *(b"match x:\n case _:\n  ", b"global pool\n", b"del pool\n", b"from . import *\n"),
    *(b"# kvlint: ignore", b"# kvlint: ignore[KV101", b"# kvlint: file-ignore[", b"# type: (X)"),
    *(b"# -*- coding: utf-7 -*-\n", b"# -*- coding: rot13 -*-\n", b"# coding: \xff\n"),
    *(b"<<<<<<< HEAD\n", b"=======\n", b">>>>>>> x\n", b"%s", b"{{ x }}", b"{% if x %}"),
    *(b"$(", b")", b"`", b"<<EOF\n", b"${x:-", b"$((", b"| while read x; do ", b"&&", b"\\"),
    *(b"&a [*a, *a]\n", b"!!python/object:x ", b"? ", b"- - - ", b"--- \n", b"<<: *a\n"),
    *(b"[" * 300, b"(" * 300, b"{" * 300, b"-" * 5000, b"not " * 400, b"a." * 3000, b"9" * 5000),
    *(b"FROM x\nRUN ", b"CMD [", b"ONBUILD ", b"--attention-backend=", b"--is-embedding "),
)


def _insert(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_TOKENS) + data[at:]


def _flip(data: bytes, rng: Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[end:]


def _truncate(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _repeat(data: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] * rng.randrange(1, 6) + data[end:]


def _swap_lines(data: bytes, rng: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def _indent(data: bytes, rng: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(rng.randrange(1, 4)):
        if lines:
            at = rng.randrange(len(lines))
            lines[at] = rng.choice((b" ", b"\t", b"    ", b"\x0c")) + lines[at]
    return b"".join(lines)


def _newlines(data: bytes, rng: Random) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\r", b"\x0b\n")))


def _encode(data: bytes, rng: Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-32", "latin-1", "utf-7")), "replace")


def _nest(data: bytes, rng: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    depth = rng.randrange(2, 60)
    opening = b"".join(b" " * n + b"if x:\n" for n in range(depth))
    return opening + b"".join(b" " * depth + line for line in lines)


MUTATIONS: tuple[Mutation, ...] = (
    *(_insert, _insert, _insert, _flip, _cut, _truncate, _repeat),
    *(_swap_lines, _indent, _newlines, _encode, _nest),
)


def seeds() -> list[tuple[str, bytes]]:
    """(suffix, content) of well-formed files of every kind."""
    found = [(".py", text.encode()) for _, text in texts()]
    for place in (SHARED / "cases" / "launch", ROOT / "fixtures"):
        for path in sorted(place.rglob("*")):
            if path.is_file() and path.suffix != ".py" and path.name != "case.json":
                found.append((path.suffix or ".dockerfile", path.read_bytes()))
    command = b"python -m sglang.launch_server --model m --is-embedding --attention-backend fa \\\n"
    found.append((".sh", b"#!/bin/bash\nset -e\n" + command + b"  --disable-radix-cache\n"))
    found.append(
        (".yaml", b"services:\n  s:\n    command: >\n      " + command.replace(b"\\", b""))
    )
    return found


def hostile(pool: Sequence[tuple[str, bytes]], rng: Random) -> tuple[str, bytes]:
    """One file: its suffix, now and then another's, and a content that went wrong."""
    suffix, data = rng.choice(pool)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        data = rng.choice(MUTATIONS)(data, rng)[:200_000]
    return (rng.choice(SUFFIXES) if rng.random() < 0.1 else suffix), data


def faults_of_batch(files: Sequence[tuple[str, bytes]], folder: Path, rng: Random) -> list[str]:
    """Check and fix a folder of such files; what went wrong, with the file that is to blame."""
    folder.mkdir()
    for number, (suffix, data) in enumerate(files):
        (folder / f"file{number}{suffix}").write_bytes(data)
    options = ["check", ".", "--no-cache", "--sglang", "0.5.23", "--jobs", "1"]
    options += ["--output-format", rng.choice(FORMATS)]
    options += rng.choice(([], ["--pedantic"], ["--diff", "--unsafe-fixes"], ["--show-suppressed"]))
    faults = list(inside(folder, *options).faults())
    if not faults:
        return []
    named = [path for path in sorted(folder.iterdir()) if any(_alone(folder, path, options))]
    blamed = "\n".join(f"{path}: {path.read_bytes()[:2000]!r}" for path in named)
    return [f"{' '.join(options)}: {fault}\n{blamed}" for fault in faults]


def _alone(folder: Path, path: Path, options: Sequence[str]) -> list[str]:
    return list(inside(folder, options[0], path.name, *options[2:]).faults())


def campaign(count: int, seed: int, folder: Path) -> list[str]:
    """Faults of that many files, in batches."""
    rng, pool = Random(seed), seeds()
    faults: list[str] = []
    for number in range(0, count, 40):
        files = [hostile(pool, rng) for _ in range(min(40, count - number))]
        faults += faults_of_batch(files, folder / f"batch{number}", rng)
    return faults
