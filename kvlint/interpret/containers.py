"""Methods of lists, sets and dicts: what they give, and what the container holds afterwards."""

from __future__ import annotations

import ast

from kvlint.interpret.access import iterated
from kvlint.interpret.assignment import put_into, with_element, with_item
from kvlint.interpret.context import Env, Frame
from kvlint.interpret.values import (
    NEVER,
    NOTHING,
    UNKNOWN,
    Atom,
    Elements,
    Items,
    Mapping,
    Nothing,
    Value,
    element_of,
    item_of,
    join,
    only,
    value,
)

ONE = frozenset("append add appendleft insert".split())
MANY = frozenset("extend extendleft update".split())
ADDING = ONE | MANY | {"setdefault"}
_OF_A_CONTAINER = (Elements, Items, Mapping, Nothing)


def add(
    frame: Frame,
    env: Env,
    function: ast.Attribute,
    base: Value,
    arguments: list[Value],
    keywords: dict[str | None, Value],
) -> None:
    """`pools.append(pool)`: the container holds that too from here on."""
    if not all(isinstance(atom, _OF_A_CONTAINER) for atom in base.atoms or ()):
        return
    if function.attr == "setdefault":
        given = arguments[1] if len(arguments) > 1 else NOTHING
        put_into(frame, env, function.value, lambda atom: with_item(atom, None, given), _DICT)
    elif function.attr in ONE and arguments:
        put_into(frame, env, function.value, lambda atom: with_element(atom, arguments[-1]), _LIST)
    elif function.attr in MANY:
        many = join([*(_held(frame, each) for each in arguments), *keywords.values()])
        kind = _DICT if keywords or any(isinstance(only(a), Mapping) for a in arguments) else _LIST
        put_into(frame, env, function.value, lambda atom: with_item(atom, None, many), kind)


_LIST = Elements(NEVER)
_DICT = Mapping(NEVER)


def _held(frame: Frame, given: Value) -> Value:
    atom = only(given)
    if isinstance(atom, Mapping):
        return atom.value
    return atom.element if isinstance(atom, Elements) else iterated(frame.ctx, given)


def result(function: ast.Attribute, node: ast.Call, base: Value, arguments: list[Value]) -> Value:
    """What a method of a list or a dict gives."""
    atom = only(base)
    if isinstance(atom, Mapping):
        return _of_dict(function.attr, node, atom, arguments)
    if function.attr in ("pop", "popleft", "__getitem__"):
        return element_of(base)
    return base if function.attr in ("copy", "__iter__") else UNKNOWN


def _of_dict(name: str, node: ast.Call, atom: Atom, arguments: list[Value]) -> Value:
    held = item_of(value(atom), None)
    if name == "values":
        return value(Elements(held))
    if name == "items":
        return value(Elements(value(Items((UNKNOWN, held)))))
    if name == "copy":
        return value(atom)
    if name not in ("get", "pop", "setdefault", "__getitem__"):
        return UNKNOWN
    key = node.args[0] if node.args else None
    literal = key.value if isinstance(key, ast.Constant) else None
    found = item_of(value(atom), literal if isinstance(literal, (str, int)) else None)
    return join([found, *arguments[1:2]])
