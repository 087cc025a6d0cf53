"""Is a pool's storage written from outside the pool's family?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.catalogue.families import family_of
from kvlint.checks.asked import Asked, finding, in_family
from kvlint.findings import Finding
from kvlint.inference.pools import PoolSet, names
from kvlint.inference.uses import Use
from kvlint.inference.values import Buffer, join


def check(asked: Asked) -> Iterator[Finding]:
    for rule in asked.rules:
        for use in asked.uses:
            if use.kind != "store-buffer":
                continue
            buffers = [atom for atom in use.value.atoms or () if isinstance(atom, Buffer)]
            pools = asked.pools(use, join(buffer.pool for buffer in buffers))
            if pools is None or _at_home(asked, use, pools):
                continue
            if all(buffer.raw for buffer in buffers):
                message = f"`{_target(use)}` is written past {names(pools)}"
            elif all(family_of(asked.view, cls) == "no-op" for cls in pools.classes):
                message = f"`{use.name}` of {names(pools)} is a placeholder, and is written here"
            else:
                continue
            yield finding(asked, rule, use, pools, message, node=use.call or use.node)


def _target(use: Use) -> str:
    return ast.unparse(use.receiver)


def _at_home(asked: Asked, use: Use, pools: PoolSet) -> bool:
    """In a class of the pool's family or of its parents', or in the module that defines it."""
    relatives = [*pools.classes, *(owner for owner, _ in pools.owners)]
    if in_family(asked, use.cls, relatives):
        return True
    defining = {asked.view.catalogue.classes[cls].module for cls in pools.classes}
    return asked.module.name in defining
