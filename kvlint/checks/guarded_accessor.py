"""Is an accessor called that only raises on what the receiver is?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvlint.catalogue.families import family_of
from kvlint.catalogue.resolve import ResolvedAccessor
from kvlint.checks.asked import WRITERS, Asked, finding, in_family, may_be_self
from kvlint.checks.given import may_be_given
from kvlint.findings import Finding, Fix, Suggestion
from kvlint.interpret.handlers import catches
from kvlint.interpret.names import called_name
from kvlint.interpret.pool_sets import Certainty, PoolSet, certainty, names, short
from kvlint.interpret.uses import Use
from kvlint.rules.rule import Rule

HARMLESS = frozenset(["final", "dataclass", "runtime_checkable", "total_ordering"])
PLAIN_BASES = frozenset(["object", "abc.ABC", "ABC", "typing.Generic", "typing.Protocol"])
WHY = {
    "single-kv": "which keeps K and V in one buffer",
    "k-only": "which stores no V",
    "no-op": "which may never be written",
}


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        if use.kind == "access" and use.call is not None:
            yield from _called(asked, use)


def _called(asked: Asked, use: Use) -> Iterator[Finding]:
    pools = asked.contracts(use)
    if pools is None:
        return
    sure = certainty(pools, lambda cls: _refuses(asked, cls, use))
    if sure is None:
        return
    guarding = sorted(cls for cls in pools.classes if guards(asked, cls, use.name))
    accessor = asked.view.accessor(_shown(pools, guarding), use.name)
    if catches(use.caught, accessor.exception or "Exception"):
        return
    if use.through_super and accessor.guarded_by != f"{accessor.defining_class}.{use.name}":
        return  # it calls another method of self, which the subclass may define
    if may_be_given(asked, pools, use.name) or _is_hook(asked, use, pools, accessor):
        return
    if sure == "likely" and pools.owners:
        # In its owner's family the code may know more; outside, writing it at all is KV202's.
        owners = [owner for owner, _ in pools.owners]
        if in_family(asked, use.cls, owners) or use.name.startswith(WRITERS):
            return
    declared = [part.declared for part in pools.parts if part.declared in guarding]
    rule = rule_for(asked, declared or guarding, use.name)
    if rule is None:
        return
    family = rule.parameters.get("family", "")
    message = _message(use, pools, guarding, sure)
    if sure == "certain" and family in WHY:
        message = f"{message}, {WHY[family]}"
    fix, suggestions = _fix(asked, use, pools, family) if sure == "certain" else (None, ())
    yield finding(
        asked,
        rule,
        use,
        pools,
        message,
        certainty=sure,
        raises=raised(accessor),
        fix=fix,
        suggestions=suggestions,
    )


def _refuses(asked: Asked, cls: str, use: Use) -> bool:
    """Whether a class guards the accessor, under every name that it can be used by here."""
    if not guards(asked, cls, use.name):
        return False
    return not use.others or all(guards(asked, cls, name) for name in use.others)


def _is_hook(asked: Asked, use: Use, pools: PoolSet, accessor: ResolvedAccessor) -> bool:
    """A method that the project's class calls on itself and leaves to its subclasses."""
    if use.through_super or not may_be_self(use):
        return False
    if all(part.declared != use.cls for part in pools.parts):
        return False
    if any(not guards(asked, cls, use.name) for cls in pools.classes):
        return True
    written_here = accessor.defining_class in asked.ctx.classes
    return written_here and not any(_is_made(asked, cls) for cls in pools.classes)


def _is_made(asked: Asked, cls: str) -> bool:
    """Whether there are objects of a class of the project, so that nobody is left to fill in what
    it only raises for: the module calls it, or it is one of SGLang's own that nothing extends."""
    if not asked.view.concrete(cls):
        return False
    if cls.startswith("sglang.") and asked.view.subclasses(cls) == {cls}:
        return True
    text = asked.module.source.text
    return re.search(rf"(?<!class )\b{re.escape(short(cls))}\(", text) is not None


def guards(asked: Asked, cls: str, name: str) -> bool:
    """Whether every call raises. An abstract method of a class nobody can instantiate says
    nothing: a subclass will define it."""
    accessor = asked.view.accessor(cls, name)
    if accessor.kind != "guard" or accessor.is_property or _is_hidden(asked, cls, accessor):
        return False
    abstract = accessor.method is not None and accessor.method.kind == "abstract"
    return not abstract or asked.view.concrete(cls)


def _is_hidden(asked: Asked, cls: str, accessor: ResolvedAccessor) -> bool:
    """Whether something nothing is known about may stand in front of the guard: a base from a
    module that is not at hand, or a decorator that may put methods into the class."""
    for base in asked.view.mro(cls):
        info = asked.ctx.classes.get(base)
        if info is not None and not set(map(called_name, info.node.decorator_list)) <= HARMLESS:
            return True
        if base == accessor.defining_class:
            return False
        if base not in asked.view.catalogue.classes and base not in PLAIN_BASES:
            return True
    return False


def _shown(pools: PoolSet, guarding: list[str]) -> str:
    declared = [part.declared for part in pools.parts if part.declared in guarding]
    return declared[0] if declared else guarding[0]


def _message(use: Use, pools: PoolSet, guarding: list[str], sure: Certainty) -> str:
    if sure == "certain":
        return f"`{use.name}` always raises on {names(pools)}"
    found = sorted({short(cls) for cls in guarding})
    shown = " and ".join(found[:2]) + (f" and {len(found) - 2} more" if len(found) > 2 else "")
    count = len(pools.classes)
    return (
        f"`{use.name}` raises on {shown}, {len(guarding)} of the {count} classes it may meet here"
    )


def rule_for(asked: Asked, guarding: list[str], name: str) -> Rule | None:
    """The rule that takes this accessor on these classes: a special one, else the general one.
    None where that rule is not selected."""
    every = [rule for rule in asked.every_rule if rule.check == "guarded_accessor"]
    special = [rule for rule in every if not rule.parameters.get("rest")]
    taken = next((rule for rule in special if _takes(asked, rule, guarding, name)), None)
    if taken is None:
        taken = next((rule for rule in every if rule.parameters.get("rest")), None)
    return taken if taken is not None and taken in asked.rules else None


def _takes(asked: Asked, rule: Rule, guarding: list[str], name: str) -> bool:
    if name not in rule.parameters.get("accessors", ()):
        return False
    classes = rule.parameters.get("classes")
    if classes is not None:
        return all(short(cls) in classes or cls in classes for cls in guarding)
    family = rule.parameters.get("family")
    return family is None or all(_family(asked, cls, name) == family for cls in guarding)


def _family(asked: Asked, cls: str, name: str) -> str | None:
    """The family of the SGLang class that guards: a project's own guard is of none."""
    guarded_by = asked.view.accessor(cls, name).guarded_by
    guarding = guarded_by.rpartition(".")[0] if guarded_by is not None else cls
    if guarding in asked.ctx.classes:
        return None
    return family_of(asked.view, guarding) or family_of(asked.view, cls)


def raised(accessor: ResolvedAccessor) -> str:
    """`NotImplementedError: Use get_key_buffer instead.`"""
    exception = accessor.exception or "an exception"
    return f"{exception}: {accessor.message}" if accessor.message else exception


def _fix(
    asked: Asked, use: Use, pools: PoolSet, family: str
) -> tuple[Fix | None, tuple[Suggestion, ...]]:
    from kvlint.fixing import k_only, single_kv

    call = use.call
    if call is None or use.through_super or not isinstance(call.func, ast.Attribute):
        return None, ()
    source, tree = asked.module.source, asked.module.tree
    if family == "single-kv" and use.name == "get_kv_buffer":
        receiver = ast.unparse(use.receiver)
        others = single_kv.alternatives(source, tree, call, receiver)
        return single_kv.fix_pair_read(source, tree, call), others
    if family == "single-kv" and use.name == "get_value_buffer":
        receiver = ast.unparse(use.receiver)
        others = single_kv.alternatives(source, tree, call, receiver)
        return single_kv.fix_value_read(source, tree, call), others
    if family == "k-only":
        owner = _index_owner(asked, use, pools)
        parameters = asked.view.accessor(owner, "set_index_k_buffer").parameters if owner else ()
        fix = k_only.fix_k_only_write(source, tree, call, owner is not None, parameters)
        return fix, k_only.alternatives(source, tree, call, ast.unparse(use.receiver))
    return None, ()


def _index_owner(asked: Asked, use: Use, pools: PoolSet) -> str | None:
    """The parent whose `set_index_k_buffer` writes this sub-pool, where the call names it."""
    if not isinstance(use.receiver, ast.Attribute) or len(pools.owners) == 0:
        return None
    for owner, attribute in pools.owners:
        works = asked.view.accessor(owner, "set_index_k_buffer").kind in ("works", "conditional")
        if attribute != use.receiver.attr or not works:
            return None
    return pools.owners[0][0]
