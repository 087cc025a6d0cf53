"""Turns places where a pool is used into `Use` records."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kvlint.interpret.classes import is_contract_class, is_pool_class, is_subclass
from kvlint.interpret.context import Env, Frame
from kvlint.interpret.handlers import all_caught
from kvlint.interpret.uses import Use, UseKind
from kvlint.interpret.values import (
    Atom,
    Buffer,
    ClassObject,
    External,
    Function,
    Instance,
    Items,
    ModuleObject,
    Partial,
    PoolMethod,
    Super,
    Value,
    join,
    only,
    value,
)


def holds_pool(frame: Frame, known: Value) -> bool:
    return any(
        isinstance(atom, Instance) and is_pool_class(frame.ctx, atom.cls)
        for atom in known.atoms or ()
    )


def holds_contract(frame: Frame, known: Value) -> bool:
    """Whether it can be a pool, or an object of another family that the catalogue knows."""
    return any(
        isinstance(atom, Instance) and is_contract_class(frame.ctx, atom.cls)
        for atom in known.atoms or ()
    )


def _add(
    frame: Frame,
    kind: UseKind,
    node: ast.expr,
    receiver: ast.expr,
    known: Value,
    name: str,
    call: ast.Call | None = None,
    probed: frozenset[str] = frozenset(),
    through_super: bool = False,
    flags: frozenset[str] = frozenset(),
    beside: tuple[tuple[str, str], ...] = (),
    bound_by: int = 0,
    count: int = 0,
    given: Atom | None = None,
    others: tuple[str, ...] = (),
) -> None:
    if frame.recorder is None or frame.statement is None:
        return
    frame.recorder.add(
        Use(
            kind=kind,
            node=node,
            receiver=receiver,
            value=known,
            name=name,
            statement=frame.statement,
            call=call,
            caught=all_caught(frame.caught),
            cls=frame.cls.qualname if frame.cls is not None else None,
            function=frame.qualname,
            probed=probed,
            flags=flags,
            beside=beside,
            bound_by=bound_by,
            count=count,
            given=given if isinstance(given, Partial) else None,
            through_super=through_super,
            others=others,
        )
    )


def _drop(frame: Frame, node: ast.AST, kind: UseKind) -> None:
    if frame.recorder is not None:
        frame.recorder.drop(node, kind)


def record_access(
    frame: Frame,
    env: Env,
    node: ast.Attribute,
    base: Value,
    call: ast.Call | None,
    at: ast.expr | None = None,
) -> None:
    """`receiver.name`, called or not. `at` is the expression where it is spelled otherwise."""
    from kvlint.interpret.assignment import path_of
    from kvlint.interpret.remarks import FLAG, instances_known, remarks

    if frame.recorder is None:
        return
    atoms = base.atoms or frozenset()
    supers = [atom for atom in atoms if isinstance(atom, Super)]
    if supers and len(atoms) == 1:
        _record_super(frame, node, supers[0], call)
    elif holds_contract(frame, base) and not _is_replaced(env, node):
        path = path_of(node.value)
        _add(
            frame,
            "access",
            at or node,
            node.value,
            base,
            node.attr,
            call,
            _probed(env, node.value),
            flags=remarks(env, path, FLAG) if path is not None else frozenset(),
            beside=tuple(sorted(instances_known(env))),
        )
    else:
        frame.recorder.drop(at or node, "access")


def _is_replaced(env: Env, node: ast.Attribute) -> bool:
    """Whether the object was given an attribute of this name here."""
    from kvlint.interpret.assignment import path_of

    path = path_of(node)
    known = env.get(path) if path is not None else None
    return known is not None and not any(isinstance(a, Instance) for a in known.atoms or ())


def record_bound(frame: Frame, node: ast.Call, called: Value, given: Atom | None = None) -> None:
    """A call of a pool's method that was taken from it before, or is named by its class."""
    methods = [atom for atom in called.atoms or () if isinstance(atom, PoolMethod)]
    names = sorted({method.name for method in methods})
    pools = {method.pool for method in methods}
    if not methods or len(methods) != len(called.atoms or ()):
        return
    if len(names) > 1 and len(pools) > 1:
        return
    found = join(method.pool for method in methods)
    if holds_contract(frame, found):
        listed = " or ".join(f"`{name}`" for name in names)
        known = found.because(frame.evidence(f"`{ast.unparse(node.func)}` is its {listed}", node))
        named = not isinstance(node.func, ast.Call)
        function = node.func
        _add(
            frame,
            "access",
            function,
            function,
            known,
            names[0],
            node,
            through_super=named,
            others=tuple(names[1:]),
            bound_by=int(any(method.unbound for method in methods)),
            given=given,
        )


def record_called_by_name(
    frame: Frame, node: ast.expr, base: Value, name: str, call: ast.Call
) -> None:
    """`methodcaller(name)(receiver)`."""
    if holds_pool(frame, base):
        step = frame.evidence(f"`{ast.unparse(node)}` calls its `{name}`", node)
        _add(frame, "access", node, node, base.because(step), name, call, through_super=True)


def record_construction(
    frame: Frame, node: ast.Call, called: Value, given: Atom | None = None
) -> None:
    """A call of a class: of a pool, or of another family that the catalogue knows."""
    classes = [atom for atom in called.atoms or () if isinstance(atom, ClassObject) and atom.exact]
    if not classes or len(classes) != len(called.atoms or ()):
        _drop(frame, node, "construct")
    elif all(is_contract_class(frame.ctx, atom.cls) for atom in classes):
        _add(frame, "construct", node, node.func, called, "__init__", node, given=given)


def record_function(frame: Frame, node: ast.Call, called: Value, given: Atom | None = None) -> None:
    """A call of a module function of SGLang that the catalogue knows."""
    atom = only(called)
    name = None
    if isinstance(atom, External):
        name = atom.name
    elif isinstance(atom, Function) and atom.cls is None:
        name = f"{atom.module.name}.{atom.node.name}"
    if name is not None and name in frame.ctx.view.catalogue.functions:
        _add(frame, "function", node, node.func, called, name, node, given=given)


def record_unpacking(frame: Frame, target: ast.Tuple | ast.List, found: Value) -> None:
    """A result of SGLang's taken apart into another number of names than it has parts."""
    items = [atom for atom in found.atoms or () if isinstance(atom, Items) and atom.made_by]
    if not items or len(items) != len(found.atoms or ()):
        return
    count = len(target.elts)
    starred = any(isinstance(element, ast.Starred) for element in target.elts)
    if starred or any(len(atom.items) == count for atom in items):
        _drop(frame, target, "unpack")
    else:
        _add(frame, "unpack", target, target, found, items[0].made_by, count=count)


def record_test(
    frame: Frame, env: Env, test: ast.expr, subject: ast.expr, names: Sequence[str | None]
) -> None:
    """An `isinstance` of classes all of which earlier tests of the same path have taken."""
    from kvlint.interpret.assignment import path_of
    from kvlint.interpret.remarks import NOT, remarks

    path = path_of(subject)
    if frame.recorder is None or path is None:
        return
    taken = remarks(env, path, NOT)
    known = [name for name in names if name is not None and is_contract_class(frame.ctx, name)]
    dead = bool(taken) and bool(known) and len(known) == len(names)
    if dead and all(any(is_subclass(frame.ctx, name, one) for one in taken) for name in known):
        found = value(*(ClassObject(name) for name in known))
        _add(frame, "dead-test", test, subject, found, path)
    else:
        frame.recorder.drop(test, "dead-test")


def record_replacement(frame: Frame, target: ast.Attribute, base: Value, found: Value) -> None:
    """`module.Name = C`, where the module is SGLang's and `Name` a class of the catalogue."""
    module, cls = only(base), only(found)
    if not isinstance(module, (ModuleObject, External)) or not isinstance(cls, ClassObject):
        return
    replaced = only(attribute_of_module(frame, module.name, target.attr))
    if isinstance(replaced, ClassObject) and is_contract_class(frame.ctx, replaced.cls):
        _add(frame, "replace-class", target, target, found, replaced.cls)


def attribute_of_module(frame: Frame, module: str, name: str) -> Value:
    from kvlint.interpret.symbols import module_attribute

    return module_attribute(frame.ctx, module, name)


def _record_super(frame: Frame, node: ast.Attribute, atom: Super, call: ast.Call | None) -> None:
    from kvlint.interpret.classes import ancestors

    order = ancestors(frame.ctx, atom.cls.qualname)
    for base in order[1:]:
        known = frame.ctx.view.catalogue.classes.get(base)
        if known is None:
            return
        if node.attr in known.methods or node.attr in known.class_attributes:
            if known.is_contract:
                found = value(Instance(base, exact=True))
                _add(frame, "access", node, node.value, found, node.attr, call, through_super=True)
            return


def _probed(env: Env, receiver: ast.expr) -> frozenset[str]:
    from kvlint.interpret.assignment import path_of

    path = path_of(receiver)
    if path is None:
        return frozenset()
    prefix = f"{path}?"
    found = (key[len(prefix) :] for key in env if key.startswith(prefix))
    return frozenset(name for name in found if " " not in name)


def record_hasattr(frame: Frame, node: ast.Call, base: Value, name: str) -> None:
    if holds_pool(frame, base):
        _add(frame, "hasattr", node, node.args[0], base, name, node)


def record_sub_pool_store(frame: Frame, target: ast.Attribute, found: Value) -> None:
    """A sub-pool kept in an attribute."""
    atoms = found.atoms or frozenset()
    owned = [atom for atom in atoms if isinstance(atom, Instance) and atom.owner is not None]
    if owned and len(owned) == len(atoms):
        _add(frame, "store-sub-pool", target, target, found, target.attr)


def record_given(frame: Frame, target: ast.Attribute, base: Value) -> None:
    """An object that is given an attribute."""
    if frame.recorder is not None:
        frame.recorder.given[target] = base


def record_store(
    frame: Frame, node: ast.expr, receiver: ast.expr, base: Value, call: ast.Call | None = None
) -> None:
    """A write into the storage of a pool."""
    buffers = [atom for atom in base.atoms or () if isinstance(atom, Buffer)]
    if buffers and len(buffers) == len(base.atoms or ()):
        _add(frame, "store-buffer", node, receiver, base, buffers[0].via, call)


def record_pass(frame: Frame, node: ast.expr, base: Value, call: ast.Call) -> None:
    """A raw buffer handed to a kernel."""
    buffers = [atom for atom in base.atoms or () if isinstance(atom, Buffer) and atom.raw]
    if buffers and len(buffers) == len(base.atoms or ()):
        _add(frame, "pass-buffer", node, node, base, buffers[0].via, call)
