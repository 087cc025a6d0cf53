"""Is a sub-pool written from outside its parent's family?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.checks.asked import WRITERS, Asked, finding, in_family
from kvlint.checks.guarded_accessor import guards
from kvlint.findings import Finding, Fix
from kvlint.interpret.pool_sets import PoolSet, certainty, short
from kvlint.interpret.uses import Use


def check(asked: Asked) -> Iterator[Finding]:
    for rule in asked.rules:
        for use in asked.uses:
            if use.kind != "access" or use.call is None or not use.name.startswith(WRITERS):
                continue
            pools = asked.pools(use)
            if pools is None or not pools.owners or not _is_accessor(asked, use, pools):
                continue
            if in_family(asked, use.cls, [owner for owner, _ in pools.owners]):
                continue
            owner, attribute = pools.owners[0]
            message = (
                f"`{use.name}` writes the sub-pool `{attribute}` past its parent {short(owner)}"
            )
            fix = _fix(asked, use, pools)
            yield finding(asked, rule, use, pools, message, fix=fix)


def _is_accessor(asked: Asked, use: Use, pools: PoolSet) -> bool:
    """A writer of KV that can work there: one that always raises is another rule's."""
    if use.name not in asked.view.accessor_names():
        return False
    return certainty(pools, lambda cls: guards(asked, cls, use.name)) != "certain"


def _fix(asked: Asked, use: Use, pools: PoolSet) -> Fix | None:
    """The parent's writer of the same name, where every parent has one that works."""
    from kvlint.fixing.sub_pool import fix_sub_pool_write

    named = isinstance(use.receiver, ast.Attribute) and all(
        use.receiver.attr == attribute for _, attribute in pools.owners
    )
    works = all(
        asked.view.accessor(owner, use.name).kind in ("works", "conditional")
        and asked.view.has_attribute(owner, use.name)
        for owner, _ in pools.owners
    )
    if not named or not works or use.call is None:
        return None
    return fix_sub_pool_write(asked.module.source, asked.module.tree, use.call, use.name)
