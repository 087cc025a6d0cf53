"""Does a method refuse a call that SGLang makes on the class it overrides?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvlint.catalogue.binding import Refusal, refusal
from kvlint.catalogue.demands import Demand
from kvlint.catalogue.model import Method, PoolClass
from kvlint.checks.asked import Asked, found_at
from kvlint.findings import Evidence, Finding
from kvlint.fixing.parameters import fix_override
from kvlint.interpret.classes import ClassInfo
from kvlint.interpret.pool_sets import short


def check(asked: Asked) -> Iterator[Finding]:
    for info in asked.classes:
        own = asked.view.catalogue.classes[info.qualname]
        for method in own.methods.values():
            node = _definition(info, method)
            if node is not None:
                yield from _overriding(asked, info, own, method, node)


def _definition(info: ClassInfo, method: Method) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The `def` of a method that can be judged by its parameters."""
    if method.name.startswith("__") or method.is_property or method.alias is not None:
        return None
    for member in reversed(info.members.get(method.name, [])):
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return member
    return None


def _overriding(
    asked: Asked,
    info: ClassInfo,
    own: PoolClass,
    method: Method,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[Finding]:
    view = asked.view
    base = view.find(own.qualname, method.name, after=own.qualname)
    overridden = base.methods.get(method.name) if base is not None else None
    if base is None or overridden is None or overridden.is_property or overridden.wrapped:
        return
    refused = _refused(asked, own, method, base, overridden)
    if refused is None:
        return
    demand, reason = refused
    mild = method.kind == "guard" or method.wrapped or demand.by_name
    call = f"{method.name}{demand.shape}"
    place = Evidence(f"SGLang calls `{call}` at {demand.path}:{demand.line}")
    what = Evidence(
        f"`{info.name}.{method.name}` overrides the one of {short(base.qualname)}",
        asked.module.path,
        node.lineno,
    )
    for rule in asked.rules:
        yield found_at(
            asked,
            rule,
            node,
            node,
            f"`{info.name}.{method.name}` refuses a call that SGLang makes: it {reason.reason}",
            at_most="warning" if mild else "error",
            evidence=(what, place),
            raises=f"TypeError: {info.name}.{method.name}() {reason.reason}",
            fix=fix_override(asked.module.source, node, method.parameters, overridden.parameters),
            classes=(own.qualname,),
            accessor=method.name,
        )


def _refused(
    asked: Asked, own: PoolClass, method: Method, base: PoolClass, overridden: Method
) -> tuple[Demand, Refusal] | None:
    """A call that the overridden method takes and this one does not; one on a receiver that is
    known goes before one whose name alone says what it is."""
    ancestors = asked.view.mro(own.qualname)[1:]
    calls = [one for one in asked.demands(method.name) if one.meets(ancestors)]
    special = _only_in_slot(asked, own) or _has_callers_of_its_own(method, overridden, calls)
    found: tuple[Demand, Refusal] | None = None
    for demand in calls:
        if refusal(overridden.parameters, demand.shape) is not None:
            continue
        if (special or _takes_any_number(method)) and _is_broad(asked, demand):
            continue
        if demand.by_name and base.qualname in {cls for cls, _ in demand.receivers}:
            # What is only named like an allocator may be of a narrower class than the family's
            # root: its other classes need not take what one of them is called with.
            continue
        reason = refusal(method.parameters, demand.shape)
        if reason is not None and not demand.by_name:
            return demand, reason
        found = found or ((demand, reason) if reason is not None else None)
    return found


def _takes_any_number(method: Method) -> bool:
    """`*args`: written to take whatever comes, as far as it was known."""
    return any(one.kind == "var-positional" for one in method.parameters)


def _has_callers_of_its_own(method: Method, overridden: Method, calls: Sequence[Demand]) -> bool:
    """Whether SGLang calls the method by parameters that the overridden one does not know: those
    callers mean classes like this one, and others do not meet it."""
    own = {one.name for one in method.parameters} - {one.name for one in overridden.parameters}
    return any(own & set(demand.shape.keywords) for demand in calls)


def _is_broad(asked: Asked, demand: Demand) -> bool:
    """Whether the call is made on any pool at all."""
    return all(asked.view.is_broad(cls) for cls, _ in demand.receivers)


def _only_in_slot(asked: Asked, own: PoolClass) -> bool:
    """A pool of SGLang's that only other pools construct: nobody calls it as the server's pool."""
    if not own.qualname.startswith("sglang.") or not asked.view.parents_of(own.qualname):
        return False
    made = [
        demand
        for demand in asked.demands("__init__")
        if any(cls == own.qualname for cls, _ in demand.receivers)
    ]
    parents = asked.view.catalogue.classes
    return all(one.within in parents and parents[one.within].is_pool for one in made)
