"""Does a test for a class come after one that has taken every object of it?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.checks.asked import Asked, found_at
from kvlint.findings import Evidence, Finding
from kvlint.interpret.pool_sets import short
from kvlint.interpret.values import ClassObject


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        if use.kind != "dead-test":
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
