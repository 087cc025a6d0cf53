"""Generic classes of the project: what their arguments make of what is annotated with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.interpret.annotations import annotation_value, as_classes
from kvlint.interpret.classes import (
    ClassInfo,
    bindings_of_function,
    class_frame,
    is_property,
    source_class,
)
from kvlint.interpret.context import Context, Env
from kvlint.interpret.names import last_name
from kvlint.interpret.values import UNKNOWN, Instance, Value, without_none

MAX_BASES = 16


def parameters_of(info: ClassInfo) -> list[str]:
    """The names of a class's type parameters, in the order in which arguments are given."""
    own = [parameter.name for parameter in getattr(info.node, "type_params", ())]
    subscripted = [base for base in info.node.bases if isinstance(base, ast.Subscript)]
    generic = [base for base in subscripted if last_name(base.value) in ("Generic", "Protocol")]
    for base in generic or subscripted:
        own += [part.id for part in _parts(base) if isinstance(part, ast.Name)]
    return list(dict.fromkeys(own))


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def with_arguments(ctx: Context, made: Value, arguments: list[Value]) -> Value:
    """`Slot[C]`: instances of the class, with what its parameters stand for."""
    atoms = []
    for atom in made.atoms or ():
        info = source_class(ctx, atom.cls) if isinstance(atom, Instance) else None
        if info is None or not isinstance(atom, Instance):
            return made
        names = parameters_of(info)
        typed = tuple(pair for pair in zip(names, arguments, strict=False) if pair[1].known)
        atoms.append(Instance(atom.cls, atom.exact, atom.minus, atom.owner, atom.held, typed))
    return Value(frozenset(atoms), made.evidence) if made.known else made


def environment_of(ctx: Context, atom: Instance, cls: str) -> Env:
    """The type parameters of a class of the instance's MRO as the instance has them."""
    return next((env for info, env in _levels(ctx, atom) if info.qualname == cls), {})


def _levels(ctx: Context, atom: Instance) -> Iterator[tuple[ClassInfo, Env]]:
    """The classes of the project that the instance is of, with their type parameters."""
    info = source_class(ctx, atom.cls)
    queue = [(info, as_classes(dict(atom.typed)))] if info is not None else []
    for _ in range(MAX_BASES):
        if not queue:
            return
        info, env = queue.pop(0)
        yield info, env
        for name, node in zip(info.bases, info.node.bases, strict=False):
            base = source_class(ctx, name)
            if base is None:
                continue
            given: dict[str, Value] = {}
            if isinstance(node, ast.Subscript):
                frame = class_frame(ctx, info)
                values = [annotation_value(frame, env, part) for part in _parts(node)]
                given = dict(zip(parameters_of(base), values, strict=False))
            queue.append((base, as_classes(given)))


def typed_attribute(ctx: Context, atom: Instance, name: str) -> Value:
    """An attribute that a generic class annotates with its parameters."""
    if not atom.typed and not _is_generic(ctx, atom):
        return UNKNOWN
    for info, env in _levels(ctx, atom):
        node = _annotation(ctx, info, name)
        if node is not None and env:
            found = annotation_value(class_frame(ctx, info), env, node)
            text = f"`{info.name}.{name}` is annotated `{ast.unparse(node)}`"
            step = class_frame(ctx, info).evidence(text, node)
            return Value(without_none(found).atoms, (step,)) if found.known else UNKNOWN
    return UNKNOWN


def _is_generic(ctx: Context, atom: Instance) -> bool:
    """Whether a base of the class is given arguments."""
    if atom.cls not in ctx.generic:
        bases = [base for info, _ in _levels(ctx, atom) for base in info.node.bases]
        ctx.generic[atom.cls] = any(isinstance(base, ast.Subscript) for base in bases)
    return ctx.generic[atom.cls]


def _annotation(ctx: Context, info: ClassInfo, name: str) -> ast.expr | None:
    for member in info.members.get(name, ()):
        if isinstance(member, ast.AnnAssign):
            return member.annotation
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_property(member):
            return member.returns
    for method in info.stores.get(name, ()):
        bindings = bindings_of_function(ctx, method)
        if name in bindings.annotated:
            return bindings.annotated[name].annotation
        values = bindings.stores.get(name, [])
        names = {each.id for each in values if isinstance(each, ast.Name)}
        for argument in [*method.args.args, *method.args.kwonlyargs]:
            if len(values) == 1 and argument.arg in names:
                return argument.annotation
    return None
