"""Small programs with the findings that are right for them, marked in their text.

`# EXPECT KV101` at the end of a line: an error of that rule, exactly there. `# EXPECT KV203
warning` where the severity is another. A program without a mark is silent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from textwrap import dedent

from kvlint.catalogue.embed import load_embedded
from kvlint.catalogue.model import Catalogue
from kvlint.engine.analysis import Request, check_files
from kvlint.findings import Finding
from kvlint.rules.rule import builtin_rules

RELEASE = "0.5.23"
POOLS = """\
from sglang.srt.mem_cache.base_swa_memory_pool import BaseSWAKVPool
from sglang.srt.mem_cache.deepseek_v4_memory_pool import (
    DeepSeekV4IndexerPool, DeepSeekV4SingleKVPool, DeepSeekV4TokenToKVPool, HiSparseC4DevicePool)
from sglang.srt.mem_cache.memory_pool import (
    DSATokenToKVPool, KVCache, MHATokenToKOnlyPool, MHATokenToKVPool, MiniMaxSparseKVPool,
    MLATokenToKVPool, NoOpMHATokenToKVPool)
from sglang.srt.mem_cache.swa_memory_pool import SWAKVPool
"""
"""What every program of one file starts with."""
_MARK = re.compile(r"# EXPECT (KV\d{3})(?: (warning|hint))?$")

Place = tuple[str, int, str, str]
"""File, line, code, severity."""


@cache
def catalogue() -> Catalogue:
    return load_embedded(RELEASE)


def findings(files: Mapping[str, str], folder: Path, *, pedantic: bool = False) -> list[Finding]:
    """What is found in a project of these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    paths = tuple(sorted(folder / name for name in files))
    request = Request(
        paths, (folder,), builtin_rules(), catalogue(), pedantic, named=frozenset(paths)
    )
    results = check_files(request)
    assert [result.error for result in results if result.error] == []
    return [finding for result in results for finding in result.findings]


def marked(files: Mapping[str, str]) -> set[Place]:
    """The findings that the marks call for."""
    return {
        (name, number, match[1], match[2] or "error")
        for name, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := _MARK.search(line))
    }


def assert_as_marked(files: Mapping[str, str], folder: Path, *, pedantic: bool = False) -> None:
    """Found is what is marked in these files, and nothing else."""
    files = {name: dedent(text).lstrip("\n") for name, text in files.items()}
    found = {
        (str(f.path.relative_to(folder)), f.span.line, f.code, f.severity)
        for f in findings(files, folder, pedantic=pedantic)
    }
    assert found == marked(files)


def assert_finds(source: str, folder: Path) -> None:
    """One file, the pools imported, in which something is marked and exactly that is found."""
    assert "# EXPECT" in source
    assert_as_marked({"program.py": POOLS + dedent(source).lstrip("\n")}, folder)


def assert_silent(source: str, folder: Path) -> None:
    """One file, the pools imported, in which nothing is found."""
    assert "# EXPECT" not in source
    assert_as_marked({"program.py": POOLS + dedent(source).lstrip("\n")}, folder)
