"""Where SGLang servers are configured and launched: the no-op pool before a GPU is rented."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvlint.findings import Finding
from kvlint.launch.file_types import (
    LAUNCH_NAMES,
    LAUNCH_SUFFIXES,
    check_launch_file,
    is_candidate,
    is_launch_file,
)
from kvlint.launch.relevance import is_worth_following, may_hold_a_backend
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile

if TYPE_CHECKING:
    from kvlint.launch.facts import LaunchRelease
    from kvlint.launch.python_program import Constants

__all__ = [
    "LAUNCH_NAMES",
    "LAUNCH_SUFFIXES",
    "check_launch_file",
    "check_python",
    "is_candidate",
    "is_launch_file",
]


def check_python(
    source: SourceFile,
    tree: ast.Module,
    rules: Sequence[Rule],
    release: LaunchRelease,
    constants: Constants,
) -> tuple[Finding, ...]:
    """The findings of the launch rules in one Python file, in order. `constants`: what a name or
    attribute of its module can be, where that is texts or numbers and nothing else."""
    if not is_worth_following(source.data) and not may_hold_a_backend(source.data):
        return ()
    from kvlint.launch.python_files import check

    return check(source, tree, rules, release, constants)
