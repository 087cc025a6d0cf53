"""What a name means: in its module, in the modules it is imported from, in SGLang's catalogue."""

from __future__ import annotations

import ast
import re

from kvlint.catalogue.model import Holder
from kvlint.interpret.context import Context, Env, Frame, module_frame
from kvlint.interpret.names import is_overload
from kvlint.interpret.values import (
    NOTHING,
    UNKNOWN,
    Atom,
    ClassObject,
    Elements,
    External,
    Function,
    HolderCall,
    Instance,
    Items,
    Mapping,
    ModuleObject,
    Value,
    item_of,
    join,
    only,
    value,
    without_none,
)
from kvlint.source.index import Assigned, Binding, Imported, Module, functions_at

BUILTINS = frozenset(
    "bool bytes classmethod dict enumerate filter float frozenset getattr hasattr int "
    "isinstance issubclass iter len list map max min next object property range reversed "
    "set setattr slice sorted staticmethod str sum super tuple type vars zip print locals".split()
)


def name_value(frame: Frame, env: Env, name: str) -> Value:
    """The value of a name as a function reads it: local, enclosing, global, builtin."""
    for scope in (env, *frame.outer):
        if name in scope:
            return scope[name]
    return global_value(frame.ctx, frame.module, name)


def global_value(ctx: Context, module: Module, name: str) -> Value:
    """The value of a module's global after the module has run."""
    key = (module.name, name)
    return ctx.ask(key, ctx.globals, lambda: _global_value(ctx, module, name), UNKNOWN)


def _global_value(ctx: Context, module: Module, name: str) -> Value:
    bindings = module.bindings.get(name, [])
    if len(bindings) == 1:
        found = binding_value(ctx, module, bindings[0])
        return _filled(ctx, module, name, found) if _is_container(found) else found
    if not bindings:
        return _unbound(ctx, module, name)
    if any(isinstance(binding, Assigned) and binding.scope is None for binding in bindings):
        from kvlint.interpret.flow import module_env

        parts = [module_env(ctx, module).get(name, UNKNOWN)]
        parts += [
            binding_value(ctx, module, binding)
            for binding in bindings
            if isinstance(binding, Assigned) and binding.scope is not None
        ]
    else:
        declaring = [each for each in bindings if isinstance(each, ast.AST) and is_overload(each)]
        parts = [binding_value(ctx, module, binding) for binding in declaring or bindings]
        parts = [part for part in parts if not _is_elsewhere(ctx, part)] or parts
    return _settled(parts)


def _is_container(known: Value) -> bool:
    return isinstance(only(known), (Elements, Items, Mapping))


def _filled(ctx: Context, module: Module, name: str, found: Value) -> Value:
    """A list or dict that the module adds to: as its top level leaves it, unknown where a function
    does."""
    from kvlint.interpret.flow import module_env

    adding = rf"\b{re.escape(name)}(\.({_ADDING})\(|\[[^\]\n]*\]\s*=[^=]|\s*\+=)"
    text = module.source.text
    lines = [text.count("\n", 0, match.start()) + 1 for match in re.finditer(adding, text)]
    if not lines:
        return found
    if any(functions_at(module.tree.body, lines)):
        return UNKNOWN
    return module_env(ctx, module).get(name, found)


_ADDING = "append|appendleft|add|insert|extend|update|setdefault"


def _is_elsewhere(ctx: Context, part: Value) -> bool:
    """A name of a module that this release of SGLang does not have: imported for another one."""
    return not ctx.view.catalogue.partial and any(
        isinstance(atom, External) and atom.name.startswith("sglang.") for atom in part.atoms or ()
    )


def _settled(parts: list[Value]) -> Value:
    """Join, None set aside: `X = None` before the real binding says nothing about its class."""
    real = [part for part in parts if part != NOTHING]
    return without_none(join(real)) if real else NOTHING


def _unbound(ctx: Context, module: Module, name: str) -> Value:
    for star in module.star_imports:
        found = module_attribute(ctx, star, name)
        if found.known and not any(isinstance(atom, External) for atom in found.atoms or ()):
            return found
    if name in BUILTINS:
        return value(External(f"builtins.{name}"))
    return UNKNOWN


def binding_value(ctx: Context, module: Module, binding: Binding) -> Value:
    from kvlint.interpret.annotations import annotation_value
    from kvlint.interpret.classes import class_info
    from kvlint.interpret.expressions import evaluate
    from kvlint.interpret.flow import entry_env

    if isinstance(binding, Imported):
        source = ctx.project.imported(module, binding.module)
        if binding.name is None:
            return value(ModuleObject(source))
        return module_attribute(ctx, source, binding.name)
    frame = module_frame(ctx, module)
    if isinstance(binding, ast.ClassDef):
        return value(ClassObject(class_info(frame, {}, binding).qualname))
    if isinstance(binding, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return value(Function(module, binding))
    if binding.annotation is not None and not _is_alias_marker(binding.annotation):
        return annotation_value(frame, {}, binding.annotation)
    if binding.value is None:
        return UNKNOWN
    env: Env = {}
    if binding.scope is not None:
        env = entry_env(frame, binding.scope)
    found = evaluate(frame, env, binding.value)
    return found if binding.position is None else item_of(found, binding.position)


def _is_alias_marker(annotation: ast.expr) -> bool:
    text = ast.unparse(annotation)
    return text.rpartition(".")[2] in ("TypeAlias", "Final")


def module_attribute(ctx: Context, module_name: str, name: str) -> Value:
    """What `from module_name import name` binds."""
    qualname = f"{module_name}.{name}"
    if qualname in ctx.view.catalogue.classes:
        return value(ClassObject(qualname))
    module = ctx.project.module(module_name)
    if module is not None:
        if name in module.bindings:
            return global_value(ctx, module, name)
        for star in module.star_imports:
            found = module_attribute(ctx, star, name)
            if found.known and not isinstance(next(iter(found.atoms or ()), None), External):
                return found
    return _catalogued(ctx, module_name, name, qualname, module)


def _catalogued(
    ctx: Context, module_name: str, name: str, qualname: str, module: Module | None
) -> Value:
    exported = ctx.view.catalogue.exports.get(module_name, {}).get(name)
    if exported is not None:
        return value(ClassObject(exported))
    if qualname in ctx.holders:
        return value(ClassObject(qualname))
    for owner in ctx.owners().get(name, ()):
        # A package hands on what its modules define: sglang/srt/mem_cache/allocator/__init__.py.
        if owner.startswith(f"{module_name}."):
            return value(ClassObject(owner))
    holder = ctx.holders.get(module_name, {}).get(name)
    if holder is not None:
        found = holder_value(ctx, holder)
        return value(HolderCall(found)) if holder.form == "function" else found
    if ctx.project.module(qualname) is not None:
        return value(ModuleObject(qualname))
    return UNKNOWN if module is not None else value(External(qualname))


def holder_value(ctx: Context, holder: Holder) -> Value:
    """What comes out of a holder: its pool classes, or the object on the way to one."""
    from kvlint.findings import Evidence

    owner = holder.owner.rpartition(".")[2]
    atoms: list[Atom] = [Instance(cls) for cls in holder.classes]
    if holder.value_class is not None:
        atoms.append(Instance(holder.value_class))
    names = ", ".join(sorted({cls.rpartition(".")[2] for cls in holder.classes})) or (
        holder.value_class or ""
    )
    step = Evidence(f"SGLang's `{owner}.{holder.name}` holds {names}")
    return value(*atoms, evidence=(step,)) if atoms else UNKNOWN
