"""Demands: the calls that a release of SGLang itself makes on what others may subclass.

They are read when a release is embedded (`python -m kvlint.engine.demands TREE...`), because that
takes a walk through all of its functions, and never while something is checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kvlint.catalogue.binding import Shape

FOLDER = Path(__file__).parent / "embedded" / "demands"


@dataclass(frozen=True, slots=True)
class Demand:
    """One shape of call that SGLang makes.

    `receivers`: (class, classes ruled out) for each class that the receiver is known as; a
    subclass may stand in its place. `by_name`: only the receiver's name says what it is. `within`:
    the class whose body makes the call, "" outside of classes.
    """

    method: str
    shape: Shape
    receivers: tuple[tuple[str, tuple[str, ...]], ...]
    path: str
    line: int
    within: str = ""
    by_name: bool = False

    def meets(self, ancestors: Iterable[str]) -> bool:
        """Whether an object whose class has these ancestors (itself included) may be called so."""
        names = frozenset(ancestors)
        return any(cls in names and not names & set(minus) for cls, minus in self.receivers)


def dump(demands: Iterable[Demand]) -> bytes:
    rows = [_row(one) for one in demands]
    return (
        "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n"
    ).encode()


def _row(one: Demand) -> list[Any]:
    shape = one.shape
    called = [shape.positional, list(shape.keywords), int(shape.star), int(shape.double_star)]
    receivers = [[cls, list(minus)] for cls, minus in one.receivers]
    return [one.method, called, receivers, one.path, one.line, one.within, int(one.by_name)]


def parse(data: bytes) -> tuple[Demand, ...]:
    return tuple(
        Demand(
            method,
            Shape(called[0], tuple(called[1]), bool(called[2]), bool(called[3])),
            tuple((cls, tuple(minus)) for cls, minus in receivers),
            path,
            line,
            within,
            bool(by_name),
        )
        for method, called, receivers, path, line, within, by_name in json.loads(data)
    )


@lru_cache(maxsize=4)
def demands_of(version: str) -> dict[str, tuple[Demand, ...]]:
    """The demands of an embedded release by method; none for another."""
    try:
        found = parse((FOLDER / f"{version}.json").read_bytes())
    except FileNotFoundError:
        return {}
    by_method: dict[str, list[Demand]] = {}
    for one in found:
        by_method.setdefault(one.method, []).append(one)
    return {name: tuple(ones) for name, ones in by_method.items()}
