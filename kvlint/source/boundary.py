"""What belongs to a checked repository: a link in it that leads out of it is not followed.

A pull request can hold a link to a file of the machine that checks it. Its lines would be printed
in a frame, or a fix be written through it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_TOPS = ((".git", ".hg"), ("kvlint.toml", "pyproject.toml", "setup.py", "setup.cfg"))


class Boundary:
    """The repositories that hold some folders. A folder that is `named` on the command line may be
    a link to anywhere: what lies below it is meant."""

    def __init__(self, folders: Iterable[Path], named: Iterable[Path] = ()) -> None:
        roots = [_roots_of(folder) for folder in folders]
        roots += [_roots_of_named(folder) for folder in named]
        self._roots = tuple(dict.fromkeys(roots))
        self._folders: dict[str, str] = {}

    def leads_out(self, path: str | Path) -> bool:
        """Whether a path (absolute, free of `..`) that stands in one of the repositories is, by a
        link on the way, a file or folder outside of it."""
        text = str(path)
        inside = [real for shown, real in self._roots if _is_below(text, shown)]
        if not inside:
            return False
        target = self._real(text)
        return not all(_is_below(target, real) for real in inside)

    def _real(self, path: str) -> str:
        """The path without links; folders are asked for once."""
        if os.path.islink(path):  # noqa: PTH114 - for every module
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return f"{self._folders[folder]}{os.sep}{name}"


def repository_of(folder: Path) -> Path:
    """The closest folder upwards that a version control keeps, else that has settings of a
    project, else the folder itself."""
    for marks in _TOPS:
        for place in (folder, *folder.parents):
            if not place.is_symlink() and any(os.path.lexists(place / mark) for mark in marks):
                return place
    return folder


@lru_cache(maxsize=256)
def _roots_of(folder: Path) -> tuple[str, str]:
    top = repository_of(folder)
    return str(top), os.path.realpath(top)


@lru_cache(maxsize=256)
def _roots_of_named(folder: Path) -> tuple[str, str]:
    shown, real = _roots_of(folder)
    target = os.path.realpath(folder)
    return (shown, real) if _is_below(target, real) else (str(folder), target)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
