"""Does a class put in the place of one of SGLang's refuse what SGLang constructs it with?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.catalogue.binding import refusal
from kvlint.checks.asked import Asked, found_at
from kvlint.checks.constructor_arguments import constructor
from kvlint.findings import Evidence, Finding
from kvlint.interpret.pool_sets import short
from kvlint.interpret.uses import Use
from kvlint.interpret.values import ClassObject, only


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        cls = only(use.value) if use.kind == "replace-class" else None
        if isinstance(cls, ClassObject) and cls.exact:
            yield from _replacing(asked, use, cls.cls)


def _replacing(asked: Asked, use: Use, cls: str) -> Iterator[Finding]:
    method = constructor(asked.view, cls)
    replaced = constructor(asked.view, use.name)
    if method is None or replaced is None or method is replaced:
        return
    for demand in asked.demands("__init__"):
        if all(name != use.name for name, _ in demand.receivers):
            continue
        reason = refusal(method.parameters, demand.shape)
        if reason is None or refusal(replaced.parameters, demand.shape) is not None:
            continue
        place = Evidence(f"SGLang constructs it at {demand.path}:{demand.line}")
        put = Evidence(
            f"`{ast.unparse(use.node)}` becomes {short(cls)}", asked.module.path, use.node.lineno
        )
        node, statement = _where(asked, use, cls)
        for rule in asked.rules:
            yield found_at(
                asked,
                rule,
                node,
                statement,
                f"{short(cls)} takes the place of {short(use.name)}, and its constructor"
                f" {reason.reason}",
                evidence=(put, place),
                raises=f"TypeError: {short(cls)}.__init__() {reason.reason}",
                classes=(cls,),
                accessor="__init__",
            )
        return


def _where(asked: Asked, use: Use, cls: str) -> tuple[ast.expr | ast.stmt, ast.stmt]:
    """The constructor where it stands in this module: that is what has to change."""
    info = asked.ctx.classes.get(cls)
    members = info.members.get("__init__", []) if info is not None else []
    if info is not None and info.module is asked.module and members:
        return members[-1], members[-1]
    return use.node, use.statement
