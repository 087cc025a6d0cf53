"""Is a pool taken for a class because of a flag, or because of what another object is?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvlint.checks.asked import Asked, finding
from kvlint.checks.given import may_be_given
from kvlint.findings import Finding
from kvlint.fixing.places import path_to
from kvlint.interpret.handlers import catches
from kvlint.interpret.pool_sets import PoolSet, short
from kvlint.interpret.uses import Use
from kvlint.rules.rule import Rule


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        if use.kind != "access" or not (use.flags or use.beside) or use.name in use.probed:
            continue
        pools = asked.pools(use)
        if pools is None or catches(use.caught, "AttributeError"):
            continue
        if use.name.startswith("__"):
            continue
        for rule in asked.rules:
            by = _by_flag if rule.parameters.get("by") == "flag" else _by_other
            found = list(by(asked, rule, use, pools))
            if found and not may_be_given(asked, pools, use.name):
                yield from found


def _by_flag(asked: Asked, rule: Rule, use: Use, pools: PoolSet) -> Iterator[Finding]:
    view = asked.view
    for flag in sorted(use.flags - {use.name}):
        lacking = sorted(
            cls
            for cls in pools.classes
            if view.constant_flag(cls, flag) is True and view.has_attribute(cls, use.name) is False
        )
        if lacking and len(pools.classes) > 1:
            message = f"`{flag}` is true of {short(lacking[0])} too, which has no `{use.name}`"
            raises = _raises(lacking[0], use.name)
            yield finding(
                asked, rule, use, pools, message, at_most="warning", node=use.node, raises=raises
            )
            return


def _by_other(asked: Asked, rule: Rule, use: Use, pools: PoolSet) -> Iterator[Finding]:
    if not pools.broad or use.flags or any(part.owner for part in pools.parts):
        return
    view = asked.view
    roots = [part.declared for part in pools.parts]
    if any(view.has_attribute(root, use.name) is not False for root in roots):
        return
    having = [cls for cls in pools.classes if view.has_attribute(cls, use.name)]
    lacking = sorted(cls for cls in pools.classes if view.has_attribute(cls, use.name) is False)
    tested = _tested_allocator(asked, use)
    if tested is None or not having or not lacking:
        return
    given = ast.unparse(use.call).partition("(")[2] if use.call is not None else ""
    if tested[0] in given:
        return  # it hands the pool something of the allocator: they are known to belong together
    path, cls = tested
    message = (
        f"`{path}` is known to be {short(cls)}, but `{ast.unparse(use.receiver)}` may be any"
        f" pool: {short(lacking[0])} has no `{use.name}`"
    )
    raises = _raises(lacking[0], use.name)
    node = _test_around(asked, use, path) or use.node
    yield finding(asked, rule, use, pools, message, at_most="warning", node=node, raises=raises)


def _test_around(asked: Asked, use: Use, path: str) -> ast.expr | None:
    """The `isinstance(allocator, ...)` of the `if` around the use: what has to be another test."""
    for node in reversed(path_to(asked.module.tree, use.node)):
        for call in ast.walk(node.test) if isinstance(node, (ast.If, ast.IfExp)) else ():
            if isinstance(call, ast.Call) and call.args and ast.unparse(call.args[0]) == path:
                return call
    return None


def _raises(cls: str, name: str) -> str:
    return f"AttributeError: '{short(cls)}' object has no attribute '{name}'"


def _tested_allocator(asked: Asked, use: Use) -> tuple[str, str] | None:
    """The allocator whose class the code has asked for, where the pool is not taken from it."""
    receiver = ast.unparse(use.receiver)
    found: tuple[str, str] | None = None
    for path, cls in use.beside:
        own = asked.view.catalogue.classes.get(cls)
        if path == receiver:
            return None
        if own is not None and own.family == "allocator":
            if receiver.startswith(f"{path}.") or _taken_from(asked, receiver, path):
                return None
            found = (path, cls)
    return found


def _taken_from(asked: Asked, receiver: str, path: str) -> bool:
    """Whether the module assigns the receiver from something of the allocator."""
    last, holder = (re.escape(text.rpartition(".")[2]) for text in (receiver, path))
    assigned = rf"\b{last}\b[ \t]*(:[^=\n]+)?=[^\n,]*\b{holder}\b[ \t]*\."
    return re.search(assigned, asked.module.source.text) is not None
