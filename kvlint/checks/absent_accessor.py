"""Is a method or attribute used that none of the receiver's classes has?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from kvlint.catalogue.embed import embedded_versions, load_embedded
from kvlint.checks.asked import Asked, finding
from kvlint.checks.given import may_be_given
from kvlint.findings import Finding
from kvlint.interpret.handlers import catches
from kvlint.interpret.pool_sets import PoolSet, names
from kvlint.interpret.uses import Use


def check(asked: Asked) -> Iterator[Finding]:
    if asked.view.catalogue.partial and asked.module.name.startswith("sglang."):
        return  # SGLang's own code was written for its own pools, which are not those known
    for rule in asked.rules:
        for use in asked.uses:
            if use.kind != "access" or use.through_super or use.name in use.probed:
                continue
            pools = asked.contracts(use)
            if pools is None or _says_nothing(asked, pools) or not _absent(asked, use, pools):
                continue
            kind = "method" if use.call is not None else "attribute"
            message = f"{names(pools)} has no {kind} `{use.name}`"
            raises = f"AttributeError: '{_one(pools)}' object has no attribute '{use.name}'"
            yield finding(
                asked,
                rule,
                use,
                pools,
                message,
                node=use.node,
                raises=raises,
                remedy=_remedy(asked, use, pools, rule.remedy),
            )


def _says_nothing(asked: Asked, pools: PoolSet) -> bool:
    """Whether nothing is said but that it is some pool, or some allocator. Other abstract classes
    stand for the few that implement them."""
    classes = asked.view.catalogue.classes
    return any(
        part.broad and asked.view.family(classes[part.declared].bases) is None
        for part in pools.parts
    )


def _absent(asked: Asked, use: Use, pools: PoolSet) -> bool:
    if use.name.startswith("__") or catches(use.caught, "AttributeError"):
        return False
    if any(asked.view.has_attribute(cls, use.name) is not False for cls in pools.classes):
        return False
    if may_be_given(asked, pools, use.name):
        return False
    return all(_is_told(asked, cls, use.name) for cls in pools.classes)


def _is_told(asked: Asked, cls: str, name: str) -> bool:
    """Of a holder (a batch, a model runner), on which anybody keeps things, only attributes count
    that it has in another release: those have gone, or have not come yet."""
    if asked.view.family([cls]) != "holder":
        return True
    short = cls.rpartition(".")[2]
    return any(
        name in own.class_attributes
        for version in embedded_versions()
        for own in load_embedded(version).classes.values()
        if own.family == "holder" and own.name == short
    )


def _one(pools: PoolSet) -> str:
    return sorted(part.declared.rpartition(".")[2] for part in pools.parts)[0]


def _remedy(asked: Asked, use: Use, pools: PoolSet, remedy: str) -> str:
    """Name what a person may have meant: a close name, or the parent or sub-pool that has it."""
    declared = pools.parts[0].declared
    holders = [
        f"`{attribute}`"
        for attribute, classes in asked.view.sub_pools(declared).items()
        if classes and all(asked.view.has_attribute(cls, use.name) for cls in classes)
    ]
    if holders:
        return f"Its sub-pool {' and '.join(sorted(holders)[:3])} has it. {remedy}"
    parents = {
        parent.rpartition(".")[2]
        for parent, _ in asked.view.parents_of(declared)
        if asked.view.has_attribute(parent, use.name)
    }
    if parents:
        return f"Its parent {' or '.join(sorted(parents)[:2])} has it. {remedy}"
    close = difflib.get_close_matches(use.name, _offered(asked, declared), 1, 0.8)
    return f"Did you mean `{close[0]}`? {remedy}" if close else remedy


def _offered(asked: Asked, cls: str) -> list[str]:
    found = set(asked.view.constructor_attributes(cls))
    for own in asked.view.known_mro(cls):
        found |= set(own.methods) | set(own.class_attributes)
    return sorted(name for name in found if not name.startswith("_"))
