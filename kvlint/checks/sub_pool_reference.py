"""Does code outside a pool keep a sub-pool in an attribute?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvlint.checks.asked import Asked, finding
from kvlint.findings import Finding
from kvlint.interpret.classes import ancestors, is_pool_class
from kvlint.interpret.pool_sets import short

MANAGED = re.compile(r"^\.sglang\.srt\.(mem_cache|managers|disaggregation)\.")
MANAGERS = re.compile(r"(Allocator|HostPool|PoolHost|RadixCache|PrefixCache|TreeCache)")


def check(asked: Asked) -> Iterator[Finding]:
    for rule in asked.rules:
        for use in asked.uses:
            if use.kind != "store-sub-pool":
                continue
            pools = asked.pools(use)
            if pools is None or not pools.owners:
                continue
            if _is_infrastructure(asked, use.cls):
                continue
            owner, attribute = pools.owners[0]
            kept = ast.unparse(use.node)
            message = f"`{kept}` keeps the sub-pool `{attribute}` of {short(owner)}"
            yield finding(asked, rule, use, pools, message, node=use.node)


def _is_infrastructure(asked: Asked, cls: str | None) -> bool:
    """Pools, and what manages their memory, own sub-pools by design: allocators, host pools,
    prefix caches, and SGLang's packages that hold them."""
    if MANAGED.search(f".{asked.module.name}."):
        return True
    if cls is None:
        return False
    names = [short(base) for base in ancestors(asked.ctx, cls)]
    return is_pool_class(asked.ctx, cls) or any(MANAGERS.search(name) for name in names)
