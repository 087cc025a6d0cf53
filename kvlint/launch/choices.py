"""Configurations of which the text leaves a value open between some that it states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from kvlint.findings import Finding
from kvlint.launch.arguments import Choice, LaunchConfiguration, Value
from kvlint.launch.judge import Case, judge

MOST_VARIANTS = 32
Chosen = dict[int, Value]
"""The value that each choice takes, by its origin."""


def judge_all(case: Case) -> list[Finding]:
    """The findings of a configuration whatever is chosen, and of each value that has its turn."""
    choices = _choices(case.configuration)
    if not choices or prod(len(choice.values) for choice in choices) > MOST_VARIANTS:
        return judge(case)
    in_turn = [choice for choice in choices if choice.each]
    open_ones = [choice for choice in choices if not choice.each]
    found: list[Finding] = []
    for turn in _ways(in_turn):
        ways = [{**turn, **chosen} for chosen in _ways(open_ones)]
        found += _in_all([judge(_with(case, chosen)) for chosen in ways])
    return found


def _choices(configuration: LaunchConfiguration) -> list[Choice]:
    stated = [argument.choice for argument in configuration.arguments.values()]
    return list({choice.origin: choice for choice in stated if choice is not None}.values())


def _ways(choices: Sequence[Choice]) -> Iterator[Chosen]:
    for values in product(*(choice.values for choice in choices)):
        origins = (choice.origin for choice in choices)
        yield dict(zip(origins, values, strict=True))


def _with(case: Case, chosen: Chosen) -> Case:
    arguments = {
        name: replace(argument, value=chosen[argument.choice.origin], choice=None)
        if argument.choice is not None
        else argument
        for name, argument in case.configuration.arguments.items()
    }
    return replace(case, configuration=replace(case.configuration, arguments=arguments))


def _in_all(ways: Sequence[list[Finding]]) -> list[Finding]:
    """The findings that every way has at the same place."""
    others = [{(f.code, f.span) for f in found} for found in ways[1:]]
    return [f for f in ways[0] if all((f.code, f.span) in places for places in others)]
