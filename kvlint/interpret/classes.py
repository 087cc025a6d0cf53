"""Classes of the checked project: their bases, and what an attribute of an instance holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from kvlint.catalogue.class_facts import own_facts
from kvlint.interpret.context import Context, Env, Frame, module_frame
from kvlint.interpret.names import called_name, is_overload, last_name
from kvlint.interpret.slicing import Bindings, bindings_in
from kvlint.interpret.values import (
    NOTHING,
    UNKNOWN,
    ClassObject,
    Elements,
    External,
    Function,
    Instance,
    Mapping,
    Value,
    join,
    value,
    without_none,
)
from kvlint.source.index import Module, functions_at

SGLANG = "sglang."
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, eq=False)
class ClassInfo:
    """One class body of the project. `bases` are qualified names; a base that is not understood
    is "?"."""

    qualname: str
    module: Module
    node: ast.ClassDef
    bases: tuple[str, ...]
    is_pool: bool
    outer: tuple[Env, ...] = ()
    members: dict[str, list[ast.stmt]] = field(default_factory=dict)
    stores: dict[str, list[FunctionNode]] = field(default_factory=dict)
    """Attribute -> methods that assign it on their first parameter."""

    @property
    def name(self) -> str:
        return self.node.name


def class_info(frame: Frame, env: Env, node: ast.ClassDef) -> ClassInfo:
    """Facts about a class statement; a pool class joins the catalogue's view. One of a SGLang that
    is checked beside another release is not judged by what that release says of its bases."""
    from kvlint.interpret.expressions import evaluate

    ctx = frame.ctx
    known = ctx.class_of_node.get(node)
    if known is not None:
        return known
    if node in ctx.active:
        return ClassInfo("?", frame.module, node, (), False)
    ctx.active[node] = len(ctx.active)
    try:
        quiet = Frame(ctx, frame.module, frame.cls, None, frame.qualname, frame.outer)
        bases = tuple(_base_name(evaluate(quiet, env, base)) for base in _base_nodes(node))
    finally:
        del ctx.active[node]
    scope = (
        f"{frame.qualname}.<locals>."
        if frame.function is not None
        else (f"{frame.qualname}." if frame.qualname else "")
    )
    qualname = f"{frame.module.name}.{scope}{node.name}"
    outer = (env, *frame.outer) if frame.function is not None else ()
    judged = not (ctx.view.catalogue.partial and frame.module.name.startswith(SGLANG))
    is_pool = judged and any(is_pool_class(ctx, base) for base in bases)
    info = ClassInfo(qualname, frame.module, node, bases, is_pool, outer)
    _index_members(ctx, info)
    ctx.class_of_node[node] = info
    ctx.classes[qualname] = info
    if is_pool or (judged and _is_mixin_of_catalogue(ctx, bases)):
        join_catalogue(ctx, info)
    return info


def _base_nodes(node: ast.ClassDef) -> Iterator[ast.expr]:
    for base in node.bases:
        yield base.value if isinstance(base, ast.Subscript) else base


def _base_name(base: Value) -> str:
    atoms = base.atoms or frozenset()
    if len(atoms) == 1:
        atom = next(iter(atoms))
        if isinstance(atom, ClassObject):
            return atom.cls
        if isinstance(atom, External):
            return atom.name.removeprefix("builtins.")
    return "?"


def _is_mixin_of_catalogue(ctx: Context, bases: tuple[str, ...]) -> bool:
    return any(base in ctx.view.catalogue.classes for base in bases)


def join_catalogue(ctx: Context, info: ClassInfo) -> None:
    """Add a project class, and the project classes among its bases, to the view."""
    if info.qualname in ctx.view.catalogue.classes:
        return
    for base in info.bases:
        parent = ctx.classes.get(base)
        if parent is not None:
            join_catalogue(ctx, parent)
    path = info.module.path.as_posix()
    own = own_facts(info.node, info.qualname, info.bases, path, info.is_pool)
    family = ctx.view.family(info.bases)
    ctx.view.add(own if info.is_pool or family is None else replace(own, family=family))
    ctx.parts.clear()


def is_pool_class(ctx: Context, qualname: str) -> bool:
    known = ctx.view.catalogue.classes.get(qualname)
    if known is not None:
        return known.is_pool
    info = ctx.classes.get(qualname)
    return info is not None and info.is_pool


def is_contract_class(ctx: Context, qualname: str) -> bool:
    """Whether a class is a pool, or of another family that the catalogue knows."""
    known = ctx.view.catalogue.classes.get(qualname)
    if known is None:
        return is_pool_class(ctx, qualname)
    return known.is_contract


def _index_members(ctx: Context, info: ClassInfo) -> None:
    for statement in _body(info.node.body):
        for name in _member_names(statement):
            info.members.setdefault(name, []).append(statement)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bindings = bindings_of_function(ctx, statement)
            for name in {*bindings.stores, *bindings.inner_stores}:
                info.stores.setdefault(name, []).append(statement)


def _body(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _body(statement.body)
            yield from _body(statement.orelse)
        else:
            yield statement


def _member_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id


def bindings_of_function(ctx: Context, function: FunctionNode) -> Bindings:
    if function not in ctx.bindings:
        ctx.bindings[function] = bindings_in(function)
    return ctx.bindings[function]


def ancestors(ctx: Context, qualname: str) -> list[str]:
    """The class and its bases, nearest first: the MRO for pools, depth first otherwise."""
    if qualname in ctx.view.catalogue.classes:
        return list(ctx.view.mro(qualname))
    found: list[str] = [qualname]
    info = ctx.classes.get(qualname)
    for base in info.bases if info is not None else ():
        if base in found:
            continue
        found += [name for name in ancestors(ctx, base) if name not in found]
    return found


def is_subclass(ctx: Context, qualname: str, base: str) -> bool:
    return qualname == base or base in ancestors(ctx, qualname)


def source_class(ctx: Context, qualname: str) -> ClassInfo | None:
    """The class body behind a qualified name, where its module is part of the project."""
    if qualname in ctx.classes:
        return ctx.classes[qualname]
    module_name, _, name = qualname.rpartition(".")
    module = ctx.project.module(module_name) if module_name else None
    for binding in module.bindings.get(name, ()) if module is not None else ():
        if isinstance(binding, ast.ClassDef) and module is not None:
            return class_info(module_frame(ctx, module), {}, binding)
    return None


def class_frame(ctx: Context, info: ClassInfo) -> Frame:
    prefix = info.qualname.removeprefix(f"{info.module.name}.")
    return Frame(ctx, info.module, info, None, prefix, info.outer)


def instance_attribute(ctx: Context, cls: str, name: str) -> Value | None:
    """What `name` of an instance of a project class holds; None where no project class of its MRO
    says anything of it."""
    key = ("attribute", cls, name)
    return ctx.ask(key, ctx.attributes, lambda: _instance_attribute(ctx, cls, name), UNKNOWN)


def _instance_attribute(ctx: Context, cls: str, name: str) -> Value | None:
    infos = [info for base in ancestors(ctx, cls) if (info := source_class(ctx, base)) is not None]
    for info in infos:
        declared = _declared(ctx, info, name)
        if declared is not None:
            return declared
    parts = [part for info, ran in _constructed(infos) for part in _assigned(ctx, info, name, ran)]
    promised = _promised(ctx, infos, name)
    if promised is not None:
        parts = [_as_promised(ctx, promised, part) for part in parts]
    if any(isinstance(atom, Instance) for part in parts for atom in part.atoms or ()):
        # `self.table.add(pool)` says nothing of a table that is an object of its own.
        parts = [part for part in parts if not _is_container(part)]
    if not parts:
        return None
    real = [part for part in parts if without_none(part) != value()]
    found = without_none(join(real)) if real else NOTHING
    if found.atoms and any(_set_from_outside(info, name) for info in infos):
        return UNKNOWN
    return found


def _set_from_outside(info: ClassInfo, name: str) -> bool:
    """Whether a function of the class's module assigns the attribute of an object that it takes as
    one of the class."""
    for holder, line in info.module.stores_on_others.get(name, ()):
        for function in functions_at(info.module.tree.body, [line]):
            arguments = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
            taken = [each.annotation for each in arguments if each.arg == holder]
            if any(node is not None and info.name in ast.unparse(node) for node in taken):
                return True
    return False


def _declared(ctx: Context, info: ClassInfo, name: str) -> Value | None:
    """A method, a property, or an annotation that assigns nothing: in the class body, or of
    self."""
    from kvlint.interpret.annotations import annotation_value
    from kvlint.interpret.functions import property_value

    for member in reversed(info.members.get(name, [])):
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if _is_setter(member):
                continue
            if is_property(member):
                return property_value(ctx, info, member)
            return _method(info, name, member)
        if isinstance(member, ast.AnnAssign):
            declared = annotation_value(class_frame(ctx, info), {}, member.annotation)
            if declared.known:
                step = class_frame(ctx, info).evidence(
                    f"`{info.name}.{name}` is annotated `{ast.unparse(member.annotation)}`", member
                )
                return Value(without_none(declared).atoms, (step,))
    for method in info.stores.get(name, []):
        node = bindings_of_function(ctx, method).annotated.get(name)
        if node is not None and node.value is None:
            frame = class_frame(ctx, info)
            declared = annotation_value(frame, {}, node.annotation)
            if declared.known:
                text = f"`self.{name}` is annotated `{ast.unparse(node.annotation)}`"
                return Value(without_none(declared).atoms, (frame.evidence(text, node),))
    return None


def _method(info: ClassInfo, name: str, last: FunctionNode) -> Value:
    """A method: the last one of its name, or its overloads, which declare what it gives."""
    functions = [m for m in info.members[name] if isinstance(m, FUNCTION_NODES)]
    declaring = [node for node in functions if is_overload(node)] or [last]
    return value(*(Function(info.module, node, info) for node in declaring))


def _promised(ctx: Context, infos: list[ClassInfo], name: str) -> Value | None:
    """The annotation of `self.name: X = ...`, where there is one that is understood."""
    from kvlint.interpret.annotations import annotation_value

    for info in infos:
        for method in info.stores.get(name, []):
            node = bindings_of_function(ctx, method).annotated.get(name)
            if node is None or node.value is None:
                continue
            frame = class_frame(ctx, info)
            declared = annotation_value(frame, {}, node.annotation)
            if declared.known:
                text = f"`self.{name}` is annotated `{ast.unparse(node.annotation)}`"
                return Value(declared.atoms, (frame.evidence(text, node),))
    return None


def _as_promised(ctx: Context, promised: Value, part: Value) -> Value:
    """An assignment as the annotation has it. One of another class stays what it is: SGLang
    annotates one branch and assigns something else in the next
    (sglang/srt/managers/hisparse_coordinator.py)."""
    from kvlint.interpret.class_sets import meet

    if part in (NOTHING, value()):
        return promised
    met = meet(ctx, promised, part)
    return part if met is None else met


_BY_NAME = re.compile(r"setattr\(\s*self\s*,\s*[^'\"\s]|self\.__dict__|vars\(self\)")


@lru_cache(maxsize=1024)
def _sets_by_name(info: ClassInfo) -> bool:
    """Whether the class sets attributes of self under computed names: any of them, then."""
    lines = info.module.source.lines[info.node.lineno - 1 : info.node.end_lineno]
    return any(_BY_NAME.search(line) for line in lines if "self" in line)


def _is_container(part: Value) -> bool:
    return bool(part.atoms) and all(isinstance(a, (Elements, Mapping)) for a in part.atoms or ())


def _constructed(infos: list[ClassInfo]) -> Iterator[tuple[ClassInfo, bool]]:
    """Each class, and whether its `__init__` runs: not where a nearer one calls no other."""
    runs = True
    for info in infos:
        yield info, runs
        for member in info.members.get("__init__", ()) if runs else ():
            lines = info.module.source.lines[member.lineno - 1 : member.end_lineno]
            runs = any(".__init__" in line for line in lines)


def _assigned(ctx: Context, info: ClassInfo, name: str, runs: bool) -> Iterator[Value]:
    from kvlint.interpret.expressions import evaluate
    from kvlint.interpret.functions import property_value, stores_of

    for member in info.members.get(name, []):
        if isinstance(member, ast.Assign):
            getter = _getter_of(info, member.value)
            if getter is not None:
                yield property_value(ctx, info, getter)
                continue
            found = evaluate(class_frame(ctx, info), {}, member.value)
            yield found if found != value(Elements(value())) else value()
        elif isinstance(member, ast.ClassDef):
            nested = class_info(class_frame(ctx, info), {}, member)
            yield value(ClassObject(nested.qualname))
        elif isinstance(member, ast.AnnAssign):
            yield UNKNOWN
    if _sets_by_name(info):
        yield UNKNOWN
    if not ctx.may_bear(info.module, name):
        if name in info.stores:
            yield UNKNOWN
        return
    for method in info.stores.get(name, []):
        if method.name == "__init__" and not runs:
            continue
        if name in bindings_of_function(ctx, method).inner_stores:
            yield UNKNOWN
        yield from stores_of(ctx, info, method, name) or [UNKNOWN]


def _getter_of(info: ClassInfo, node: ast.expr) -> FunctionNode | None:
    """The method behind `name = property(method)`."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "property" or not node.args:
        return None
    getter = node.args[0]
    for member in info.members.get(getter.id, ()) if isinstance(getter, ast.Name) else ():
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return member
    return None


def _is_setter(function: FunctionNode) -> bool:
    """`@name.setter`: the property itself is defined before."""
    return any(
        isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter")
        for decorator in function.decorator_list
    )


def is_property(function: FunctionNode) -> bool:
    return any(
        called_name(decorator) in ("property", "cached_property", "abstractproperty")
        for decorator in function.decorator_list
    )
