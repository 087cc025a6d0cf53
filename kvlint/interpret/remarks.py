"""What tests on the way say of an access path beside its value: kept in the environment under keys
that are forgotten with the path, and that a join keeps only where every way to it has them."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.interpret.assignment import PATHS, keep
from kvlint.interpret.context import Env
from kvlint.interpret.values import NOTHING

NOT, IS, FLAG = "not ", "is ", "flag "


def remark(env: Env | None, path: str | None, kind: str, name: str | None) -> None:
    """Let the environment remember that a test of the path came out so."""
    if env is not None and path is not None and name is not None:
        keep(env, f"{path}?{kind}{name}", NOTHING)


def remarks(env: Env, path: str, kind: str) -> frozenset[str]:
    """The classes (or flags) of such tests on the way to here."""
    if PATHS not in env:
        return frozenset()
    prefix = f"{path}?{kind}"
    return frozenset(key[len(prefix) :] for key in env if key.startswith(prefix))


def instances_known(env: Env) -> Iterator[tuple[str, str]]:
    """(path, class) of every `isinstance` that holds here."""
    if PATHS in env:
        for key in env:
            path, found, rest = key.partition("?")
            if found and rest.startswith(IS):
                yield path, rest[len(IS) :]
