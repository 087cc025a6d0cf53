"""Sub-pools: the attributes by which a pool owns other pools, with the classes they can hold."""

from __future__ import annotations

from dataclasses import replace

from kvlint.catalogue.held import Evaluator, Values
from kvlint.catalogue.model import PoolClass

SubPools = dict[str, tuple[str, ...]]


def with_sub_pools(evaluator: Evaluator) -> dict[str, PoolClass]:
    """The facts with sub-pools. A class that inherits an attribute names it again only where its
    set differs from the one of the base, as when it overrides a factory or passes other classes.
    """
    found: dict[str, PoolClass] = {}
    resolved = {qualname: _sub_pools(evaluator, qualname) for qualname in evaluator.classes.facts}
    for qualname, own in evaluator.classes.facts.items():
        inherited: SubPools = {}
        for base in reversed(evaluator.view.mro(qualname)[1:]):
            inherited.update(resolved.get(base, {}))
        news = {k: v for k, v in resolved[qualname].items() if inherited.get(k) != v}
        found[qualname] = replace(own, sub_pools=news)
    return found


def _sub_pools(evaluator: Evaluator, qualname: str) -> SubPools:
    found: SubPools = {}
    for name in _names(evaluator, qualname):
        values = evaluator.attribute(qualname, name)
        pools = _classes(values, "pool")
        elements = _classes(values, "many")
        if pools:
            found[name] = pools
        if elements:
            found[f"{name}[]"] = elements
    return dict(sorted(found.items()))


def _names(evaluator: Evaluator, qualname: str) -> list[str]:
    """Attributes and properties of an instance, in the order of the MRO."""
    names: dict[str, None] = {}
    for own in evaluator.view.known_mro(qualname):
        names.update(dict.fromkeys((*own.declared_attributes, *own.class_attributes)))
        for method in own.methods.values():
            names.update(dict.fromkeys(method.assigns))
            if method.is_property:
                names[method.name] = None
    return list(names)


def _classes(values: Values, form: str) -> tuple[str, ...]:
    return tuple(sorted(value.name for value in values if value.form == form))
