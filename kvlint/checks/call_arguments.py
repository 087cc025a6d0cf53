"""Is a method or function called with arguments that nothing it can be accepts?"""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.catalogue.binding import Refusal, refusal
from kvlint.checks.asked import Asked, finding, found_at
from kvlint.checks.given import may_be_given
from kvlint.findings import Evidence, Finding
from kvlint.interpret.handlers import catches
from kvlint.interpret.pool_sets import PoolSet, short
from kvlint.interpret.uses import Use


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        if use.call is None or catches(use.caught, "TypeError"):
            continue
        if use.kind == "access" and not use.name.startswith("__"):
            yield from _method(asked, use)
        elif use.kind == "function":
            yield from _function(asked, use)


def _method(asked: Asked, use: Use) -> Iterator[Finding]:
    pools = asked.contracts(use)
    if pools is None or pools.broad:
        return
    refused = _refusals(asked, use, pools)
    if not refused or may_be_given(asked, pools, use.name):
        return
    declared = [part.declared for part in pools.parts if part.declared in refused]
    cls = declared[0] if declared else sorted(refused)[0]
    reason = refused[cls]
    more = ", nor does any other class that it can be" if len(pools.classes) > 1 else ""
    for rule in asked.rules:
        yield finding(
            asked,
            rule,
            use,
            pools,
            f"`{short(cls)}.{use.name}` does not accept this call: it {reason.reason}{more}",
            raises=f"TypeError: {short(cls)}.{use.name}() {reason.reason}",
        )


def _refusals(asked: Asked, use: Use, pools: PoolSet) -> dict[str, Refusal]:
    """The classes whose parameters refuse; none where some class may accept the call. One that
    only raises, or has no such method, does not accept it either."""
    found: dict[str, Refusal] = {}
    for cls in pools.classes:
        accessor = asked.view.accessor(cls, use.name)
        if accessor.kind == "absent":
            continue
        method = accessor.method
        if method is None or method.is_property or method.wrapped or method.alias is not None:
            return {}
        if asked.view.may_be_rebound(cls, use.name):
            return {}
        if accessor.kind == "guard":
            continue
        reason = refusal(method.parameters, use.shape)
        if reason is None:
            return {}
        found[cls] = reason
    return found


def _function(asked: Asked, use: Use) -> Iterator[Finding]:
    function = asked.view.catalogue.functions[use.name]
    if use.call is None or function.wrapped:
        return
    reason = refusal(function.parameters, use.shape)
    if reason is None:
        return
    for rule in asked.rules:
        yield found_at(
            asked,
            rule,
            use.call,
            use.statement,
            f"`{function.name}` does not accept this call: it {reason.reason}",
            evidence=(Evidence(f"`{use.name}` as this release defines it"),),
            raises=f"TypeError: {function.name}() {reason.reason}",
            accessor=function.name,
        )
