"""Functions of Python's own library that hand pools on, by their short names."""

from __future__ import annotations

from collections.abc import Callable

from kvlint.interpret.values import (
    NEVER,
    UNKNOWN,
    ClassObject,
    Constant,
    Elements,
    External,
    Getter,
    HolderCall,
    Instance,
    Items,
    Mapping,
    Value,
    awaited,
    element_of,
    future_of,
    join,
    only,
    value,
)

Arguments = list[Value]
Keywords = dict[str | None, Value]


def _first(arguments: Arguments, _: Keywords) -> Value:
    return arguments[0] if arguments else UNKNOWN


def _elements(arguments: Arguments, _: Keywords) -> Value:
    if not arguments:
        return value(Elements(NEVER))
    atom = only(arguments[0])
    return value(Elements(atom.element if isinstance(atom, Elements) else element_of(arguments[0])))


def _yielding(arguments: Arguments, _: Keywords) -> Value:
    """A context manager that gives what it was given; an iterable of it."""
    return value(Elements(join(arguments[:1])))


def _chain(arguments: Arguments, _: Keywords) -> Value:
    return value(Elements(join(element_of(argument) for argument in arguments)))


def _flattened(arguments: Arguments, _: Keywords) -> Value:
    return value(Elements(element_of(element_of(arguments[0])))) if arguments else UNKNOWN


def _together(arguments: Arguments, _: Keywords) -> Value:
    return value(Items(tuple(awaited(argument) for argument in arguments)))


def _future(arguments: Arguments, _: Keywords) -> Value:
    return future_of(arguments[0]) if arguments else UNKNOWN


def _choice(arguments: Arguments, _: Keywords) -> Value:
    return element_of(arguments[0]) if arguments else UNKNOWN


def _enumerate(arguments: Arguments, _: Keywords) -> Value:
    item = element_of(arguments[0]) if arguments else UNKNOWN
    return value(Elements(value(Items((UNKNOWN, item)))))


def _zip(arguments: Arguments, _: Keywords) -> Value:
    return value(Elements(value(Items(tuple(element_of(a) for a in arguments)))))


def _next(arguments: Arguments, _: Keywords) -> Value:
    if not arguments:
        return UNKNOWN
    return join([element_of(arguments[0]), *arguments[1:2]])


def _largest(arguments: Arguments, keywords: Keywords) -> Value:
    if len(arguments) > 1:
        return join(arguments)
    return join([element_of(argument) for argument in arguments] or [UNKNOWN])


def _filter(arguments: Arguments, _: Keywords) -> Value:
    return value(Elements(element_of(arguments[1]))) if len(arguments) == 2 else UNKNOWN


def _dict(arguments: Arguments, keywords: Keywords) -> Value:
    if None in keywords:
        return UNKNOWN
    entries = tuple((name, found) for name, found in keywords.items() if name is not None)
    if not arguments:
        return value(Mapping(join(found for _, found in entries), entries))
    given = only(arguments[0])
    if not isinstance(given, Mapping):
        return UNKNOWN
    held = join([given.value, *(found for _, found in entries)])
    return value(Mapping(held, (*given.entries, *entries)))


def _default_dict(arguments: Arguments, _: Keywords) -> Value:
    return value(Mapping(_made_by(arguments[0]) if arguments else NEVER))


def _returning_first(arguments: Arguments, _: Keywords) -> Value:
    return value(HolderCall(arguments[0])) if arguments else UNKNOWN


def _new_type(arguments: Arguments, _: Keywords) -> Value:
    return arguments[1] if len(arguments) == 2 else UNKNOWN


def _field(_: Arguments, keywords: Keywords) -> Value:
    if "default" in keywords:
        return keywords["default"]
    return _made_by(keywords.get("default_factory", UNKNOWN))


def _made_by(factory: Value) -> Value:
    atom = only(factory)
    if isinstance(atom, ClassObject):
        return value(Instance(atom.cls, exact=atom.exact))
    if isinstance(atom, External) and atom.name in ("builtins.list", "builtins.set"):
        return value(Elements(NEVER))
    if isinstance(atom, External) and atom.name == "builtins.dict":
        return value(Mapping(NEVER))
    return atom.result if isinstance(atom, HolderCall) else UNKNOWN


def _module(arguments: Arguments, _: Keywords) -> Value:
    atom = only(arguments[0]) if arguments else None
    return value(External(str(atom.value))) if isinstance(atom, Constant) else UNKNOWN


def _getter(calls: bool) -> Callable[[Arguments, Keywords], Value]:
    def made(arguments: Arguments, _: Keywords) -> Value:
        atom = only(arguments[0]) if arguments else None
        alone = calls or len(arguments) == 1
        if not isinstance(atom, Constant) or not alone:
            return UNKNOWN
        return value(Getter(str(atom.value), calls))

    return made


EXTERNALS: dict[str, Callable[[Arguments, Keywords], Value]] = {
    **dict.fromkeys(("copy", "deepcopy", "replace", "proxy"), _first),
    **dict.fromkeys(("create_task", "ensure_future", "shield"), _future),
    "wait_for": _first,
    **dict.fromkeys(("nullcontext", "closing", "aclosing", "repeat"), _yielding),
    **dict.fromkeys(("max", "min"), _largest),
    **dict.fromkeys(
        "list set tuple sorted reversed iter frozenset deque islice cycle sample choices".split(),
        _elements,
    ),
    "NewType": _new_type,
    "attrgetter": _getter(calls=False),
    "methodcaller": _getter(calls=True),
    "chain": _chain,
    "choice": _choice,
    "defaultdict": _default_dict,
    "dict": _dict,
    "enumerate": _enumerate,
    "field": _field,
    "filter": _filter,
    "from_iterable": _flattened,
    "gather": _together,
    "import_module": _module,
    "next": _next,
    "ref": _returning_first,
    "zip": _zip,
}
"""Functions by their short name: what a call gives, by positional and keyword arguments."""
