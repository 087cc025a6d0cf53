"""Texts and numbers that an expression of a module stands for, wherever they are stated."""

from __future__ import annotations

import ast

from kvlint.interpret.classes import ancestors, class_frame, source_class
from kvlint.interpret.context import Context, Frame, module_frame
from kvlint.interpret.expressions import evaluate
from kvlint.interpret.symbols import global_value
from kvlint.interpret.values import UNKNOWN, ClassObject, Constant, ModuleObject, Value, only
from kvlint.source.index import Assigned, Imported, Module

Scalar = str | int | bool
MOST = 8
_STEPS = 8


def constants(ctx: Context, module: Module, node: ast.expr) -> tuple[Scalar, ...]:
    """The constants that a global or an attribute of a module or class can be, and nothing else;
    empty where it can. Assigned once, it is what is assigned, whatever it is annotated."""
    found = _value(ctx, module, node)
    atoms = [atom.value for atom in found.atoms or () if isinstance(atom, Constant)]
    if not atoms or len(atoms) < len(found.atoms or ()) or len(atoms) > MOST:
        return ()
    return tuple(sorted(atoms, key=repr))


def _value(ctx: Context, module: Module, node: ast.expr) -> Value:
    if isinstance(node, ast.Name):
        return _global(ctx, module, node.id)
    if not isinstance(node, ast.Attribute):
        return UNKNOWN
    owner = only(evaluate(module_frame(ctx, module), {}, node.value))
    if isinstance(owner, ModuleObject):
        defined = ctx.project.module(owner.name)
        return _global(ctx, defined, node.attr) if defined is not None else UNKNOWN
    if isinstance(owner, ClassObject):
        return _of_class(ctx, owner.cls, node.attr)
    return evaluate(module_frame(ctx, module), {}, node)


def _global(ctx: Context, module: Module, name: str) -> Value:
    place: Module | None = module
    for _ in range(_STEPS):
        bindings = place.bindings.get(name, []) if place is not None else []
        if place is None or not bindings:
            return UNKNOWN
        binding = bindings[0]
        if len(bindings) > 1:
            return global_value(ctx, place, name)
        if isinstance(binding, Assigned):
            return _assigned(module_frame(ctx, place), binding)
        if not isinstance(binding, Imported) or binding.name is None:
            return UNKNOWN
        source = ctx.project.imported(place, binding.module)
        place, name = ctx.project.module(source), binding.name
    return UNKNOWN


def _assigned(frame: Frame, binding: Assigned) -> Value:
    if binding.value is None or binding.position is not None or binding.scope is not None:
        return UNKNOWN
    return evaluate(frame, {}, binding.value)


def _of_class(ctx: Context, cls: str, name: str) -> Value:
    order = ancestors(ctx, cls)
    if any(base.startswith("enum.") for base in order) and "str" not in order:
        return UNKNOWN  # a member, which is not its value
    for base in order:
        info = source_class(ctx, base)
        members = info.members.get(name, []) if info is not None else []
        if info is None or not members:
            continue
        values = [m.value for m in members if isinstance(m, (ast.Assign, ast.AnnAssign))]
        if len(values) != 1 or len(members) != 1 or values[0] is None or name in info.stores:
            return UNKNOWN
        return evaluate(class_frame(ctx, info), {}, values[0])
    return UNKNOWN
