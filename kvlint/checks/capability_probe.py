"""Does `hasattr` stand for a test of what the pool supports?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.checks.asked import Asked, finding
from kvlint.checks.guarded_accessor import guards
from kvlint.findings import Finding
from kvlint.interpret.pool_sets import PoolSet, short
from kvlint.interpret.uses import Use


def check(asked: Asked) -> Iterator[Finding]:
    for rule in asked.rules:
        for use in asked.uses:
            pools = asked.pools(use) if use.kind == "hasattr" else None
            if pools is None:
                continue
            guarding = _guarding(asked, use, pools)
            if guarding:
                shown = ", ".join(sorted({short(cls) for cls in guarding})[:2])
                probe = ast.unparse(use.node)
                message = f"`{probe}` is always true, also for {shown}, where it raises"
                yield finding(asked, rule, use, pools, message, node=use.node)


def _guarding(asked: Asked, use: Use, pools: PoolSet) -> list[str]:
    """Classes on which the probe says yes and the call raises; empty unless it says yes on all."""
    if not all(asked.view.has_attribute(cls, use.name) for cls in pools.classes):
        return []
    return sorted(cls for cls in pools.classes if guards(asked, cls, use.name))
