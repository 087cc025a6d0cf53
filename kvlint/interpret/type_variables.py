"""Generic functions: what the arguments of a call make of `def first(items: list[T]) -> T`."""

from __future__ import annotations

import ast

from kvlint.interpret.annotations import ITERABLES, annotation_value, as_classes, unquoted
from kvlint.interpret.construction import bound
from kvlint.interpret.context import Frame
from kvlint.interpret.names import called_name, last_name
from kvlint.interpret.slicing import names_in
from kvlint.interpret.values import (
    UNKNOWN,
    ClassObject,
    Function,
    HolderCall,
    Instance,
    Value,
    element_of,
    join,
    only,
    value,
    without_none,
)
from kvlint.source.index import Assigned, Module


def type_variables(called: Function) -> frozenset[str]:
    """The type variables that a function's declared result speaks of."""
    returns = unquoted(called.node.returns)
    if returns is None:
        return frozenset()
    own = {parameter.name for parameter in getattr(called.node, "type_params", ())}
    if not own and "TypeVar" not in called.module.source.words:
        return frozenset()
    return frozenset(n for n in names_in(returns) if n in own or _is_variable(called.module, n))


def _is_variable(module: Module, name: str) -> bool:
    return any(
        isinstance(binding, Assigned)
        and isinstance(binding.value, ast.Call)
        and called_name(binding.value) == "TypeVar"
        for binding in module.bindings.get(name, ())
    )


def solved(
    frame: Frame, called: Function, arguments: list[Value], keywords: dict[str | None, Value]
) -> Value:
    """What a generic function gives for these arguments; unknown where they do not tell."""
    variables = type_variables(called)
    returns = unquoted(called.node.returns)
    if not variables or returns is None:
        return UNKNOWN
    own = called.cls is not None and called.self_value is not None
    given = bound(called.node, arguments, keywords, 1 if own else 0)
    meant: dict[str, list[Value]] = {}
    parameters = called.node.args
    for each in [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]:
        annotation = unquoted(each.annotation)
        if annotation is not None and each.arg in given:
            _match(annotation, given[each.arg], variables, meant)
    known = {name: join(values) for name, values in meant.items()}
    if isinstance(returns, ast.Name):
        return known.get(returns.id, UNKNOWN)
    env = as_classes(known)
    if not variables <= env.keys():
        return UNKNOWN
    return annotation_value(Frame(frame.ctx, called.module, called.cls), env, returns)


def _match(
    annotation: ast.expr, given: Value, variables: frozenset[str], meant: dict[str, list[Value]]
) -> None:
    """Note what each type variable of an annotation is where it is given this value."""
    if isinstance(annotation, ast.Name):
        if annotation.id in variables:
            meant.setdefault(annotation.id, []).append(given)
        return
    if isinstance(annotation, ast.BinOp):
        for side in (annotation.left, annotation.right):
            _match(side, without_none(given), variables, meant)
        return
    if not isinstance(annotation, ast.Subscript):
        return
    head, inner = last_name(annotation.value), annotation.slice
    atom = only(given)
    if head == "Optional":
        _match(inner, without_none(given), variables, meant)
    elif head in ITERABLES:
        _match(inner, element_of(given), variables, meant)
    elif head in ("type", "Type") and isinstance(atom, ClassObject):
        _match(inner, value(Instance(atom.cls, exact=atom.exact)), variables, meant)
    elif head == "Callable" and isinstance(inner, ast.Tuple):
        result = UNKNOWN
        if isinstance(atom, HolderCall):
            result = atom.result
        elif isinstance(atom, ClassObject):
            result = value(Instance(atom.cls, exact=atom.exact))
        _match(inner.elts[-1], result, variables, meant)
