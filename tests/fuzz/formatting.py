"""Programs whose mistakes are fixed, in every way of writing them down: what a fix makes of one is
what it makes of the other, and the rest of the file stays as it was."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz.command import inside
from tests.fuzz.verdicts import texts, verdicts

_FIXABLE = frozenset(("KV101", "KV102", "KV201", "KV202", "KV204", "KV302", "KV303", "KV305"))
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Written:
    """One program as it is written in a file, and as its author first had it."""

    name: str
    plain: str
    data: bytes
    newline: bytes


def fixable(folder: Path) -> list[tuple[str, str]]:
    """Programs with findings that have fixes."""
    found = {name: text for name, text in texts() if text.isascii()}
    given = verdicts(found, folder)
    return [
        (name, text)
        for name, text in found.items()
        if any(code in _FIXABLE for _, code in given[name])
    ]


def written(program: tuple[str, str], rng: Random) -> Written:
    """The program with other spaces, breaks, comments, newlines and indentation."""
    name, text = program
    new = _respaced(text, rng)
    newline = rng.choice((b"\n", b"\n", b"\r\n"))
    data = new.encode().replace(b"\n", newline)
    if rng.random() < 0.2:
        data = _BOM + data
    if rng.random() < 0.1:
        data = data.rstrip()
    return Written(name, text, data, newline)


def _respaced(text: str, rng: Random) -> str:
    """Token by token; a program that comes out with another tree is left as it was."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    pieces: list[str] = []
    depth = 0
    last = (1, 0)
    lines = text.splitlines(keepends=True)
    for token in tokens:
        if token.type == tokenize.ENDMARKER:
            break
        pieces.append(_gap(_between(lines, last, token.start), token, depth, rng))
        pieces.append(token.string if token.type not in _UNSEEN else "")
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
        last = token.end
    new = "".join(pieces)
    try:
        same = ast.dump(ast.parse(new)) == ast.dump(ast.parse(text))
    except SyntaxError:
        return text
    return new if same else text


_UNSEEN = (tokenize.INDENT, tokenize.DEDENT)


def _between(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]] if start[0] <= len(lines) else ""
    first = lines[start[0] - 1][start[1] :] if start[0] <= len(lines) else ""
    between = lines[start[0] : end[0] - 1]
    last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
    return first + "".join(between) + last


def _gap(old: str, token: tokenize.TokenInfo, depth: int, rng: Random) -> str:
    """What stands before a token: where no break may stand, spaces."""
    if (
        rng.random() < 0.7
        or token.type in _UNSEEN
        or token.type in (*(tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT),)
    ):
        return old
    if old.strip(" "):
        return old
    if depth > 0:
        return rng.choice(
            ("", " ", "  ", "\n", "\n    ", " # a comment\n  ", "\t", "  # größe\n")
        ) + (" " if token.type in (tokenize.NAME, tokenize.NUMBER) else "")
    at_start = token.start[1] == len(old)
    if at_start or not old:
        return old
    return rng.choice((" ", "  ", "\t", " \\\n   "))


def faults_of_batch(programs: Sequence[Written], folder: Path) -> Iterator[str]:
    """Fix the programs as they are written and as they were, once and again."""
    plain, ours = folder / "plain", folder / "written"
    for place in (plain, ours):
        place.mkdir(parents=True)
    for number, program in enumerate(programs):
        (plain / f"p{number}.py").write_text(program.plain, encoding="utf-8")
        (ours / f"p{number}.py").write_bytes(program.data)
    options = ("check", ".", "--no-cache", "--sglang", "0.5.23", "--jobs", "1", "--fix")
    unsafe = (*options, "--unsafe-fixes")
    for arguments in (options, unsafe):
        for place in (plain, ours):
            yield from inside(place, *arguments).faults()
        for number, program in enumerate(programs):
            fixed = (ours / f"p{number}.py").read_bytes()
            wanted = (plain / f"p{number}.py").read_text(encoding="utf-8")
            for fault in _faults(program, fixed, wanted, arguments is options):
                yield f"{program.name}: {fault}\n--- from\n{program.data!r}\n--- to\n{fixed!r}"
    before = {path: path.read_bytes() for path in ours.iterdir()}
    yield from inside(ours, *unsafe).faults()
    for path, data in before.items():
        if path.read_bytes() != data:
            yield f"a second fix changes {data!r}\n--- to\n{path.read_bytes()!r}"


def _faults(program: Written, fixed: bytes, wanted: str, safe: bool) -> Iterator[str]:
    try:
        tree = ast.dump(ast.parse(fixed))
    except (SyntaxError, ValueError) as error:
        yield f"the fixed program does not parse: {error}"
        return
    if tree != ast.dump(ast.parse(wanted)):
        yield f"is fixed otherwise than\n{wanted}"
    if program.data.startswith(_BOM) != fixed.startswith(_BOM):
        yield "its byte order mark is gone, or new"
    if program.newline == b"\r\n" and b"\n" in fixed.replace(b"\r\n", b""):
        yield "its newlines are mixed"
    lost = _comments(program.data) - _comments(fixed)
    if safe and lost:
        yield f"a safe fix loses {sorted(lost)}"
    yield from _changed_lines(program.data, fixed)


def _comments(data: bytes) -> Counter[str]:
    tokens = tokenize.tokenize(io.BytesIO(data).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def _changed_lines(before: bytes, after: bytes) -> Iterator[str]:
    """Lines that hold nothing a fix is about stay, byte by byte."""
    kept = Counter(after.splitlines(keepends=True))
    for line in before.splitlines(keepends=True):
        if line.lstrip().startswith((b"import ", b"class ", b"def ", b'"""')) and not kept[line]:
            yield f"the line {line!r} is no more"


def campaign(count: int, seed: int, folder: Path) -> list[str]:
    """Faults of that many programs."""
    rng = Random(seed)
    (folder / "seeds").mkdir()
    pool = fixable(folder / "seeds")
    faults: list[str] = []
    for number in range(0, count, 40):
        programs = [written(rng.choice(pool), rng) for _ in range(min(40, count - number))]
        faults += faults_of_batch(programs, folder / f"batch{number}")
    return faults
