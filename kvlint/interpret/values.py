"""The lattice: what an expression can be, as far as pools go.

A `Value` is a set of atoms. Not known is `UNKNOWN`, which absorbs everything it is joined with:
what may be anything is never flagged. The set of pool classes that DESIGN speaks of is read off a
value by `pools.pool_set`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kvlint.findings import Evidence

if TYPE_CHECKING:
    from kvlint.interpret.classes import ClassInfo
    from kvlint.source.index import Module

MAX_ATOMS = 64
PLATFORMS = ".hardware_backend."
"""SGLang's subclasses for other hardware (NPU, MLX) stand in packages of this name."""
MAX_EVIDENCE = 6


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of class `cls` (a qualified name), or of a subclass unless `exact`.

    `minus` are classes that narrowing has ruled out, their subclasses too. `owner` tells of a
    sub-pool which attribute of which parent class it was read from. `held` are attributes as they
    were given when the object was made; `typed` are the arguments of a generic class, by the names
    of its type parameters.
    """

    cls: str
    exact: bool = False
    minus: frozenset[str] = frozenset()
    owner: tuple[str, str] | None = None
    held: tuple[tuple[str, Value], ...] = ()
    typed: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class ClassObject:
    """The class itself, or one of its subclasses (`type[C]`) unless `exact`."""

    cls: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class TypeOf:
    """`type(x)`: remembers the access path, so that comparing it narrows `x`. `named`: the text
    of its `__name__`."""

    path: str
    named: bool = False


@dataclass(frozen=True, slots=True)
class ModuleObject:
    name: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """None."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the project; `self_value` and `cls` where it is a bound method. `outer` are
    the environments that one defined in another function sees, innermost first."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef
    cls: ClassInfo | None = None
    self_value: Value | None = None
    outer: tuple[dict[str, Value], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class PoolMethod:
    """An accessor bound to a pool, known from the catalogue alone."""

    pool: Value
    name: str
    unbound: bool = False
    """Named by its class: the first argument of a call is the object."""


@dataclass(frozen=True, slots=True)
class Getter:
    """`attrgetter(name)`, or `methodcaller(name, ...)` where it calls what it gets."""

    name: str
    calls: bool


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial(called, ...)`, with so many positional arguments and these keywords."""

    called: Value
    positional: int = 0
    keywords: tuple[str, ...] = ()
    starred: bool = False


@dataclass(frozen=True, slots=True)
class HolderCall:
    """A function or method that the catalogue lists as a holder: calling it gives `result`."""

    result: Value


@dataclass(frozen=True, slots=True)
class External:
    """A name of a module that is not at hand: `typing.cast`, `torch.zeros`."""

    name: str


@dataclass(frozen=True, slots=True)
class Elements:
    """A list, set, generator or other iterable of `element`."""

    element: Value


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, or another sequence whose items are known one by one."""

    items: tuple[Value, ...]
    made_by: str = field(default="", compare=False)
    """The function or method of SGLang that always gives that many."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """A dict; `entries` where the keys are literal texts or numbers."""

    value: Value
    entries: tuple[tuple[str | int, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Super:
    """`super()` in a method of `cls`."""

    cls: ClassInfo
    self_value: Value


@dataclass(frozen=True, slots=True)
class Buffer:
    """Storage of a pool: the raw list (`pool.k_buffer`), one layer of it, or a view that an
    accessor gave (`via` is the attribute or accessor)."""

    pool: Value
    via: str
    raw: bool
    tensor: bool = True
    """False for the raw list of all layers."""


Atom = (
    Instance
    | ClassObject
    | TypeOf
    | ModuleObject
    | Nothing
    | Constant
    | Function
    | PoolMethod
    | Partial
    | Getter
    | HolderCall
    | External
    | Elements
    | Items
    | Mapping
    | Super
    | Buffer
)


@dataclass(frozen=True, slots=True)
class Value:
    """A set of atoms, None for unknown. The empty set is what unreachable code sees."""

    atoms: frozenset[Atom] | None
    evidence: tuple[Evidence, ...] = field(default=(), compare=False)

    @property
    def known(self) -> bool:
        return self.atoms is not None

    def because(self, step: Evidence) -> Value:
        """The same value with one more step of evidence."""
        if self.atoms is None or step in self.evidence or len(self.evidence) >= MAX_EVIDENCE:
            return self
        return replace(self, evidence=(*self.evidence, step))


UNKNOWN = Value(None)
NEVER = Value(frozenset())
NOTHING = Value(frozenset([Nothing()]))


def value(*atoms: Atom, evidence: tuple[Evidence, ...] = ()) -> Value:
    return Value(frozenset(atoms), evidence)


def join(values: Iterable[Value]) -> Value:
    """The union. Unknown absorbs."""
    atoms: set[Atom] = set()
    evidence: dict[Evidence, None] = {}
    parts: list[Value] = []
    for each in values:
        if each.atoms is None:
            return UNKNOWN
        atoms |= each.atoms
        parts.append(each)
        evidence.update(dict.fromkeys(each.evidence))
    for step in [step for step in evidence if step.narrows]:
        if any(part.atoms and step not in part.evidence for part in parts):
            del evidence[step]
    if len(atoms) > MAX_ATOMS:
        return UNKNOWN
    if len(atoms) > 1:
        atoms = _merged(atoms)
    return Value(frozenset(atoms), tuple(evidence)[:MAX_EVIDENCE])


def _merged(atoms: set[Atom]) -> set[Atom]:
    """Lists that meet are one list of what either holds; the same of dicts."""
    lists = [atom for atom in atoms if isinstance(atom, Elements)]
    dicts = [atom for atom in atoms if isinstance(atom, Mapping)]
    if lists:
        items = [atom for atom in atoms if isinstance(atom, Items)]
        if len(lists) + len(items) > 1:
            parts = [atom.element for atom in lists]
            parts += [item for atom in items for item in atom.items]
            atoms = {*atoms.difference(lists, items), Elements(join(parts))}
    if len(dicts) > 1:
        atoms = {*atoms.difference(dicts), _merged_dicts(dicts)}
    return atoms


def _merged_dicts(dicts: list[Mapping]) -> Mapping:
    known = [dict(atom.entries) for atom in dicts]
    keys = dict.fromkeys(key for entries in known for key in entries)
    entries = tuple(
        (key, join(of.get(key, atom.value) for of, atom in zip(known, dicts, strict=True)))
        for key in keys
    )
    return Mapping(join(atom.value for atom in dicts), entries)


def without_none(known: Value) -> Value:
    if known.atoms is None or not any(isinstance(atom, Nothing) for atom in known.atoms):
        return known
    rest = frozenset(atom for atom in known.atoms if not isinstance(atom, Nothing))
    return replace(known, atoms=rest)


def only(known: Value) -> Atom | None:
    """The single atom of a value, None set aside; None where there are several or none."""
    atoms = known.atoms
    if not atoms:
        return None
    if len(atoms) > 1:
        atoms = without_none(known).atoms or frozenset()
    atom = next(iter(atoms))
    return atom if len(atoms) == 1 and not isinstance(atom, Nothing) else None


def element_of(known: Value) -> Value:
    """What iterating over the value gives."""
    if known.atoms is None:
        return UNKNOWN
    parts: list[Value] = []
    for atom in without_none(known).atoms or ():
        if isinstance(atom, Elements):
            parts.append(atom.element)
        elif isinstance(atom, Items):
            parts.extend(atom.items)
        elif isinstance(atom, Buffer):
            parts.append(value(replace(atom, tensor=True), evidence=known.evidence))
        else:
            return UNKNOWN
    found = join(parts) if parts else UNKNOWN
    return replace(found, evidence=found.evidence or known.evidence) if found.known else found


def item_of(known: Value, index: int | str | None) -> Value:
    """What subscripting with a literal index or key gives; `index` None is any."""
    if known.atoms is None:
        return UNKNOWN
    parts: list[Value] = []
    for atom in without_none(known).atoms or ():
        if isinstance(atom, Items) and isinstance(index, int):
            if not -len(atom.items) <= index < len(atom.items):
                return UNKNOWN
            parts.append(atom.items[index])
        elif isinstance(atom, Items):
            parts.append(join(atom.items))
        elif isinstance(atom, Elements):
            parts.append(atom.element)
        elif isinstance(atom, Mapping):
            entries = dict(atom.entries)
            parts.append(atom.value if index is None else entries.get(index, atom.value))
        elif isinstance(atom, Buffer):
            parts.append(value(atom, evidence=known.evidence))
        else:
            return UNKNOWN
    return join(parts) if parts else UNKNOWN


def future_of(known: Value) -> Value:
    """A task or future of a value: what it gives when it is awaited or asked for its result."""
    if not known.known or awaited(known) is not known:
        return known
    result = value(HolderCall(known))
    return value(Instance("asyncio.Future", held=(("__await__", result), ("result", result))))


def awaited(known: Value) -> Value:
    """What awaiting gives. Coroutines count as what they return."""
    atom = only(known)
    result = dict(atom.held).get("__await__") if isinstance(atom, Instance) else None
    called = only(result) if result is not None else None
    return called.result if isinstance(called, HolderCall) else known
