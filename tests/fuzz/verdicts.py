"""Programs and what kvlint says of them, held to the lines by marks that travel with the text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvlint.catalogue.embed import load_embedded
from kvlint.engine.analysis import Request, check_files
from kvlint.rules.rule import builtin_rules
from tests.fuzz.class_tests import RELEASE

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("KVLINT_SHARED") or ROOT.parent / "shared")
_MARK = re.compile(r"# FOUND((?: KV\d{3})+)$")
Verdict = frozenset[tuple[int, str]]


@dataclass(frozen=True)
class Program:
    """`text` ends each line that is found in `# FOUND KVnnn`."""

    name: str
    text: str


_HEAD = "from sglang.srt.mem_cache.hisparse_memory_pool import HiSparseDSATokenToKVPool\n\n\n"
_EXACT = (
    _HEAD
    + "def read(pool, layer_id):\n"
    + "    if type(pool) is HiSparseDSATokenToKVPool:\n"
    + "        return pool.get_cpu_copy(layer_id)\n"
    + "    return pool.get_cpu_copy(layer_id)\n",
    _HEAD
    + "def read(pool, layer_id):\n"
    + "    if type(pool) is HiSparseDSATokenToKVPool:\n"
    + "        return pool.get_key_buffer(layer_id)\n"
    + "    return pool.get_cpu_copy(layer_id)\n",
)
"""The examples ask with `isinstance` alone."""


def texts() -> Iterator[tuple[str, str]]:
    """Examples of the rules, the fixtures, and the collected programs where they are at hand."""
    for rule in builtin_rules():
        if rule.example.language in ("python", "py") and rule.code != "KV001":
            yield f"{rule.code} bad", rule.example.bad
            yield f"{rule.code} good", rule.example.good
    for number, text in enumerate(_EXACT):
        yield f"exact {number}", text
    for place in (ROOT / "fixtures", SHARED / "cases" / "forms", SHARED / "cases" / "forms2"):
        for path in sorted(place.rglob("*.py")):
            yield str(path.relative_to(place.parent)), path.read_text(encoding="utf-8")


def verdicts(programs: Mapping[str, str], folder: Path) -> dict[str, Verdict]:
    """What is found in each program, by its name; every one is a project of one file."""
    paths = {name: folder / f"program_{number}.py" for number, name in enumerate(programs)}
    for name, path in paths.items():
        path.write_text(programs[name], encoding="utf-8")
    files = tuple(paths.values())
    request = Request(
        files, (folder,), builtin_rules(), load_embedded(RELEASE), named=frozenset(files)
    )
    results = {result.path: result for result in check_files(request)}
    found = {name: results[path] for name, path in paths.items()}
    errors = [(name, result.error) for name, result in found.items() if result.error]
    assert not errors, errors
    return {
        name: frozenset((finding.span.line, finding.code) for finding in result.findings)
        for name, result in found.items()
    }


def marked(found: Iterable[tuple[str, str]], folder: Path) -> tuple[Program, ...]:
    """The programs with their verdicts written to the lines; left out are those in which a mark
    would change something, or finds no place."""
    given = dict(found)
    before = verdicts(given, folder)
    written = {name: _with_marks(text, before[name]) for name, text in given.items()}
    after = verdicts(written, folder)
    return tuple(
        Program(name, text)
        for name, text in written.items()
        if after[name] == before[name] == expected(text)
    )


def _with_marks(text: str, verdict: Verdict) -> str:
    codes: dict[int, list[str]] = {}
    for line, code in sorted(verdict):
        codes.setdefault(line, []).append(code)
    lines = text.splitlines()
    for number, found in codes.items():
        lines[number - 1] += f"  # FOUND {' '.join(found)}"
    return "\n".join(lines) + "\n"


def expected(text: str) -> Verdict:
    """The verdict that the marks of a text say."""
    return frozenset(
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        if (found := _MARK.search(line))
        for code in found[1].split()
    )


def in_batches(items: Sequence[Program], size: int) -> Iterator[Sequence[Program]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]
