"""Access paths, and what binding a target makes an environment say of them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kvlint.interpret.access import subscripted
from kvlint.interpret.class_sets import meet
from kvlint.interpret.context import Env, Frame
from kvlint.interpret.interest import touches
from kvlint.interpret.recording import (
    record_given,
    record_replacement,
    record_store,
    record_sub_pool_store,
    record_unpacking,
)
from kvlint.interpret.slicing import names_in
from kvlint.interpret.values import (
    NEVER,
    NOTHING,
    Atom,
    Constant,
    Elements,
    Instance,
    Items,
    Mapping,
    Value,
    join,
    only,
    value,
)


def path_of(node: ast.AST) -> str | None:
    """The access path of an expression: `a.b`, `a.b[0]`, `a[i]`; None where it has none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = path_of(node.value)
        return f"{base}.{node.attr}" if base is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.Name)):
        base = path_of(node.value)
        key = node.slice.id if isinstance(node.slice, ast.Name) else repr(node.slice.value)
        return f"{base}[{key}]" if base is not None else None
    if isinstance(node, ast.NamedExpr):
        return node.target.id
    return None


def forget(env: Env, path: str) -> None:
    """Drop what is known of the path and of everything reached through it."""
    env.pop(path, None)
    if PATHS not in env:
        return
    prefixes = (f"{path}.", f"{path}[", f"{path}?", f"{path}=")
    index = f"[{path}]"
    for key in [key for key in env if key.startswith(prefixes) or index in key]:
        del env[key]
    for key in [key for key in env if key.endswith("=")] if ALIASES in env else ():
        whole = alias_of(env, key[:-1])
        if whole is not None and (whole == path or whole.startswith(prefixes) or index in whole):
            del env[key]


ALIASES = "\1"
"""A key that stands in an environment with other names of paths in it."""
PATHS = "\0"
"""A key that stands in an environment with access paths in it: most have none, and forgetting a
plain name need not look for them."""


MOST_KEPT = 400
"""Each assignment looks through all paths that an environment holds: where it holds this many names
no more are added. What is not kept is asked of the object's class instead."""


def alias_of(env: Env, name: str) -> str | None:
    """The path that a name was assigned from, where neither has been assigned since."""
    atom = only(env[f"{name}="]) if f"{name}=" in env else None
    return str(atom.value) if isinstance(atom, Constant) else None


def other_names(env: Env, path: str) -> list[str]:
    """The names that hold the same object as the path."""
    if ALIASES not in env:
        return []
    whole = alias_of(env, path) or path
    names = [key[:-1] for key in env if key.endswith("=") and alias_of(env, key[:-1]) == whole]
    return [name for name in (whole, *names) if name != path]


def keep(env: Env, path: str, found: Value) -> None:
    """Let the environment say what a path holds."""
    if not path.isidentifier():
        if len(env) > MOST_KEPT:
            return
        env[PATHS] = NOTHING
    env[path] = found


def assign(frame: Frame, env: Env, target: ast.expr, found: Value, source: ast.expr | None) -> None:
    """Bind a target. `source` is the expression assigned, None where there is none."""
    if isinstance(target, ast.Name):
        _assign_name(frame, env, target.id, found, source)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(frame, env, target, found)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(frame, env, target, found, source)
    elif isinstance(target, ast.Starred):
        assign(frame, env, target.value, value(Elements(found)), None)
    elif isinstance(target, ast.Subscript):
        _assign_item(frame, env, target, found)


def _assign_name(frame: Frame, env: Env, name: str, found: Value, source: ast.expr | None) -> None:
    if name in frame.volatile:
        found = join([found, frame.volatile[name]])
    elif name in frame.declared:
        found = _as_declared(frame, name, found)
    forget(env, name)
    for kept in [kept for kept, test in frame.tests.items() if _mentions(test, name)]:
        del frame.tests[kept]
    frame.tests.pop(name, None)
    if source is not None and _is_test(frame, source):
        frame.tests[name] = source
    env[name] = found
    path = path_of(source) if source is not None and _tests_classes(frame) else None
    if path is not None and path != name and not _is_plain(found):
        keep(env, f"{name}=", value(Constant(alias_of(env, path) or path)))
        env[ALIASES] = NOTHING
    for _, snapshot in frame.nested if frame.function is not None else ():
        if name in snapshot:
            known = snapshot[name]
            forget(snapshot, name)
            snapshot[name] = join([known, found])
        else:
            snapshot[name] = found


def _tests_classes(frame: Frame) -> bool:
    """Whether the function, where it is walked for uses, asks for the class of anything."""
    if frame.recorder is None:
        return False
    tests = frame.module.class_tests
    return bool(tests) and (frame.function is None or touches(tests, frame.function))


def _is_plain(found: Value) -> bool:
    """Whether no test of a class can say more of a value."""
    return found.atoms is not None and not any(isinstance(a, Instance) for a in found.atoms)


def _as_declared(frame: Frame, path: str, found: Value) -> Value:
    """What is assigned to an annotated variable, as its annotation has it."""
    declared = frame.declared.get(path)
    met = meet(frame.ctx, declared, found) if declared is not None else found
    return found if met is None else met


def _is_test(frame: Frame, node: ast.expr) -> bool:
    """Whether an expression is worth keeping as a condition: it asks for a class."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and _is_test(frame, node.operand)
    if isinstance(node, ast.BoolOp):
        return any(_is_test(frame, operand) for operand in node.values)
    if isinstance(node, ast.NamedExpr):
        return _is_test(frame, node.value)
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    name = node.func.id
    if name in TESTING or name.startswith(("is_", "_is")):
        return True
    bindings = frame.module.bindings.get(name, ())
    return any(isinstance(binding, ast.FunctionDef) for binding in bindings)


TESTING = ("isinstance", "issubclass", "hasattr", "bool", "any")


def _mentions(test: ast.expr, name: str) -> bool:
    return any(found == name for found in names_in(test))


def _assign_attribute(frame: Frame, env: Env, target: ast.Attribute, found: Value) -> None:
    from kvlint.interpret.expressions import evaluate

    base = evaluate(frame, env, target.value)
    record_given(frame, target, base)
    path = path_of(target)
    record_sub_pool_store(frame, target, found)
    record_replacement(frame, target, base, found)
    if path is None:
        return
    found = _as_declared(frame, path, found)
    if isinstance(target.value, ast.Name) and target.value.id == frame.self_name:
        step = frame.evidence(f"assigned to `{path}`", target)
        frame.self_stores.setdefault(target.attr, []).append(found.because(step))
    forget(env, path)
    keep(env, path, found)


def _assign_item(frame: Frame, env: Env, target: ast.Subscript, found: Value) -> None:
    """`pools[key] = pool`: the container holds that too from here on."""
    from kvlint.interpret.expressions import evaluate

    evaluate(frame, env, target.slice)
    base = evaluate(frame, env, target.value)
    record_store(frame, target, target.value, base)
    container, path = path_of(target.value), path_of(target)
    if container is None:
        return
    literal = target.slice.value if isinstance(target.slice, ast.Constant) else None
    keys = [key for key in env if key.startswith(f"{container}[")] if PATHS in env else []
    for key in keys:
        # Another name for an index may be the same place.
        if literal is None or key[len(container) + 1].isidentifier():
            del env[key]
    if path is not None:
        forget(env, path)
        if found.known:
            keep(env, path, found)
    lists = base.atoms and all(isinstance(atom, (Elements, Items)) for atom in base.atoms)
    empty: Atom = Elements(NEVER) if lists else Mapping(NEVER)
    put_into(frame, env, target.value, lambda atom: with_item(atom, literal, found), empty)


def with_item(atom: Atom, index: object, found: Value) -> Atom:
    if not isinstance(atom, Mapping):
        return with_element(atom, found)
    entries = dict(atom.entries)
    if isinstance(index, (str, int)):
        entries[index] = found
    else:
        entries = {key: join([known, found]) for key, known in entries.items()}
    return Mapping(join([atom.value, found]), tuple(entries.items()))


def with_element(atom: Atom, found: Value) -> Atom:
    """A list that may hold `found` as well from here on; anything else is left as it is."""
    if isinstance(atom, Elements):
        return Elements(join([atom.element, found]))
    return Elements(join([*atom.items, found])) if isinstance(atom, Items) else atom


def put_into(
    frame: Frame, env: Env, container: ast.expr, change: Callable[[Atom], Atom], empty: Atom
) -> None:
    """Change what a container holds, under every name that it goes by here. `empty` is what it is
    where it is not known, as an attribute that another method sets."""
    path = path_of(container)
    known = env.get(path) if path is not None else None
    if known is not None and known.atoms is not None and path not in frame.declared:
        changed = value(*(change(atom) for atom in known.atoms), evidence=known.evidence)
        for name in [name for name, other in env.items() if other is known]:
            env[name] = changed
    if not isinstance(container, ast.Attribute) or not isinstance(container.value, ast.Name):
        return
    if container.value.id == frame.self_name:
        stores = frame.self_stores.setdefault(container.attr, [])
        stores.append(value(change(empty)))


def _unpack(
    frame: Frame, env: Env, target: ast.Tuple | ast.List, found: Value, source: ast.expr | None
) -> None:
    record_unpacking(frame, target, found)
    sources = source.elts if isinstance(source, (ast.Tuple, ast.List)) else []
    same = len(sources) == len(target.elts)
    stars = [i for i, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
    for index, element in enumerate(target.elts):
        place: int | None = index
        if stars and index >= stars[0]:
            place = None if index == stars[0] else index - len(target.elts)
        part = subscripted(frame.ctx, found, place)
        assign(frame, env, element, part, sources[index] if same else None)
