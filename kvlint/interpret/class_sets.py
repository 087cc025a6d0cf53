"""Intersection and difference of what a value can be with the classes of a test or annotation."""

from __future__ import annotations

from dataclasses import replace

from kvlint.findings import Evidence
from kvlint.interpret.classes import is_contract_class, is_pool_class, is_subclass
from kvlint.interpret.context import Context
from kvlint.interpret.values import (
    UNKNOWN,
    Atom,
    ClassObject,
    Constant,
    Elements,
    External,
    Instance,
    Items,
    Mapping,
    Nothing,
    Value,
    value,
    without_none,
)


def class_tuple(classes: Value) -> list[str | None]:
    """The classes of an `isinstance` test, None for each that is not known."""
    if classes.atoms is None:
        return [None]
    names: list[str | None] = []
    for atom in classes.atoms:
        if isinstance(atom, ClassObject):
            names.append(atom.cls)
        elif isinstance(atom, Items):
            names += [name for item in atom.items for name in class_tuple(item)]
        elif isinstance(atom, Elements):
            names += class_tuple(atom.element)
        elif isinstance(atom, External) and atom.name.startswith("builtins."):
            names.append(atom.name)
        elif not isinstance(atom, Nothing):
            names.append(None)
    return names


def narrow_to(ctx: Context, known: Value, names: list[str | None], step: Evidence) -> Value:
    """Intersection with the classes of an `isinstance` that holds."""
    if None in names:
        return UNKNOWN
    wanted = [name for name in names if name is not None]
    if known.atoms is None:
        return Value(frozenset(Instance(name) for name in wanted), (step,))
    atoms: set[Atom] = set()
    for atom in known.atoms:
        if isinstance(atom, Instance):
            atoms |= {found for name in wanted for found in _meet(ctx, atom, name)}
        elif not isinstance(atom, (Nothing, Constant)):
            return UNKNOWN
    if frozenset(atoms) == known.atoms:
        return known
    return Value(frozenset(atoms), known.evidence).because(step)


def _meet(ctx: Context, atom: Instance, cls: str) -> list[Instance]:
    if is_subclass(ctx, atom.cls, cls):
        return [atom]
    if atom.exact:
        return []
    if is_subclass(ctx, cls, atom.cls):
        if any(is_subclass(ctx, cls, base) for base in atom.minus):
            return []
        minus = frozenset(m for m in atom.minus if is_subclass(ctx, m, cls))
        return [Instance(cls, False, minus, atom.owner)]
    if cls.startswith("sglang.") and not is_contract_class(ctx, cls):
        return [atom]  # a mixin of SGLang's: which of two modules gives it, an import decides
    common = ctx.view.subclasses(atom.cls) & ctx.view.subclasses(cls)
    return [Instance(name, owner=atom.owner) for name in sorted(common)]


def narrow_away(ctx: Context, known: Value, names: list[str | None]) -> Value:
    """Difference with the classes of an `isinstance` that fails."""
    if known.atoms is None:
        return UNKNOWN
    atoms: set[Atom] = set()
    for atom in known.atoms:
        kept: Instance | None = atom if isinstance(atom, Instance) else None
        if kept is None:
            atoms.add(atom)
            continue
        for name in names:
            if name is None or kept is None:
                continue
            if is_subclass(ctx, kept.cls, name):
                kept = None
            elif not kept.exact and is_subclass(ctx, name, kept.cls):
                kept = replace(kept, minus=kept.minus | {name})
            elif not kept.exact:
                common = ctx.view.subclasses(kept.cls) & ctx.view.subclasses(name)
                kept = replace(kept, minus=kept.minus | common)
        if kept is not None:
            atoms.add(kept)
    return Value(frozenset(atoms), known.evidence)


def meet(ctx: Context, declared: Value, found: Value) -> Value | None:
    """What is both declared and found; None where nothing can be.

    A declared class that is no pool (a protocol, `object`) says nothing against a pool, and an
    object is of the class that was called to make it, whatever its variable is annotated.
    """
    if found.atoms is None or not declared.known:
        return declared if found.atoms is None else found
    container = _met_container(ctx, declared, found)
    if container is not None:
        return container
    wanted = without_none(declared).atoms or frozenset()
    names = [atom.cls for atom in wanted if isinstance(atom, Instance)]
    if not names or len(names) < len(wanted) or not _are_objects(found):
        return found
    if not any(is_pool_class(ctx, name) for name in names):
        return found
    atoms: set[Atom] = set()
    for atom in found.atoms:
        if isinstance(atom, Instance):
            atoms |= {met for name in names for met in _meet(ctx, atom, name)}
        elif isinstance(atom, Nothing):
            atoms.add(atom)
    if frozenset(atoms) == found.atoms:
        return found
    if not any(isinstance(atom, Instance) for atom in atoms):
        made = all(isinstance(atom, Instance) and atom.exact for atom in found.atoms)
        return found if made else None
    met = Value(frozenset(atoms), found.evidence)
    for step in declared.evidence:
        met = met.because(step)
    return met


def _are_objects(found: Value) -> bool:
    return all(isinstance(atom, (Instance, Nothing)) for atom in found.atoms or ())


def _met_container(ctx: Context, declared: Value, found: Value) -> Value | None:
    """The meet of two lists or two dicts; None where they are no such pair."""
    wanted, held = without_none(declared).atoms or (), without_none(found).atoms or ()
    if len(wanted) != 1 or len(held) != 1:
        return None
    [one], [other] = wanted, held
    if isinstance(one, Elements) and isinstance(other, Elements):
        met = meet(ctx, one.element, other.element)
        return value(Elements(met if met is not None else one.element))
    if isinstance(one, Elements) and isinstance(other, Items):
        parts = [meet(ctx, one.element, item) for item in other.items]
        return value(Items(tuple(p if p is not None else one.element for p in parts)))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        met = meet(ctx, one.value, other.value)
        return value(Mapping(met if met is not None else one.value)) if not other.entries else None
    return None
