"""Patterns as in .gitignore: of settings, and of the files that git reads.

They are matched by RE2, whose cost is linear in the path whatever the pattern: with Python's own
expressions a line with a few stars in a stranger's .gitignore takes hours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kvlint.source.boundary import Boundary
from kvlint.source.reading import read_text

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_LONGEST = 4096
"""Characters of a pattern; no path is longer."""


class PatternError(ValueError):
    """A pattern that git does not understand either. The text says why."""


class Ignores:
    """Patterns in order: of those that match a path the last one decides."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Raises PatternError."""
        from pathspec import GitIgnoreSpec

        for pattern in patterns:
            _check(pattern)
        try:
            self._spec: GitIgnoreSpec = GitIgnoreSpec.from_lines(
                map(_decodable, patterns), backend="re2"
            )
        except Exception as error:  # RE2's own error class is private to it
            raise PatternError(f"the patterns are too large: {error}") from error

    def matches(self, relative: str) -> bool:
        """Whether a POSIX path, from the folder of the patterns, is one that they leave out."""
        return self._spec.match_file(_decodable(relative))

    def verdict(self, relative: str) -> bool | None:
        """The same; None where no pattern says anything of the path."""
        return self._spec.check_file(_decodable(relative)).include


def check_pattern(pattern: str) -> str:
    """What is wrong with a pattern; an empty text where nothing is."""
    try:
        _check(pattern)
    except PatternError as error:
        return str(error)
    return ""


@lru_cache(maxsize=4096)
def _check(pattern: str) -> None:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    if len(pattern) > _LONGEST:
        raise PatternError(f"is longer than {_LONGEST:,} characters")
    try:
        GitIgnoreSpecPattern(_decodable(pattern))
    except re.error as error:
        raise PatternError(f"is no pattern: {error.msg}") from error
    except ValueError as error:
        raise PatternError("is no pattern as in .gitignore") from error


def _decodable(text: str) -> str:
    """RE2 reads UTF-8: bytes of a name that are none are put as one replacement character."""
    if text.isascii():
        return text
    return os.fsencode(text).decode("utf-8", "replace")


@lru_cache(maxsize=64)
def ignores_of(*groups: tuple[str, ...]) -> Ignores | None:
    """Raises PatternError. None where there are no patterns, which spares an import."""
    patterns = [pattern for group in groups for pattern in group]
    return Ignores(patterns) if patterns else None


def read_ignores(path: Path) -> tuple[Ignores | None, str]:
    """The patterns of a .gitignore, and why it cannot be read as one, else an empty text. As git
    does, lines that are no patterns are passed over."""
    if Boundary([path.parent]).leads_out(path):
        return None, "is a link that leads out of the repository"
    try:
        lines = read_text(path, "surrogateescape").splitlines()
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"cannot be read: {error.strerror or error}"
    candidates = (line for line in lines if line.strip() and not line.startswith("#"))
    patterns = [line for line in candidates if not check_pattern(line)]
    try:
        return (Ignores(patterns) if patterns else None), ""
    except PatternError as error:
        return None, str(error)
