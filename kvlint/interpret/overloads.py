"""Which of a function's overloads a call means."""

from __future__ import annotations

import ast

from kvlint.interpret.annotations import annotation_value
from kvlint.interpret.class_sets import meet
from kvlint.interpret.classes import class_frame
from kvlint.interpret.context import Context, Frame
from kvlint.interpret.names import is_overload, last_name
from kvlint.interpret.values import Constant, Function, Instance, Nothing, Value


def chosen(
    ctx: Context, called: Value, arguments: list[Value], keywords: dict[str | None, Value]
) -> Value:
    """Of several overloads those that take these arguments."""
    atoms = called.atoms or frozenset()
    overloads = [atom for atom in atoms if isinstance(atom, Function) and is_overload(atom.node)]
    if len(overloads) < 2 or len(overloads) < len(atoms):
        return called
    fitting = [each for each in overloads if _takes(ctx, each, arguments, keywords)]
    return Value(frozenset(fitting or overloads), called.evidence)


def _takes(
    ctx: Context, called: Function, arguments: list[Value], keywords: dict[str | None, Value]
) -> bool:
    parameters = called.node.args
    positional = [*parameters.posonlyargs, *parameters.args]
    own = called.cls is not None and called.self_value is not None
    positional = positional[1:] if own else positional
    if len(arguments) > len(positional) and parameters.vararg is None:
        return False
    required = positional[: len(positional) - len(parameters.defaults)]
    if any(each.arg not in keywords for each in required[len(arguments) :]):
        return None in keywords
    pairs = list(zip(positional, arguments, strict=False))
    named = [*positional, *parameters.kwonlyargs]
    pairs += [(each, keywords[each.arg]) for each in named if each.arg in keywords]
    frame = class_frame(ctx, called.cls) if called.cls else Frame(ctx, called.module)
    return all(_fits(frame, each.annotation, given) for each, given in pairs)


def _fits(frame: Frame, annotation: ast.expr | None, given: Value) -> bool:
    if annotation is None or given.atoms is None:
        return True
    if isinstance(annotation, ast.Subscript) and last_name(annotation.value) == "Literal":
        inner = annotation.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        literals = {part.value for part in parts if isinstance(part, ast.Constant)}
        constants = [atom.value for atom in given.atoms if isinstance(atom, Constant)]
        return not constants or any(constant in literals for constant in constants)
    declared = annotation_value(frame, {}, annotation)
    if any(isinstance(atom, Nothing) for atom in given.atoms):
        nothing = any(isinstance(atom, Nothing) for atom in declared.atoms or ())
        return nothing or not declared.known
    constants = [atom.value for atom in given.atoms if isinstance(atom, Constant)]
    if constants and declared.known:
        classes = {atom.cls for atom in declared.atoms or () if isinstance(atom, Instance)}
        return any(f"builtins.{type(constant).__name__}" in classes for constant in constants)
    if not all(isinstance(atom, Instance) for atom in given.atoms):
        return True
    return _disjoint(frame.ctx, declared, given) is False


def _disjoint(ctx: Context, declared: Value, given: Value) -> bool:
    loose = Value(
        frozenset(Instance(a.cls) if isinstance(a, Instance) else a for a in given.atoms or ())
    )
    return meet(ctx, declared, loose) is None
