"""What the inference tells the checks: each place where a pool is used, with what it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from kvlint.catalogue.binding import Shape, shape_of
from kvlint.interpret.values import Partial, Value

UseKind = Literal[
    "access",
    "hasattr",
    "store-sub-pool",
    "store-buffer",
    "pass-buffer",
    "construct",
    "function",
    "unpack",
    "dead-test",
    "replace-class",
]


@dataclass(frozen=True, eq=False, slots=True)
class Use:
    """One use of a pool.

    "access": `receiver.name`, with `call` where it is called. "hasattr": `hasattr(receiver, name)`.
    "store-sub-pool": `name = receiver`, where the receiver is a sub-pool kept in an attribute.
    "store-buffer": a write into storage (`value` holds Buffer atoms). "pass-buffer": a raw list or
    a layer of it handed to a call. "construct": `receiver(...)`, where `value` holds the classes.
    "function": a call of SGLang's module function `name`. "unpack": what `name` gave, taken apart
    into `count` names. "dead-test": an `isinstance` of the receiver that earlier ones leave
    nothing of; `value` holds the classes. "replace-class": SGLang's class `name` becomes `value`.
    """

    kind: UseKind
    node: ast.expr
    receiver: ast.expr
    value: Value
    name: str
    statement: ast.stmt
    call: ast.Call | None = None
    caught: frozenset[str] = frozenset()
    cls: str | None = None
    """Qualified name of the class whose body the use stands in."""
    function: str = ""
    """Dotted name of the function within its module."""
    probed: frozenset[str] = frozenset()
    """Attributes of the receiver that a `hasattr` around the use has asked for."""
    flags: frozenset[str] = frozenset()
    """Attributes of the receiver that a condition around the use has found to be true."""
    beside: tuple[tuple[str, str], ...] = ()
    """(path, class) of each `isinstance` that holds at the use."""
    bound_by: int = 0
    """How many leading arguments of the call are no arguments of the method: self, where it is
    named by its class."""
    given: Partial | None = None
    """The `partial` that was called, with the arguments it holds already."""
    count: int = 0
    others: tuple[str, ...] = ()
    """Other names that it may be used under here: `getattr(pool, name)` in a loop over texts."""
    through_super: bool = False
    """Called through `super()`, on the class, or under another name: not as written here."""

    @property
    def shape(self) -> Shape:
        """The arguments that the method or class gets; none where the use is no call."""
        if self.call is None:
            return Shape()
        written = shape_of(self.call)
        given = self.given
        if given is None:
            positional = max(0, written.positional - self.bound_by)
            return replace(written, positional=positional)
        return Shape(
            max(0, given.positional + written.positional - self.bound_by),
            tuple(dict.fromkeys((*given.keywords, *written.keywords))),
            written.star or given.starred,
            written.double_star or given.starred,
        )


@dataclass(eq=False)
class Recorder:
    """Collects uses; a place seen again (a loop's second round) replaces what was seen first."""

    uses: dict[tuple[ast.AST, str], Use] = field(default_factory=dict)
    given: dict[ast.Attribute, Value] = field(default_factory=dict)
    """Targets of assignments to attributes, with what the object was."""

    def add(self, use: Use) -> None:
        self.uses[(use.node, use.kind)] = use

    def drop(self, node: ast.AST, kind: UseKind) -> None:
        self.uses.pop((node, kind), None)

    def __iter__(self) -> Iterator[Use]:
        return iter(self.uses.values())
