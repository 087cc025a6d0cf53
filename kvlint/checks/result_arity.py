"""Is a result of SGLang's taken apart into another number of names than it has parts?"""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.checks.asked import Asked, found_at
from kvlint.findings import Evidence, Finding
from kvlint.interpret.handlers import catches
from kvlint.interpret.pool_sets import short
from kvlint.interpret.values import Items


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        if use.kind != "unpack" or any(catches(use.caught, one) for one in _CAUGHT):
            continue
        parts = {len(atom.items) for atom in use.value.atoms or () if isinstance(atom, Items)}
        given = " or ".join(map(str, sorted(parts)))
        name = short(use.name)
        many = "many" if use.count < min(parts) else "few"
        raises = f"ValueError: {'too' if many == 'many' else 'not enough'} values to unpack"
        if many == "many":
            raises = f"ValueError: too many values to unpack (expected {use.count})"
        for rule in asked.rules:
            yield found_at(
                asked,
                rule,
                use.node,
                use.statement,
                f"`{name}` gives {given} parts, which are taken apart into {use.count} names",
                evidence=use.value.evidence or (Evidence(f"`{name}` always gives {given} parts"),),
                raises=raises,
                accessor=name,
            )


_CAUGHT = ("ValueError", "TypeError")
"""A test that expects TypeError expects the call itself to fail."""
