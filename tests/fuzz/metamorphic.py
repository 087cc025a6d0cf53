"""Programs rewritten so that they mean the same: what kvlint says of them stays.

`python -m tests.fuzz.metamorphic 50000 --seed 1` tries that many and prints what changed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import libcst as cst

from tests.fuzz.class_tests import CLASS_TESTS
from tests.fuzz.expressions import EXPRESSIONS
from tests.fuzz.statements import STATEMENTS
from tests.fuzz.trees import Rewrite
from tests.fuzz.verdicts import Program, expected, marked, texts, verdicts

REWRITES: dict[str, Rewrite] = {**EXPRESSIONS, **STATEMENTS, **CLASS_TESTS}
_BATCH = 200


@dataclass(frozen=True)
class Rewritten:
    """A program after one or two rewrites, by name."""

    program: Program
    rewrites: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Changed:
    """A rewritten program of which kvlint says something else: `lost` and `new` findings."""

    rewritten: Rewritten
    lost: tuple[tuple[int, str], ...]
    new: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        lost = ", ".join(f"lost {code} at line {line}" for line, code in self.lost)
        new = ", ".join(f"new {code} at line {line}" for line, code in self.new)
        rewrites = " and ".join(self.rewritten.rewrites)
        what = "; ".join(part for part in (lost, new) if part)
        return f"{self.rewritten.program.name}: {rewrites}: {what}\n{self.rewritten.text}"


def rewritten(programs: Sequence[Program], seed: int, count: int) -> Iterator[Rewritten]:
    """That many rewritten programs, the same for the same seed."""
    rng = Random(seed)
    trees: dict[str, cst.Module] = {}
    names = sorted(REWRITES)
    made = 0
    while made < count:
        program = rng.choice(programs)
        if program.name not in trees:
            trees[program.name] = cst.parse_module(program.text)
        done = _rewritten(trees[program.name], program, rng, names)
        if done is not None:
            made += 1
            yield done


def _rewritten(
    module: cst.Module, program: Program, rng: Random, names: Sequence[str]
) -> Rewritten | None:
    done: list[str] = []
    for name in rng.sample(names, rng.choice((1, 1, 2))):
        new = REWRITES[name](module, rng)
        if new is not None:
            module = _parsed(new.code, program, name)
            done.append(name)
    return Rewritten(program, tuple(done), module.code) if done else None


def _parsed(text: str, program: Program, rewrite: str) -> cst.Module:
    """Parsed anew: a piece that a rewrite uses twice is one node in its tree."""
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise AssertionError(f"{program.name}: {rewrite} breaks it: {error}\n{text}") from error


def changes(made: Sequence[Rewritten], folder: Path) -> Iterator[Changed]:
    """Those of the rewritten programs whose verdict is not what their marks say."""
    found = verdicts({str(number): one.text for number, one in enumerate(made)}, folder)
    for number, one in enumerate(made):
        compile(one.text, one.program.name, "exec")  # a rewrite that breaks a program is a bug
        wanted, given = expected(one.text), found[str(number)]
        if wanted != given:
            yield Changed(one, tuple(sorted(wanted - given)), tuple(sorted(given - wanted)))


def campaign(count: int, seed: int, folder: Path) -> Iterator[Changed]:
    programs = marked(texts(), folder)
    batch: list[Rewritten] = []
    for one in rewritten(programs, seed, count):
        batch.append(one)
        if len(batch) == _BATCH:
            yield from changes(batch, folder)
            batch.clear()
    yield from changes(batch, folder)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.metamorphic")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", action="store_true", help="count the changes by rewrite only")
    options = parser.parse_args(arguments)
    kinds: Counter[tuple[str, ...]] = Counter()
    with tempfile.TemporaryDirectory(prefix="kvlint-fuzz-") as folder:
        for change in campaign(options.count, options.seed, Path(folder)):
            kinds[change.rewritten.rewrites] += 1
            if not options.kinds:
                print(change)
    for rewrites, number in kinds.most_common():
        print(f"{number:6} {' and '.join(rewrites)}")
    print(f"{sum(kinds.values())} of {options.count} rewritten programs changed their verdict")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
