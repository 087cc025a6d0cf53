"""The server arguments of one tree, as its own source has them. Nothing of it is imported."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from kvlint.catalogue.embed import fingerprint
from kvlint.launch.facts import LaunchFacts, embedded_with, from_data
from kvlint.launch.from_source import argument_files, facts_of


@lru_cache(maxsize=4)
def facts_of_tree(package: Path, version: str) -> LaunchFacts | None:
    """The facts of the package `sglang` in that folder; None where it declares no arguments.

    `version` is only what messages call it.
    """
    try:
        files = argument_files(package)
    except OSError:
        return None
    if not files:
        return None
    known = embedded_with(fingerprint(files))
    if known is not None:
        return replace(known, version=version, shown=version)
    return from_data({"version": version, **facts_of(package, files)})


def argument_text(package: Path) -> bytes | None:
    """The text of the files in which a tree declares its arguments, one after the other; None
    where it has none, or they cannot be read."""
    try:
        return b"\n".join(argument_files(package).values()) or None
    except OSError:
        return None
