"""The set of pool classes that a value can be, and what is certain of such a set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kvlint.interpret.context import Context
from kvlint.interpret.values import PLATFORMS, Instance, Value, without_none
from kvlint.source.index import Module

Certainty = Literal["certain", "likely"]
MAX_EXPLICIT = 8
SGLANG = "sglang."


@dataclass(frozen=True, slots=True)
class Part:
    """The classes that one atom stands for. `declared` is the class it is written as; `broad`:
    that class is abstract, so that nothing but "some pool" is said."""

    declared: str
    classes: frozenset[str]
    broad: bool
    owner: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class PoolSet:
    parts: tuple[Part, ...]

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(cls for part in self.parts for cls in part.classes)

    @property
    def broad(self) -> bool:
        return any(part.broad for part in self.parts)

    @property
    def owners(self) -> tuple[tuple[str, str], ...]:
        """The parents' attributes the value was read from; empty unless all of it was."""
        owners = {part.owner for part in self.parts}
        return () if None in owners else tuple(sorted(o for o in owners if o is not None))


def pool_set(
    ctx: Context,
    known: Value,
    module: Module,
    everywhere: bool = False,
    contracts: bool = False,
) -> PoolSet | None:
    """The pool classes of a value; None where it is unknown, or may be no pool. `contracts`: of
    the other families too.

    SGLang's subclasses for other hardware (NPU, MLX: sglang/srt/hardware_backend/) take the place
    of a class as a whole, by the platform it runs on: they count where they are named, and in code
    for that hardware, and make nothing uncertain that fails on every GPU. Of the project's own
    subclasses those count that the module defines or imports from: what is found in a file does
    not depend on which other files are checked with it. `everywhere`: all that are known count.
    """
    atoms = without_none(known).atoms
    if not atoms:
        return None
    parts: list[Part] = []
    for atom in atoms:
        if not isinstance(atom, Instance):
            return None
        own = ctx.view.catalogue.classes.get(atom.cls)
        if own is None or not (own.is_contract if contracts else own.is_pool):
            return None
        key = (atom, module.name, everywhere)
        if key not in ctx.parts:
            ctx.parts[key] = _part(ctx, atom, module, everywhere)
        parts.append(ctx.parts[key])
    if any(not part.classes for part in parts):
        return None
    return PoolSet(tuple(sorted(parts, key=lambda part: (part.declared, str(part.owner)))))


def _part(ctx: Context, atom: Instance, module: Module, everywhere: bool) -> Part:
    view = ctx.view
    if atom.exact:
        return Part(atom.cls, frozenset([atom.cls]), False, atom.owner)
    broad = view.is_broad(atom.cls)
    classes = view.concrete_subclasses(atom.cls)
    for cls in atom.minus:
        classes -= view.subclasses(cls)
    if not everywhere:
        classes = frozenset(cls for cls in classes if _is_visible(ctx, cls, atom.cls, module))
    if PLATFORMS not in f".{module.name}." and PLATFORMS not in atom.cls:
        classes = frozenset(cls for cls in classes if PLATFORMS not in cls) or classes
    if not classes and broad and not atom.minus:
        classes = frozenset([atom.cls])
    return Part(atom.cls, frozenset(classes), broad, atom.owner)


def _is_visible(ctx: Context, cls: str, declared: str, module: Module) -> bool:
    info = ctx.classes.get(cls)
    if info is None or cls == declared or info.module is module or cls.startswith(SGLANG):
        return True
    return any(
        ctx.project.imported(module, name) == info.module.name for name in module.imported_modules
    )


def certainty(pools: PoolSet, holds: Callable[[str], bool]) -> Certainty | None:
    """ "certain" where it holds for every class; "likely" where the set is small and explicit and
    it holds for all that one part of it can be, or for the class that part is declared as."""
    verdicts = {cls: holds(cls) for cls in pools.classes}
    if all(verdicts.values()):
        return "certain"
    if pools.broad or len(pools.parts) > MAX_EXPLICIT:
        return None
    for part in pools.parts:
        if all(verdicts[cls] for cls in part.classes) or verdicts.get(part.declared, False):
            return "likely"
    return None


def short(qualname: str) -> str:
    return qualname.rpartition(".")[2]


def names(pools: PoolSet, limit: int = 3) -> str:
    """The classes in words, the declared ones first in mind: `A`, `A or B`, `A, B or 4 others`."""
    found = sorted({short(part.declared) for part in pools.parts})
    if len(found) > limit:
        return f"{', '.join(found[: limit - 1])} or {len(found) - limit + 1} others"
    return " or ".join([", ".join(found[:-1]), found[-1]]) if len(found) > 1 else found[0]
