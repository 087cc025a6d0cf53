"""Where SGLang servers are configured and launched: the no-op pool before a GPU is rented."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kvlint.findings import Finding
from kvlint.launch.files import (
    LAUNCH_NAMES,
    LAUNCH_SUFFIXES,
    check_launch_file,
    is_candidate,
    is_launch_file,
)
from kvlint.rules import Rule
from kvlint.source.text import SourceFile

__all__ = [
    "LAUNCH_NAMES",
    "LAUNCH_SUFFIXES",
    "check_launch_file",
    "check_python",
    "is_candidate",
    "is_launch_file",
]
_PYTHON_MARKS = (
    b"ServerArgs",
    b"Engine",
    b"Runtime",
    b"sglang serve",
    b"launch_server",
    b"attention-backend",
    b"prefill-only-disable-kv-cache",
    b"prefill_only_disable_kv_cache",
)
_PYTHON_FACTS = (b"backend", b"is_embedding", b"is-embedding", b"disable_kv_cache")


def check_python(
    source: SourceFile, tree: ast.Module, rules: Sequence[Rule], version: str
) -> tuple[Finding, ...]:
    """The findings of the launch rules in one Python file, in order."""
    data = source.data
    if not any(mark in data for mark in _PYTHON_MARKS):
        return ()
    if not any(fact in data for fact in _PYTHON_FACTS):
        return ()
    from kvlint.launch.python_files import check

    return check(source, tree, rules, version)
