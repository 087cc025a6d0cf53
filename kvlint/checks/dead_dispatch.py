"""Does a test for a class come after one that has taken every object of it?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.checks.asked import Asked, found_at
from kvlint.findings import Evidence, Finding
from kvlint.interpret.pool_sets import short
from kvlint.interpret.uses import Use
from kvlint.interpret.values import ClassObject


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        if use.kind != "dead-test" or _is_alternative(use):
            continue
        classes = sorted(a.cls for a in use.value.atoms or () if isinstance(a, ClassObject))
        named = " or ".join(short(cls) for cls in classes)
        subject = ast.unparse(use.receiver)
        bases = sorted({short(base) for cls in classes for base in asked.view.mro(cls)[1:2]})
        text = f"{named} derives from {' and '.join(bases)}, and an earlier test has taken it"
        for rule in asked.rules:
            yield found_at(
                asked,
                rule,
                use.node,
                use.statement,
                f"`{subject}` is never {named} here: an earlier test takes every one of them",
                evidence=(Evidence(text),),
                raises="Nothing: this branch never runs",
                classes=classes,
            )


def _is_alternative(use: Use) -> bool:
    """`isinstance(p, A) or isinstance(p, B)`: one condition that says the same twice, no branch
    that never runs."""
    for node in ast.walk(use.statement):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            for operand in node.values[1:]:
                if any(inner is use.node for inner in ast.walk(operand)):
                    return any(_asks(one, use) for one in node.values)
    return False


def _asks(operand: ast.expr, use: Use) -> bool:
    subject = ast.dump(use.receiver)
    return any(
        isinstance(node, ast.Call) and node.args and ast.dump(node.args[0]) == subject
        for node in ast.walk(operand)
        if node is not use.node
    )
