"""What expressions in a launch program stand for, as far as its text shows."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from kvlint.launch.arguments import (
    UNKNOWN,
    Addition,
    Argument,
    Choice,
    LaunchConfiguration,
    Value,
    Word,
)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A value that is not known, told apart from others by `name`: the same symbol is the same
    value, wherever it is used."""

    name: str


@dataclass(frozen=True, slots=True)
class Known:
    """A constant. `node` is the expression that states it."""

    value: str | int | float | bool | None
    node: ast.expr


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some constants or, with `each`, every one of them in its turn."""

    options: tuple[Known, ...]
    origin: int
    each: bool = False

    @property
    def choice(self) -> Choice:
        return Choice(tuple(option.value for option in self.options), self.origin, self.each)


MOST_OPTIONS = 8


def one_of(values: Sequence[Evaluated | None], origin: int, each: bool = False) -> Evaluated | None:
    """The constants that these values are, the same one only once; None where one is no constant,
    or one that stands for several in turn."""
    options: list[Known] = []
    for value in values:
        if isinstance(value, OneOf) and not value.each:
            options.extend(value.options)
        elif isinstance(value, Known):
            options.append(value)
        else:
            return None
    distinct = {(type(option.value), option.value): option for option in reversed(options)}
    found = tuple(reversed(distinct.values()))
    if not found or len(found) > MOST_OPTIONS:
        return None
    return found[0] if len(found) == 1 else OneOf(found, origin, each)


@dataclass(frozen=True, slots=True)
class Text:
    """A string of known and unknown parts. `node` is the expression that states it."""

    parts: tuple[str | Symbol, ...]
    node: ast.expr


@dataclass(frozen=True, slots=True)
class Target:
    """Something imported, by its full name, as `sglang.Engine`."""

    name: str


@dataclass(frozen=True, slots=True)
class Element:
    """An item of a list; `expanded`: it stands for any number of items."""

    value: Evaluated
    node: ast.expr
    expanded: bool = False


@dataclass
class ListOf:
    """A list or tuple. `node` is the display that its last item stands in."""

    items: list[Element]
    node: ast.List | ast.Tuple | None
    taken: bool = False
    """It went into another list or a call that was judged, and is not judged by itself."""
    words: list[Word] | None = None
    """Its words, where it is a string that was split."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a keyword dictionary: `node` is the keyword or the key that states it."""

    value: Evaluated
    node: ast.AST
    value_node: ast.expr


@dataclass
class DictOf:
    """A dictionary with string keys, or the keywords of a call. Not `complete`: it may hold more,
    and `overriding`: in place of what is known as well."""

    entries: dict[str, Entry]
    complete: bool
    node: ast.Dict | ast.Call | None
    taken: bool = False


@dataclass
class Config:
    """A `ServerArgs`, engine or runtime. `origin` is the call that made it."""

    kind: Literal["args", "engine"]
    arguments: dict[str, Argument]
    complete: bool
    origin: ast.Call
    addition: Addition | None
    guarded: bool = False

    def argument(self, name: str) -> Value:
        argument = self.arguments.get(name)
        return argument.value if argument else None

    @property
    def embeds(self) -> bool:
        return self.argument("is_embedding") is True

    def configuration(self, plugins: frozenset[str]) -> LaunchConfiguration:
        return LaunchConfiguration(
            self.arguments, self.complete, addition=self.addition, plugin_backends=plugins
        )


@dataclass(frozen=True, slots=True)
class Server:
    """A server process: what it was started with and the key of the address it listens on."""

    configuration: LaunchConfiguration
    address: Address | None


@dataclass(frozen=True, slots=True)
class Client:
    """An OpenAI client of the server at an address."""

    address: Address


@dataclass(frozen=True, slots=True)
class Member:
    """An attribute of something that is followed, as `engine.generate` or `client.chat`."""

    owner: Evaluated
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of this file; `keywords` are those a `partial` has bound."""

    node: ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial` of something imported."""

    target: Target
    call: ast.Call
    keywords: DictOf


@dataclass(frozen=True, slots=True)
class SelfOf:
    """`self` or `cls` of a class of this file."""

    attributes: Attributes


@dataclass(eq=False)
class Attributes:
    """What the attributes of a class and its instances hold."""

    values: dict[str, Evaluated] = field(default_factory=dict)


_CHANGING = (ListOf, DictOf, Config)
Address = tuple[str, str | int]
Evaluated = (
    Symbol
    | Known
    | OneOf
    | Text
    | Target
    | ListOf
    | DictOf
    | Config
    | Server
    | Client
    | Member
    | Function
    | Partial
    | SelfOf
)


@dataclass
class Scope:
    """The names of one function or module, and those around it."""

    names: dict[str, Evaluated] = field(default_factory=dict)
    outer: Scope | None = None
    globals: set[str] = field(default_factory=set)
    returned: list[Evaluated] = field(default_factory=list)

    def lookup(self, name: str) -> Evaluated | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


def fork(values: dict[str, Evaluated]) -> dict[str, Evaluated]:
    """The same names with copies of what can change, for a branch."""
    forked = dict(values)
    for name, value in values.items():
        if isinstance(value, _CHANGING):
            forked[name] = copied(value)
    return forked


def copied(value: Evaluated) -> Evaluated:
    if isinstance(value, ListOf):
        return ListOf(list(value.items), value.node, value.taken, value.words)
    if isinstance(value, DictOf):
        return DictOf(dict(value.entries), value.complete, value.node, value.taken)
    if isinstance(value, Config):
        return Config(
            value.kind,
            dict(value.arguments),
            value.complete,
            value.origin,
            value.addition,
            value.guarded,
        )
    return value


def joined(name: str, first: Evaluated | None, second: Evaluated | None) -> Evaluated:
    """What a name holds after either of two branches. One that only one of them binds is bound
    where it is used."""
    if first is None or second is None:
        return first or second or Symbol(f"join:{name}")
    if first == second:
        return first
    match first, second:
        case Config() as a, Config() as b if a.origin is b.origin:
            return _joined_configs(a, b)
        case ListOf() as a, ListOf() as b if a.node is b.node or b.node is None or a.node is None:
            return _joined_lists(a, b)
        case DictOf() as a, DictOf() as b if a.node is b.node:
            shared = {key: e for key, e in a.entries.items() if b.entries.get(key) == e}
            for key in (a.entries.keys() | b.entries.keys()) - shared.keys():
                entry = a.entries.get(key) or b.entries[key]
                both = [held.entries[key].value for held in (a, b) if key in held.entries]
                known = one_of(both, hash((id(a), id(b), key))) if len(both) == 2 else None
                held = known if known is not None else Symbol(f"join:{key}")
                shared[key] = Entry(held, entry.node, entry.value_node)
            return DictOf(shared, a.complete and b.complete, a.node, a.taken or b.taken)
    known = one_of([first, second], hash((id(first), id(second))))
    return known if known is not None else Symbol(f"join:{name}:{id(first)}:{id(second)}")


def _joined_configs(a: Config, b: Config) -> Config:
    merged = dict(a.arguments)
    for name in a.arguments.keys() | b.arguments.keys():
        one, other = a.arguments.get(name), b.arguments.get(name)
        stated = one or other
        if one != other and stated is not None:
            merged[name] = Argument(name, UNKNOWN, stated.place, choice=_either(one, other))
    return Config(a.kind, merged, a.complete and b.complete, a.origin, a.addition, a.guarded)


def _either(one: Argument | None, other: Argument | None) -> Choice | None:
    """The choice between two known values of an argument."""
    if one is None or other is None or UNKNOWN in (one.value, other.value):
        return None
    return Choice((one.value, other.value), hash((one.place, other.place)))


def _joined_lists(a: ListOf, b: ListOf) -> ListOf:
    """The items both have, and behind them what is not known."""
    shared: list[Element] = []
    for one, other in zip(a.items, b.items, strict=False):
        if one != other:
            break
        shared.append(one)
    longer = a if len(a.items) >= len(b.items) else b
    if len(longer.items) > len(shared):
        rest = longer.items[len(shared)]
        shared.append(Element(Symbol("join:items"), rest.node, expanded=True))
    return ListOf(shared, a.node or b.node, a.taken or b.taken)
