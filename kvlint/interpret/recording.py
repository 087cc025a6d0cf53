"""Turns places where a pool is used into `Use` records."""

from __future__ import annotations

import ast

from kvlint.interpret.classes import is_pool_class
from kvlint.interpret.context import Env, Frame
from kvlint.interpret.handlers import all_caught
from kvlint.interpret.uses import Use, UseKind
from kvlint.interpret.values import Buffer, Instance, PoolMethod, Super, Value, join, value


def holds_pool(frame: Frame, known: Value) -> bool:
    return any(
        isinstance(atom, Instance) and is_pool_class(frame.ctx, atom.cls)
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
            through_super=through_super,
            others=others,
        )
    )


def record_access(
    frame: Frame,
    env: Env,
    node: ast.Attribute,
    base: Value,
    call: ast.Call | None,
    at: ast.expr | None = None,
) -> None:
    """`receiver.name`, called or not. `at` is the expression where it is spelled otherwise."""
    if frame.recorder is None:
        return
    atoms = base.atoms or frozenset()
    supers = [atom for atom in atoms if isinstance(atom, Super)]
    if supers and len(atoms) == 1:
        _record_super(frame, node, supers[0], call)
    elif holds_pool(frame, base) and not _is_replaced(env, node):
        probed = _probed(env, node.value)
        _add(frame, "access", at or node, node.value, base, node.attr, call, probed)
    else:
        frame.recorder.drop(at or node, "access")


def _is_replaced(env: Env, node: ast.Attribute) -> bool:
    """Whether the object was given an attribute of this name here."""
    from kvlint.interpret.assignment import path_of

    path = path_of(node)
    known = env.get(path) if path is not None else None
    return known is not None and not any(isinstance(a, Instance) for a in known.atoms or ())


def record_bound(frame: Frame, node: ast.Call, called: Value) -> None:
    """A call of a pool's method that was taken from it before, or is named by its class."""
    methods = [atom for atom in called.atoms or () if isinstance(atom, PoolMethod)]
    names = sorted({method.name for method in methods})
    pools = {method.pool for method in methods}
    if not methods or len(methods) != len(called.atoms or ()):
        return
    if len(names) > 1 and len(pools) > 1:
        return
    found = join(method.pool for method in methods)
    if holds_pool(frame, found):
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
        )


def record_called_by_name(
    frame: Frame, node: ast.expr, base: Value, name: str, call: ast.Call
) -> None:
    """`methodcaller(name)(receiver)`."""
    if holds_pool(frame, base):
        step = frame.evidence(f"`{ast.unparse(node)}` calls its `{name}`", node)
        _add(frame, "access", node, node, base.because(step), name, call, through_super=True)


def _record_super(frame: Frame, node: ast.Attribute, atom: Super, call: ast.Call | None) -> None:
    from kvlint.interpret.classes import ancestors

    order = ancestors(frame.ctx, atom.cls.qualname)
    for base in order[1:]:
        known = frame.ctx.view.catalogue.classes.get(base)
        if known is None:
            return
        if node.attr in known.methods or node.attr in known.class_attributes:
            if known.is_pool:
                found = value(Instance(base, exact=True))
                _add(frame, "access", node, node.value, found, node.attr, call, through_super=True)
            return


def _probed(env: Env, receiver: ast.expr) -> frozenset[str]:
    from kvlint.interpret.assignment import path_of

    path = path_of(receiver)
    if path is None:
        return frozenset()
    prefix = f"{path}?"
    return frozenset(key[len(prefix) :] for key in env if key.startswith(prefix))


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
