"""Whether a call fits a function: the one binder of argument shapes to parameters."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kvlint.catalogue.model import Parameter


@dataclass(frozen=True, slots=True)
class Shape:
    """The arguments of a call, without their values.

    `star`: an unknown number of further positional arguments (`*args`); `double_star`: unknown
    further keywords (`**kwargs`).
    """

    positional: int = 0
    keywords: tuple[str, ...] = ()
    star: bool = False
    double_star: bool = False

    def __str__(self) -> str:
        parts = ["_"] * self.positional + ["*_"] * self.star
        parts += [f"{name}=_" for name in self.keywords] + ["**_"] * self.double_star
        return f"({', '.join(parts)})"


def shape_of(call: ast.Call) -> Shape:
    """The shape of a call as it is written."""
    starred = [index for index, one in enumerate(call.args) if isinstance(one, ast.Starred)]
    return Shape(
        positional=len(call.args) - len(starred),
        keywords=tuple(keyword.arg for keyword in call.keywords if keyword.arg is not None),
        star=bool(starred),
        double_star=any(keyword.arg is None for keyword in call.keywords),
    )


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call does not bind: what TypeError says."""

    reason: str
    parameter: str | None = None


def refusal(parameters: Sequence[Parameter], shape: Shape) -> Refusal | None:
    """Why Python refuses a call of that shape; None where it binds or may bind."""
    positional = [one for one in parameters if one.kind in ("positional-only", "positional")]
    takes_any = any(one.kind == "var-positional" for one in parameters)
    if shape.positional > len(positional) and not takes_any:
        count = len(positional)
        plural = "" if count == 1 else "s"
        given = f"{shape.positional} are given" if shape.positional != 1 else "1 is given"
        return Refusal(f"takes {count} positional argument{plural}, {given}")
    filled = {one.name for one in positional[: shape.positional]}
    named = {one.name for one in parameters if one.kind in ("positional", "keyword-only")}
    takes_names = any(one.kind == "var-keyword" for one in parameters)
    only = {one.name for one in positional if one.kind == "positional-only"}
    for name in shape.keywords:
        if name in filled and name not in only:
            return Refusal(f"gets `{name}` twice", name)
        if name not in named and not takes_names:
            return Refusal(f"has no parameter `{name}`", name)
    lacking = missing(parameters, shape)
    return Refusal(f"needs `{lacking[0]}`", lacking[0]) if lacking else None


def missing(parameters: Sequence[Parameter], shape: Shape) -> list[str]:
    """The parameters without a default that a call for certain leaves out."""
    positional = [one for one in parameters if one.kind in ("positional-only", "positional")]
    given = {one.name for one in positional[: shape.positional]} | set(shape.keywords)
    found: list[str] = []
    for one in parameters:
        if one.kind.startswith("var-") or one.has_default or one.name in given:
            continue
        if shape.double_star and one.kind != "positional-only":
            continue
        if shape.star and one in positional:
            continue
        found.append(one.name)
    return found


def slots(parameters: Sequence[Parameter], call: ast.Call) -> list[tuple[Parameter, ast.expr]]:
    """The parameter that each plain positional argument lands on, up to the first star."""
    positional = [one for one in parameters if one.kind in ("positional-only", "positional")]
    given: list[ast.expr] = []
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            break
        given.append(argument)
    return list(zip(positional, given, strict=False))
