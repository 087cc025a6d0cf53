"""Is a pool's storage written from outside the pool's family?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.catalogue.families import family_of
from kvlint.checks.asked import Asked, finding, in_family
from kvlint.findings import Finding, Severity
from kvlint.interpret.pool_sets import PoolSet, names
from kvlint.interpret.uses import Use
from kvlint.interpret.values import Buffer, join

WHOLE = frozenset(["zero_", "fill_", "copy_", "add_", "mul_", "sub_", "div_"])


def check(asked: Asked) -> Iterator[Finding]:
    for rule in asked.rules:
        for use in asked.uses:
            if use.kind not in ("store-buffer", "pass-buffer"):
                continue
            buffers = [atom for atom in use.value.atoms or () if isinstance(atom, Buffer)]
            pools = asked.pools(use, join(buffer.pool for buffer in buffers))
            if pools is None or _at_home(asked, use, pools):
                continue
            at_most = _limit(use, buffers)
            if use.kind == "pass-buffer":
                message = f"`{_target(use)}` of {names(pools)} is handed to a kernel as it is"
            elif all(buffer.raw for buffer in buffers):
                message = f"`{_target(use)}` is written past {names(pools)}"
            elif all(family_of(asked.view, cls) == "no-op" for cls in pools.classes):
                message = f"`{use.name}` of {names(pools)} is a placeholder, and is written here"
            else:
                continue
            node = use.node if use.kind == "pass-buffer" else use.call or use.node
            yield finding(asked, rule, use, pools, message, at_most=at_most, node=node)


def _limit(use: Use, buffers: list[Buffer]) -> Severity:
    """A kernel may only read what it is handed: that is worth a hint."""
    if use.kind == "pass-buffer":
        return "hint"
    return "error" if _chooses_rows(use, buffers) else "warning"


def _chooses_rows(use: Use, buffers: list[Buffer]) -> bool:
    """Whether single rows are written. Filling or replacing a whole layer skips no translation of
    locations: tests and resets do it."""
    if use.call is not None:
        name = use.call.func.attr if isinstance(use.call.func, ast.Attribute) else ""
        return name not in WHOLE or _is_row(use.receiver)
    if isinstance(use.node, ast.Subscript):
        return all(b.tensor for b in buffers) and not _is_everything(use.node.slice)
    return False


def _is_row(receiver: ast.expr) -> bool:
    """`pool.k_buffer[layer][3:5]`: the innermost subscript of the raw list chooses the layer."""
    return (
        isinstance(receiver, ast.Subscript)
        and isinstance(receiver.value, ast.Subscript)
        and not _is_everything(receiver.slice)
    )


def _is_everything(index: ast.expr) -> bool:
    if isinstance(index, ast.Constant):
        return index.value is Ellipsis
    return isinstance(index, ast.Slice) and (index.lower, index.upper, index.step) == (None,) * 3


def _target(use: Use) -> str:
    return ast.unparse(use.receiver)


def _at_home(asked: Asked, use: Use, pools: PoolSet) -> bool:
    """In a class of the pool's family or of its parents', or in the module that defines it."""
    relatives = [*pools.classes, *(owner for owner, _ in pools.owners)]
    if in_family(asked, use.cls, relatives):
        return True
    defining = {asked.view.catalogue.classes[cls].module for cls in pools.classes}
    return asked.module.name in defining
