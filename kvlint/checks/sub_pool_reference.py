"""Does code outside a pool keep a sub-pool in an attribute?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.checks.asked import Asked, finding
from kvlint.findings import Finding
from kvlint.inference.classes import is_pool_class
from kvlint.inference.pools import short


def check(asked: Asked) -> Iterator[Finding]:
    for rule in asked.rules:
        for use in asked.uses:
            if use.kind != "store-sub-pool":
                continue
            pools = asked.pools(use.value)
            if pools is None or not pools.owners:
                continue
            if use.cls is not None and is_pool_class(asked.ctx, use.cls):
                continue
            owner, attribute = pools.owners[0]
            kept = ast.unparse(use.node)
            message = f"`{kept}` keeps the sub-pool `{attribute}` of {short(owner)}"
            yield finding(asked, rule, use, pools, message, node=use.node)
