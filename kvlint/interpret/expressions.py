"""What an expression holds. Evaluating records the uses of pools on the way."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from kvlint.interpret.access import attribute, iterated, subscripted
from kvlint.interpret.assignment import assign, forget, path_of
from kvlint.interpret.context import Env, Frame, quiet_frame
from kvlint.interpret.recording import record_access
from kvlint.interpret.symbols import name_value
from kvlint.interpret.values import (
    NOTHING,
    UNKNOWN,
    Atom,
    Buffer,
    ClassObject,
    Constant,
    Elements,
    External,
    HolderCall,
    Instance,
    Items,
    Mapping,
    TypeOf,
    Value,
    awaited,
    element_of,
    item_of,
    join,
    only,
    value,
    without_none,
)


def evaluate(frame: Frame, env: Env, node: ast.expr) -> Value:
    """The value of an expression in an environment (which a walrus may extend)."""
    handler = HANDLERS.get(type(node))
    if handler is not None:
        return handler(frame, env, node)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(frame, env, child)
    return UNKNOWN


def _name(frame: Frame, env: Env, node: ast.Name) -> Value:
    return name_value(frame, env, node.id)


def _attribute(frame: Frame, env: Env, node: ast.Attribute) -> Value:
    base = evaluate(frame, env, node.value)
    record_access(frame, env, node, base, None)
    return attribute_at(frame, env, node, base)


def attribute_at(frame: Frame, env: Env, node: ast.Attribute, base: Value) -> Value:
    """`base.attr` as the environment has it: narrowed or assigned, else what the class says."""
    path = path_of(node)
    if path is not None:
        if path in env:
            return env[path]
        for outer in frame.outer:
            if path in outer:
                return outer[path]
    if base.atoms and len(base.atoms) == 1 and node.attr not in ("__name__", "__qualname__"):
        base = classes_behind(frame, env, base) if isinstance(only(base), TypeOf) else base
    return attribute(frame.ctx, base, node.attr)


def _constant(frame: Frame, env: Env, node: ast.Constant) -> Value:
    if node.value is None:
        return NOTHING
    return value(Constant(node.value)) if isinstance(node.value, (str, int)) else UNKNOWN


def _tuple(frame: Frame, env: Env, node: ast.Tuple) -> Value:
    parts = [evaluate(frame, env, element) for element in node.elts]
    if any(isinstance(element, ast.Starred) for element in node.elts):
        return value(Elements(join(parts)))
    return value(Items(tuple(parts)))


def _list(frame: Frame, env: Env, node: ast.List | ast.Set) -> Value:
    parts = [evaluate(frame, env, element) for element in node.elts]
    starred = any(isinstance(element, ast.Starred) for element in node.elts)
    if parts and not starred and isinstance(node, ast.List):
        return value(Items(tuple(parts)))
    return value(Elements(join(parts)))


def _dict(frame: Frame, env: Env, node: ast.Dict) -> Value:
    entries: list[tuple[str | int, Value]] = []
    parts: list[Value] = []
    for key, item in zip(node.keys, node.values, strict=True):
        if key is not None:
            evaluate(frame, env, key)
        found = evaluate(frame, env, item)
        if key is None:
            found = item_of(found, None)
        parts.append(found)
        if isinstance(key, ast.Constant) and isinstance(key.value, (str, int)):
            entries.append((key.value, found))
    return value(Mapping(join(parts), tuple(entries)))


def _starred(frame: Frame, env: Env, node: ast.Starred) -> Value:
    return element_of(evaluate(frame, env, node.value))


def _walrus(frame: Frame, env: Env, node: ast.NamedExpr) -> Value:
    found = evaluate(frame, env, node.value)
    assign(frame, env, node.target, found, node.value)
    return env[node.target.id]


def _conditional(frame: Frame, env: Env, node: ast.IfExp) -> Value:
    from kvlint.interpret.narrowing import branches

    true, false = branches(frame, env, node.test)
    parts = []
    if true is not None:
        parts.append(evaluate(frame, true, node.body))
    if false is not None:
        parts.append(evaluate(frame, false, node.orelse))
    return join(parts) if parts else UNKNOWN


def _boolean(frame: Frame, env: Env, node: ast.BoolOp) -> Value:
    """`a or b` gives a where it is true; `a and b` gives b where all before are true."""
    from kvlint.interpret.narrowing import branches

    parts: list[Value] = []
    current: Env | None = env
    for operand in node.values[:-1]:
        if current is None:
            break
        true, false = branches(frame, current, operand)
        if isinstance(node.op, ast.Or):
            quiet = Frame(frame.ctx, frame.module, frame.cls, frame.function, outer=frame.outer)
            parts.append(without_none(evaluate(quiet, dict(current), operand)))
            current = false
        else:
            current = true
    if current is not None:
        last = evaluate(frame, current, node.values[-1])
        parts.append(last)
        if isinstance(node.op, ast.And):
            return last
    return join(parts) if parts else UNKNOWN


def _unary(frame: Frame, env: Env, node: ast.UnaryOp) -> Value:
    inner = evaluate(frame, env, node.operand)
    if isinstance(node.op, ast.USub) and inner.atoms and len(inner.atoms) == 1:
        atom = next(iter(inner.atoms))
        if isinstance(atom, Constant) and isinstance(atom.value, int):
            return value(Constant(-atom.value))
    return UNKNOWN


def _binary(frame: Frame, env: Env, node: ast.BinOp) -> Value:
    left, right = evaluate(frame, env, node.left), evaluate(frame, env, node.right)
    if isinstance(node.op, ast.BitOr) and all(
        part.atoms and all(isinstance(a, ClassObject) or part == NOTHING for a in part.atoms)
        for part in (left, right)
    ):
        return join([left, right])
    return combined(node.op, left, right)


def combined(operator: ast.operator, left: Value, right: Value) -> Value:
    """Lists added or repeated, dicts merged."""
    one, other = only(left), only(right)
    if isinstance(operator, ast.Mult):
        repeated = left if isinstance(one, (Elements, Items)) else right
        if isinstance(only(repeated), (Elements, Items)):
            return value(Elements(element_or_never(repeated)))
    if isinstance(operator, ast.Add) and left.atoms and right.atoms:
        return value(Elements(join([element_or_never(left), element_or_never(right)])))
    if isinstance(operator, ast.BitOr) and isinstance(one, Mapping) and isinstance(other, Mapping):
        return value(Mapping(join([one.value, other.value])))
    return UNKNOWN


@lru_cache(maxsize=1024)
def spelled(path: str) -> ast.expr:
    """The expression of an access path."""
    return ast.parse(path, mode="eval").body


def classes_behind(frame: Frame, env: Env, known: Value) -> Value:
    """`type(x)` as the class object of what x holds here."""
    if not known.atoms or not any(isinstance(atom, TypeOf) for atom in known.atoms):
        return known
    atoms: set[Atom] = set()
    for atom in known.atoms or ():
        if not isinstance(atom, TypeOf):
            atoms.add(atom)
            continue
        inner = evaluate(quiet_frame(frame), dict(env), spelled(atom.path))
        instances = [each for each in inner.atoms or () if isinstance(each, Instance)]
        if atom.named or not instances or len(instances) != len(inner.atoms or ()):
            return UNKNOWN
        atoms |= {ClassObject(each.cls, exact=each.exact) for each in instances}
    return Value(frozenset(atoms), known.evidence)


def element_or_never(known: Value) -> Value:
    """What a list holds, nothing where it is empty."""
    atom = only(known)
    return atom.element if isinstance(atom, Elements) else element_of(known)


def _subscript(frame: Frame, env: Env, node: ast.Subscript) -> Value:
    base = evaluate(frame, env, node.value)
    index = evaluate(frame, env, node.slice)
    path = path_of(node)
    if path is not None and path in env:
        return env[path]
    atoms = base.atoms or frozenset()
    if len(atoms) == 1:
        atom = next(iter(atoms))
        if isinstance(atom, External) and atom.name.rpartition(".")[2] in ("Union", "Optional"):
            return _union(index, atom.name.endswith("Optional"))
        if isinstance(atom, ClassObject):
            return base
    if any(isinstance(atom, Buffer) for atom in atoms):
        return _part_of_buffer(base, node.slice)
    if isinstance(node.slice, ast.Slice):
        tuples = any(isinstance(atom, Items) for atom in atoms)
        return value(Elements(element_of(base))) if tuples else base
    return subscripted(frame.ctx, base, _literal(index))


def _part_of_buffer(base: Value, index: ast.expr) -> Value:
    """A layer of a raw list, or a view of rows. Indexing a tensor by anything but numbers and
    slices copies: what is written to a copy does not reach the pool."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    basic = all(_is_basic_index(part) for part in parts)
    atoms: set[Atom] = set()
    for atom in without_none(base).atoms or ():
        if not isinstance(atom, Buffer) or (atom.tensor and not basic):
            return UNKNOWN
        atoms.add(atom if isinstance(index, ast.Slice) else replace(atom, tensor=True))
    return Value(frozenset(atoms), base.evidence)


def _is_basic_index(part: ast.expr) -> bool:
    if isinstance(part, ast.UnaryOp):
        part = part.operand
    return isinstance(part, (ast.Slice, ast.Constant))


def _union(index: Value, optional: bool) -> Value:
    parts = element_of(index) if any(isinstance(a, Items) for a in index.atoms or ()) else index
    return join([parts, NOTHING]) if optional else parts


def _literal(index: Value) -> int | str | None:
    atoms = index.atoms or frozenset()
    atom = next(iter(atoms)) if len(atoms) == 1 else None
    return atom.value if isinstance(atom, Constant) else None


def _comprehension(
    frame: Frame, env: Env, node: ast.ListComp | ast.SetComp | ast.GeneratorExp
) -> Value:
    inner = _generators(frame, env, node.generators)
    return value(Elements(evaluate(frame, inner, node.elt)))


def _dict_comprehension(frame: Frame, env: Env, node: ast.DictComp) -> Value:
    inner = _generators(frame, env, node.generators)
    evaluate(frame, inner, node.key)
    return value(Mapping(evaluate(frame, inner, node.value)))


def _generators(frame: Frame, env: Env, generators: list[ast.comprehension]) -> Env:
    from kvlint.interpret.narrowing import branches

    inner = dict(env)
    for generator in generators:
        items = iterated(frame.ctx, evaluate(frame, inner, generator.iter))
        assign(frame, inner, generator.target, items, None)
        for test in generator.ifs:
            true, _ = branches(frame, inner, test)
            inner = true if true is not None else inner
    return inner


def _lambda(frame: Frame, env: Env, node: ast.Lambda) -> Value:
    inner = dict(env)
    arguments = node.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        forget(inner, argument.arg)
        inner[argument.arg] = UNKNOWN
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            inner[extra.arg] = UNKNOWN
    positional = [*arguments.posonlyargs, *arguments.args]
    filled = positional[len(positional) - len(arguments.defaults) :]
    for argument, default in zip(filled, arguments.defaults, strict=True):
        # `lambda layer, pool=pool: ...` binds what a loop would change.
        inner[argument.arg] = evaluate(frame, env, default)
    for given in arguments.kw_defaults:
        if given is not None:
            evaluate(frame, env, given)
    return value(HolderCall(evaluate(frame, inner, node.body)))


def _await(frame: Frame, env: Env, node: ast.Await) -> Value:
    return awaited(evaluate(frame, env, node.value))


def _yield(frame: Frame, env: Env, node: ast.Yield) -> Value:
    frame.yielded.append(evaluate(frame, env, node.value) if node.value else UNKNOWN)
    return UNKNOWN


def _yield_from(frame: Frame, env: Env, node: ast.YieldFrom) -> Value:
    frame.yielded.append(element_of(evaluate(frame, env, node.value)))
    return UNKNOWN


def _call(frame: Frame, env: Env, node: ast.Call) -> Value:
    from kvlint.interpret.calls import call

    return call(frame, env, node)


HANDLERS: dict[type[ast.expr], Callable[[Frame, Env, Any], Value]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _list,
    ast.Dict: _dict,
    ast.Starred: _starred,
    ast.NamedExpr: _walrus,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Lambda: _lambda,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Call: _call,
}
