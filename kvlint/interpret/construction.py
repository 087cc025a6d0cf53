"""What an object holds because of what it was made with: `Holder(pool).pool`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from kvlint.interpret.classes import (
    ClassInfo,
    FunctionNode,
    ancestors,
    bindings_of_function,
    is_pool_class,
    source_class,
)
from kvlint.interpret.context import Context
from kvlint.interpret.names import called_name
from kvlint.interpret.values import UNKNOWN, Atom, Elements, Instance, Items, Mapping, Value

Held = dict[str, Value]
MAX_DEPTH = 3


def keeps_arguments(ctx: Context, cls: str) -> bool:
    """Whether it can matter what an object of a class was made with: a class of the project whose
    objects are no pools."""
    return source_class(ctx, cls) is not None and not is_pool_class(ctx, cls)


def constructed(
    ctx: Context, found: Value, arguments: list[Value], keywords: dict[str | None, Value]
) -> Value:
    """Instances that a call of their class gives, with what they were handed and keep."""
    classes = [atom.cls for atom in found.atoms or () if isinstance(atom, Instance)]
    if not any(keeps_arguments(ctx, cls) for cls in classes):
        return found
    if found.atoms is None or not any(bears_pool(ctx, v) for v in (*arguments, *keywords.values())):
        return found
    atoms = [_with_held(ctx, atom, arguments, keywords) for atom in found.atoms]
    return Value(frozenset(atoms), found.evidence)


def _with_held(
    ctx: Context, atom: Atom, arguments: list[Value], keywords: dict[str | None, Value]
) -> Atom:
    if not isinstance(atom, Instance) or is_pool_class(ctx, atom.cls):
        return atom
    infos = [info for name in ancestors(ctx, atom.cls) if (info := source_class(ctx, name))]
    given = dict(_initialised(ctx, infos, arguments, keywords, 0))
    held = {
        name: known
        for name, known in given.items()
        if bears_pool(ctx, known) and not any(name in i.module.stores_on_others for i in infos)
    }
    return replace(atom, held=tuple(sorted(held.items()))) if held else atom


def bears_pool(ctx: Context, known: Value, depth: int = 0) -> bool:
    """Whether a pool can be reached through a value in a few steps."""
    if not known.atoms or depth >= MAX_DEPTH:
        return False
    return any(_bears(ctx, atom, depth) for atom in known.atoms)


def _bears(ctx: Context, atom: Atom, depth: int) -> bool:
    if isinstance(atom, Instance):
        held = (known for _, known in (*atom.held, *atom.typed))
        return is_pool_class(ctx, atom.cls) or any(bears_pool(ctx, h, depth + 1) for h in held)
    if isinstance(atom, Elements):
        return bears_pool(ctx, atom.element, depth + 1)
    if isinstance(atom, Items):
        return any(bears_pool(ctx, item, depth + 1) for item in atom.items)
    return isinstance(atom, Mapping) and bears_pool(ctx, atom.value, depth + 1)


def bound(
    function: FunctionNode, arguments: list[Value], keywords: dict[str | None, Value], skip: int
) -> Held:
    """Parameters by what they are given; `skip` those in front that the call binds itself."""
    positional = [*function.args.posonlyargs, *function.args.args][skip:]
    given = {each.arg: known for each, known in zip(positional, arguments, strict=False)}
    names = {each.arg for each in [*positional, *function.args.kwonlyargs]}
    given.update({name: known for name, known in keywords.items() if name in names})
    return {name: known for name, known in given.items() if name is not None}


def _initialised(
    ctx: Context,
    infos: list[ClassInfo],
    arguments: list[Value],
    keywords: dict[str | None, Value],
    start: int,
) -> Iterator[tuple[str, Value]]:
    """Attributes and what the constructor chain from `start` of the MRO gives them."""
    for place, info in enumerate(infos[start:], start):
        for member in info.members.get("__init__", ()):
            if not isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return
            given = bound(member, arguments, keywords, 1)
            yield from _stored(ctx, infos, member, given)
            for call in _super_calls(member):
                handed = [_of(argument, given) for argument in call.args]
                named = {k.arg: _of(k.value, given) for k in call.keywords}
                yield from _initialised(ctx, infos, handed, named, place + 1)
            return
        if _has_fields(info):
            names = [name for level in reversed(infos[place:]) for name in _fields(level)]
            yield from zip(dict.fromkeys(names), arguments, strict=False)
            yield from ((name, keywords[name]) for name in names if name in keywords)
            return


def _stored(
    ctx: Context, infos: list[ClassInfo], init: FunctionNode, given: Held
) -> Iterator[tuple[str, Value]]:
    """Attributes that nothing but the constructor assigns, once, from a parameter as it came."""
    bindings = bindings_of_function(ctx, init)
    for name, values in bindings.stores.items():
        stored = values[0] if len(values) == 1 else None
        elsewhere = any(method is not init for i in infos for method in i.stores.get(name, ()))
        if isinstance(stored, ast.Name) and stored.id not in bindings.names and not elsewhere:
            yield name, given.get(stored.id, UNKNOWN)


def _super_calls(init: FunctionNode) -> Iterator[ast.Call]:
    for statement in init.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        function = call.func if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(function, ast.Attribute):
            continue
        if function.attr == "__init__" and called_name(function.value) == "super":
            yield call


def _of(argument: ast.expr, given: Held) -> Value:
    return given.get(argument.id, UNKNOWN) if isinstance(argument, ast.Name) else UNKNOWN


def _has_fields(info: ClassInfo) -> bool:
    decorated = {called_name(decorator) for decorator in info.node.decorator_list}
    bases = {base.rpartition(".")[2] for base in info.bases}
    return "dataclass" in decorated or "NamedTuple" in bases


def _fields(info: ClassInfo) -> list[str]:
    return [name for name, members in info.members.items() if isinstance(members[0], ast.AnnAssign)]
