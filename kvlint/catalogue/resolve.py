"""What an instance offers: own facts resolved along the MRO.

A `View` is one catalogue, possibly extended by the pool classes of a checked project, with what
has been worked out about it so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kvlint.catalogue.model import (
    AS_BASE,
    AccessorKind,
    Catalogue,
    Family,
    Method,
    Parameter,
    PoolClass,
    SuperCall,
)

# Bases outside every tree that bring no attribute a pool is asked for.
_EMPTY_BASES = frozenset(
    (
        *("object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol"),
        *("typing.Protocol", "typing_extensions.Protocol"),
    )
)
KVCACHE = "KVCache"
_CONSTRUCTORS = ("__new__", "__init__", "__post_init__")
_KV_WORDS = ("kv", "key", "value", "k_", "_k", "cpu_copy", "contiguous_buf", "buf_infos", "index")
_VERBS = ("get_", "set_", "load_", "move_", "store_", "write_", "read_", "put_", "invalidate_")


@dataclass(frozen=True, slots=True)
class ResolvedAccessor:
    """What happens when a method or property is used on an instance of one class.

    `guard` holds when the method raises for every argument, be it by its own body or because it
    always calls another guard of the same object; exception and message are then those of the
    method that raises, `guarded_by` names it, and `defining_class` is the class whose method
    the call reaches first. `absent` is said only where absence is certain.
    """

    kind: AccessorKind
    defining_class: str | None = None
    exception: str | None = None
    message: str | None = None
    has_message: bool = False
    parameters: tuple[Parameter, ...] = ()
    is_property: bool = False
    method: Method | None = None
    guarded_by: str | None = None


_NOTHING_KNOWN = ResolvedAccessor("works")


class View:
    """One catalogue and the answers worked out from it."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._mro: dict[str, tuple[str, ...]] = {}
        self._children: dict[str, set[str]] | None = None
        self._accessors: dict[tuple[str, str], ResolvedAccessor] = {}
        self._attributes: dict[str, tuple[frozenset[str], bool]] = {}
        self._outside = frozenset(catalogue.outside_attributes)
        self._outside_calls = frozenset(catalogue.outside_calls)
        self._later: dict[str, frozenset[str]] = {}
        self._parents: dict[str, frozenset[tuple[str, str]]] | None = None
        self._accessor_names: frozenset[str] | None = None

    # The class graph

    def extended(self, classes: Iterable[PoolClass]) -> View:
        """A view that knows these classes too, as those of a checked project."""
        return View(extended(self.catalogue, classes))

    def add(self, own: PoolClass) -> None:
        """Let a class join this view in place, as the inference does when it meets one in a
        project. The catalogue of the view must be its own copy."""
        self.catalogue.classes[own.qualname] = own
        self._mro.clear()
        self._accessors.clear()
        self._attributes.clear()
        self._later.clear()
        self._children = None
        self._parents = None
        self._accessor_names = None

    def mro(self, qualname: str) -> tuple[str, ...]:
        """The C3 linearisation, bases outside the catalogue included; where Python would refuse
        the bases, depth first from the left. A class that is not known has itself only."""
        known = self._mro.get(qualname)
        if known is None:
            self._mro[qualname] = (qualname,)  # ends a cycle of bases
            known = self._mro[qualname] = self._linearise(qualname)
        return known

    def _linearise(self, qualname: str) -> tuple[str, ...]:
        own = self.catalogue.classes.get(qualname)
        if own is None or not own.bases:
            return (qualname,)
        if len(own.bases) == 1:
            return (qualname, *self.mro(own.bases[0]))
        rest = [list(self.mro(base)) for base in own.bases] + [list(own.bases)]
        return (qualname, *_merge(rest))

    def known_mro(self, qualname: str) -> Iterator[PoolClass]:
        """The classes of the MRO that the catalogue has facts about."""
        for name in self.mro(qualname):
            found = self.catalogue.classes.get(name)
            if found is not None:
                yield found

    def subclasses(self, qualname: str) -> frozenset[str]:
        """All classes derived from this one, itself included."""
        if self._children is None:
            self._children = {}
            for own in self.catalogue.classes.values():
                for base in own.bases:
                    self._children.setdefault(base, set()).add(own.qualname)
        found, queue = {qualname}, [qualname]
        while queue:
            for child in self._children.get(queue.pop(), ()):
                if child not in found:
                    found.add(child)
                    queue.append(child)
        return frozenset(found)

    def pools(self) -> tuple[str, ...]:
        """Every class derived from KVCache, itself included, in the catalogue's order."""
        return tuple(name for name, own in self.catalogue.classes.items() if own.is_pool)

    def family(self, bases: Iterable[str]) -> Family | None:
        """The family of a class with these bases; a pool's is "pool"."""
        for base in bases:
            for own in self.known_mro(base):
                if own.is_pool:
                    return "pool"
                if own.family is not None:
                    return own.family
        return None

    def constant_flag(self, qualname: str, name: str) -> bool | None:
        """The value of a class attribute that is True or False for every instance."""
        own = self.find(qualname, name)
        flag = own.constant_flags.get(name) if own is not None else None
        return None if flag is None or self.may_be_rebound(qualname, name) else flag

    def concrete(self, qualname: str) -> bool:
        """Whether Python would make an instance: no abstract method is left."""
        seen: set[str] = set()
        for own in self.known_mro(qualname):
            for method in own.methods.values():
                if method.kind == "abstract" and method.name not in seen:
                    return False
                seen.add(method.name)
            seen.update(own.class_attributes)
        return True

    def is_broad(self, qualname: str) -> bool:
        """Whether the class says no more than "any of its family". `AttentionBackend` has no
        abstract methods, and yet nobody makes an instance of it."""
        own = self.catalogue.classes.get(qualname)
        root = own is not None and own.family == "backend" and self.family(own.bases) is None
        return root or not self.concrete(qualname)

    def concrete_subclasses(self, qualname: str) -> frozenset[str]:
        return frozenset(name for name in self.subclasses(qualname) if self.concrete(name))

    def is_certain(self, qualname: str) -> bool:
        """Whether the facts say all that an instance has: False with `__getattr__`, computed
        attribute names, or a base nothing is known about."""
        for name in self.mro(qualname):
            own = self.catalogue.classes.get(name)
            if own is None:
                if name not in _EMPTY_BASES:
                    return False
            elif own.dynamic:
                return False
        return True

    # Methods

    def find(self, qualname: str, name: str, after: str | None = None) -> PoolClass | None:
        """The class along the MRO whose body binds `name` (after a class of the MRO, if given)."""
        classes = list(self.known_mro(qualname))
        if after is not None:
            position = self._position(qualname, after)
            if position is None:
                return None
            later = self.mro(qualname)[position + 1 :]
            classes = [own for own in classes if own.qualname in later]
        for own in classes:
            if name in own.methods or name in own.class_attributes:
                return own
        return None

    def _position(self, qualname: str, name: str) -> int | None:
        order = self.mro(qualname)
        if name in order:
            return order.index(name)
        short = name.rpartition(".")[2]
        matches = [i for i, known in enumerate(order) if known.rpartition(".")[2] == short]
        return matches[0] if len(matches) == 1 else None

    def super_target(self, qualname: str, holder: str, call: SuperCall) -> PoolClass | None:
        """The class whose method a super call in a body of `holder` reaches on an instance."""
        if call.explicit is None:
            return self.find(qualname, call.method, call.after or holder)
        position = self._position(qualname, call.explicit)
        if position is None:
            return None
        return self.find(self.mro(qualname)[position], call.method)

    def accessor(self, qualname: str, name: str) -> ResolvedAccessor:
        """What using `name` on an instance does; "absent" only where that is certain."""
        key = (qualname, name)
        known = self._accessors.get(key)
        if known is None:
            self._accessors[key] = _NOTHING_KNOWN  # ends a cycle of calls
            known = self._accessors[key] = self._resolve(qualname, name)
        return known

    def _resolve(self, qualname: str, name: str) -> ResolvedAccessor:
        own = self.find(qualname, name)
        if own is None:
            absent = self.has_attribute(qualname, name) is False
            return ResolvedAccessor("absent" if absent else "works")
        if name not in own.methods:
            return ResolvedAccessor("works", own.qualname)
        if self.may_be_rebound(qualname, name):
            method = own.methods[name]
            return replace(_of_method(own, method), kind="conditional")
        return self._resolve_in(qualname, own, name, frozenset())

    def arity(self, qualname: str, name: str) -> int:
        """The length of the tuple that the method always gives on an instance; 0 if unknown."""
        own = self.find(qualname, name)
        while own is not None and name in own.methods:
            found = own.methods[name].arity
            if found != AS_BASE:
                return found
            own = self.find(qualname, name, after=own.qualname)
        return 0

    def may_be_rebound(self, qualname: str, name: str) -> bool:
        """Whether an instance attribute may stand in front of the class's method."""
        return any(
            name in method.assigns or name in method.maybe_assigns
            for own in self.known_mro(qualname)
            for method in own.methods.values()
        )

    def _resolve_in(
        self, qualname: str, own: PoolClass, name: str, path: frozenset[tuple[str, str]]
    ) -> ResolvedAccessor:
        """`path`: the methods whose own answer waits for this one."""
        method = own.methods.get(name)
        if method is None or (own.qualname, name) in path:
            return _NOTHING_KNOWN
        path = path | {(own.qualname, name)}
        if method.alias is not None:
            target = self.super_target(qualname, own.qualname, method.alias)
            if target is None:
                return ResolvedAccessor("works", own.qualname, method=method)
            return self._resolve_in(qualname, target, method.alias.method, path)
        found = _of_method(own, method)
        if found.kind != "guard" and method.kind != "abstract":
            for other in self._always_called(qualname, own, method, path):
                if other.kind == "guard":
                    return _raises_like(found, other)
        return found

    def _always_called(
        self, qualname: str, own: PoolClass, method: Method, path: frozenset[tuple[str, str]]
    ) -> Iterator[ResolvedAccessor]:
        for name in method.always_calls:
            holder = self.find(qualname, name)
            if holder is not None and not self.may_be_rebound(qualname, name):
                yield self._resolve_in(qualname, holder, name, path)
        for call in method.always_super_calls:
            holder = self.super_target(qualname, own.qualname, call)
            if holder is not None:
                yield self._resolve_in(qualname, holder, call.method, path)

    def accessor_names(self) -> frozenset[str]:
        """Methods of pools that read or write KV."""
        if self._accessor_names is None:
            names = {
                name
                for own in self.catalogue.classes.values()
                if own.is_pool
                for name, method in own.methods.items()
                if is_accessor_name(name) and not method.is_property
            }
            self._accessor_names = frozenset(names)
        return self._accessor_names

    # Attributes

    def constructor_attributes(self, qualname: str) -> frozenset[str]:
        """Attributes of self that the constructor chain that really runs assigns."""
        return self._constructed(qualname)[0]

    def _constructed(self, qualname: str) -> tuple[frozenset[str], bool]:
        """The attributes, and whether code outside the catalogue gets hold of self on the way."""
        known = self._attributes.get(qualname)
        if known is None:
            known = self._attributes[qualname] = self._run_constructor(qualname)
        return known

    def _run_constructor(self, qualname: str) -> tuple[frozenset[str], bool]:
        attributes: set[str] = set()
        leaks = False
        for own, name in self.constructor_chain(qualname):
            method = own.methods[name]
            attributes.update(method.assigns)
            leaks = leaks or (method.passes_self and not own.qualname.startswith("sglang."))
        return frozenset(attributes), leaks

    def constructor_chain(self, qualname: str) -> list[tuple[PoolClass, str]]:
        """The method bodies that making an instance can run, super and self calls followed."""
        return self._reached_from(qualname, _CONSTRUCTORS)

    def _reached_from(self, qualname: str, names: Iterable[str]) -> list[tuple[PoolClass, str]]:
        seen: dict[tuple[str, str], tuple[PoolClass, str]] = {}
        queue = [(own, name) for name in names if (own := self.find(qualname, name)) is not None]
        while queue:
            own, name = queue.pop()
            method = own.methods.get(name)
            if method is not None and (own.qualname, name) not in seen:
                seen[own.qualname, name] = (own, name)
                queue += self._callees(qualname, own, method)
        return list(seen.values())

    def _callees(
        self, qualname: str, own: PoolClass, method: Method
    ) -> list[tuple[PoolClass, str]]:
        found = [(self.find(qualname, name), name) for name in method.self_calls]
        found += [
            (self.super_target(qualname, own.qualname, call), call.method)
            for call in method.super_calls
        ]
        return [(holder, name) for holder, name in found if holder is not None]

    def has_attribute(self, qualname: str, name: str) -> bool | None:
        """Whether an instance has the attribute; None where that is not certain.

        Not certain: computed attributes, unknown bases, a mere declaration, an assignment in a
        method that the constructor does not reach, an assignment from outside the class.
        """
        if qualname not in self.catalogue.classes:
            return None
        if self.find(qualname, name) is not None or name in _OF_EVERY_OBJECT:
            return True
        attributes, leaks = self._constructed(qualname)
        if name in attributes:
            return True
        if leaks or name in self._outside or not self.is_certain(qualname):
            return None
        return None if self._may_appear(qualname, name) else False

    def _may_appear(self, qualname: str, name: str) -> bool:
        """Whether a declaration promises the attribute, or a method assigns it that can run after
        the constructor. A base's `__init__` that no `super().__init__()` reaches never runs, nor
        does a private helper that nothing but such a constructor calls."""
        if any(name in own.declared_attributes for own in self.known_mro(qualname)):
            return True
        if qualname not in self._later:
            self._later[qualname] = self._assigned_later(qualname)
        return name in self._later[qualname]

    def _assigned_later(self, qualname: str) -> frozenset[str]:
        names = {name for own in self.known_mro(qualname) for name in own.methods}
        entries = [
            name
            for name in sorted(names)
            if name not in _CONSTRUCTORS
            and (not name.startswith("_") or name.endswith("__") or name in self._outside_calls)
        ]
        found: set[str] = set()
        reached = self._reached_from(qualname, entries) + self.constructor_chain(qualname)
        for own, name in reached:
            found.update(own.methods[name].assigns)
            found.update(own.methods[name].maybe_assigns)
        return frozenset(found)

    # Sub-pools

    def sub_pools(self, qualname: str) -> dict[str, tuple[str, ...]]:
        """Attribute -> classes, along the MRO: the most derived class that names one wins."""
        found: dict[str, tuple[str, ...]] = {}
        for own in self.known_mro(qualname):
            for attribute, classes in own.sub_pools.items():
                found.setdefault(attribute, classes)
        return found

    def sub_pool_classes(self, qualname: str, attribute: str) -> frozenset[str]:
        """The classes a sub-pool attribute (or `attr[]`, an element of one) can hold."""
        return frozenset(self.sub_pools(qualname).get(attribute, ()))

    def parents_of(self, qualname: str) -> frozenset[tuple[str, str]]:
        """(parent class, attribute) of every pool that can own an instance of this class."""
        if self._parents is None:
            gathered: dict[str, set[tuple[str, str]]] = {}
            for parent in self.catalogue.classes:
                for attribute, classes in self.sub_pools(parent).items():
                    for name in classes:
                        gathered.setdefault(name, set()).add((parent, attribute))
            self._parents = {name: frozenset(pairs) for name, pairs in gathered.items()}
        return self._parents.get(qualname, frozenset())


_OF_EVERY_OBJECT = frozenset(dir(object)) | {"__dict__", "__module__", "__weakref__"}


def extended(catalogue: Catalogue, classes: Iterable[PoolClass]) -> Catalogue:
    """The catalogue with these classes added; one of the same qualified name is replaced."""
    added = {own.qualname: own for own in classes}
    return replace(catalogue, classes={**catalogue.classes, **added})


def is_accessor_name(name: str) -> bool:
    """Whether a method's name says that it reads or writes KV (or the index that goes with it)."""
    return name.startswith(_VERBS) and any(word in name for word in _KV_WORDS)


def _merge(sequences: list[list[str]]) -> Iterator[str]:
    while sequences := [sequence for sequence in sequences if sequence]:
        tails = {name for sequence in sequences for name in sequence[1:]}
        head = next((s[0] for s in sequences if s[0] not in tails), sequences[0][0])
        yield head
        sequences = [[name for name in sequence if name != head] for sequence in sequences]


def _of_method(own: PoolClass, method: Method) -> ResolvedAccessor:
    bare: AccessorKind = "guard" if method.exception else "works"
    kind: AccessorKind = bare if method.kind == "abstract" else method.kind
    return ResolvedAccessor(
        kind=kind,
        defining_class=own.qualname,
        exception=method.exception,
        message=method.message,
        has_message=method.has_message,
        parameters=method.parameters,
        is_property=method.is_property,
        method=method,
        guarded_by=f"{own.qualname}.{method.name}" if kind == "guard" else None,
    )


def _raises_like(found: ResolvedAccessor, other: ResolvedAccessor) -> ResolvedAccessor:
    """A method that always calls a guard is one, with that guard's exception."""
    return replace(
        found,
        kind="guard",
        exception=other.exception,
        message=other.message,
        has_message=other.has_message,
        guarded_by=other.guarded_by,
    )
