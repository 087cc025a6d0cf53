"""What a call gives, and the calls that mean something to pools."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from kvlint.inference.access import attribute, call_result
from kvlint.inference.annotations import annotation_value
from kvlint.inference.classes import ancestors, bindings_of_function
from kvlint.inference.context import Env, Frame
from kvlint.inference.expressions import attribute_at, evaluate, forget, path_of
from kvlint.inference.handlers import caught_by_with
from kvlint.inference.recording import (
    record_access,
    record_hasattr,
    record_pass,
    record_store,
)
from kvlint.inference.values import (
    NEVER,
    UNKNOWN,
    Buffer,
    ClassObject,
    Constant,
    Elements,
    External,
    HolderCall,
    Instance,
    Items,
    Mapping,
    Super,
    TypeOf,
    Value,
    element_of,
    item_of,
    join,
    only,
    value,
)

VIEWS = frozenset(
    "view reshape flatten unsqueeze squeeze transpose permute narrow select contiguous "
    "detach view_as expand index_select unflatten".split()
) - {"index_select", "contiguous"}
WRITES = frozenset(
    "copy_ index_put_ index_copy_ index_add_ index_fill_ scatter_ scatter_add_ masked_fill_ "
    "masked_scatter_ fill_ zero_ put_ add_ mul_ sub_ div_".split()
)


def call(frame: Frame, env: Env, node: ast.Call) -> Value:
    """Evaluate a call: the function, then its arguments."""
    base, called = _function(frame, env, node)
    _forget_stored(frame, env, node)
    if frame.recorder is None and not _needs_arguments(base, called):
        return _with_constructor(frame, node, called, call_result(frame.ctx, called))
    outer = frame.caught
    expected = caught_by_with(frame, env, node)
    if expected and len(node.args) > 1:
        # pytest.raises(NotImplementedError, lambda: pool.get_kv_buffer(0))
        frame.caught = (*outer, expected)
    arguments = [evaluate(frame, env, argument) for argument in node.args]
    frame.caught = outer
    keywords = {k.arg: evaluate(frame, env, k.value) for k in node.keywords}
    if isinstance(node.func, ast.Subscript):
        for expression, given in zip(node.args, arguments, strict=True):
            record_pass(frame, expression, given, node)
    if isinstance(node.func, ast.Attribute) and base is not None and base.known:
        special = _method(frame, env, node.func, node, base, arguments)
        if special is not None:
            return special
    atom = only(called)
    if isinstance(atom, External):
        return _external(frame, env, node, atom.name, arguments, keywords)
    found = call_result(frame.ctx, called)
    return _with_constructor(frame, node, called, found)


def _forget_stored(frame: Frame, env: Env, node: ast.Call) -> None:
    """A method of the same object may assign attributes: what was narrowed is open again."""
    function = node.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return
    if frame.cls is None or function.value.id != frame.self_name:
        return
    for base in ancestors(frame.ctx, frame.cls.qualname):
        info = frame.ctx.classes.get(base)
        for member in info.members.get(function.attr, ()) if info is not None else ():
            if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for attribute in bindings_of_function(frame.ctx, member).stores:
                    forget(env, f"{frame.self_name}.{attribute}")
                return


def _needs_arguments(base: Value | None, called: Value) -> bool:
    """Whether the result depends on the arguments; where nobody records, only then they count."""
    if (
        base is not None
        and base.atoms
        and isinstance(only(base), (Buffer, Mapping, Elements, Items))
    ):
        return True
    atom = only(called)
    if not isinstance(atom, External):
        return False
    short = atom.name.rpartition(".")[2]
    return atom.name.startswith("builtins.") or short in EXTERNALS or short == "cast"


def _function(frame: Frame, env: Env, node: ast.Call) -> tuple[Value | None, Value]:
    if not isinstance(node.func, ast.Attribute):
        return None, evaluate(frame, env, node.func)
    base = evaluate(frame, env, node.func.value)
    if base.atoms:
        record_access(frame, env, node.func, base, node)
    return base, attribute_at(frame, env, node.func, base)


def _with_constructor(frame: Frame, node: ast.Call, called: Value, found: Value) -> Value:
    if not found.known or not any(isinstance(a, ClassObject) for a in called.atoms or ()):
        return found
    if not any(isinstance(atom, Instance) for atom in found.atoms or ()):
        return found
    names = " or ".join(
        sorted(a.cls.rpartition(".")[2] for a in called.atoms or () if isinstance(a, ClassObject))
    )
    return Value(found.atoms, (frame.evidence(f"constructed here: `{names}(...)`", node),))


def _method(
    frame: Frame,
    env: Env,
    function: ast.Attribute,
    node: ast.Call,
    base: Value,
    arguments: list[Value],
) -> Value | None:
    """Methods of buffers and containers; None for any other receiver."""
    atom = only(base)
    if isinstance(atom, Buffer):
        if function.attr in WRITES:
            record_store(frame, node, function.value, base, node)
            return base
        return base if function.attr in VIEWS else UNKNOWN
    if isinstance(atom, Mapping):
        return _mapping_method(env, function, node, atom, arguments)
    if isinstance(atom, (Elements, Items)):
        return _list_method(env, function, base, arguments)
    return None


def _mapping_method(
    env: Env, function: ast.Attribute, node: ast.Call, atom: Mapping, arguments: list[Value]
) -> Value:
    if function.attr == "values":
        return value(Elements(atom.value))
    if function.attr == "items":
        return value(Elements(value(Items((UNKNOWN, atom.value)))))
    if function.attr in ("get", "pop", "setdefault", "__getitem__"):
        key = node.args[0] if node.args else None
        literal = key.value if isinstance(key, ast.Constant) else None
        found = item_of(value(atom), literal if isinstance(literal, str) else None)
        return join([found, *arguments[1:2]])
    return UNKNOWN


def _list_method(env: Env, function: ast.Attribute, base: Value, arguments: list[Value]) -> Value:
    path = path_of(function.value)
    if function.attr in ("append", "add", "appendleft", "insert") and arguments:
        if path is not None and path in env:
            env[path] = value(Elements(join([element_of_or_never(base), arguments[-1]])))
        return UNKNOWN
    if function.attr in ("pop", "popleft", "__getitem__"):
        return element_of(base)
    if function.attr in ("extend", "update") and arguments and path is not None and path in env:
        parts = [element_of_or_never(base), element_of(arguments[0])]
        env[path] = value(Elements(join(parts)))
    return base if function.attr in ("copy", "__iter__") else UNKNOWN


def element_of_or_never(base: Value) -> Value:
    atom = only(base)
    return atom.element if isinstance(atom, Elements) else element_of(base)


def _external(
    frame: Frame,
    env: Env,
    node: ast.Call,
    name: str,
    arguments: list[Value],
    keywords: dict[str | None, Value],
) -> Value:
    short = name.rpartition(".")[2]
    if short == "super" and name.startswith("builtins."):
        return _super(frame, env, node, arguments)
    if name == "builtins.hasattr" and len(node.args) == 2:
        text = _text(arguments[1])
        if text is not None:
            record_hasattr(frame, node, arguments[0], text)
        return UNKNOWN
    if name == "builtins.getattr" and len(node.args) >= 2:
        return _getattr(frame, node, arguments)
    if name == "builtins.type" and len(node.args) == 1:
        return _type(node, arguments[0])
    if short == "cast" and len(node.args) == 2:
        found = annotation_value(frame, env, node.args[0])
        step = frame.evidence(f"cast to `{ast.unparse(node.args[0])}`", node)
        return Value(found.atoms, (step,)) if found.known else UNKNOWN
    handler = EXTERNALS.get(short)
    return handler(arguments, keywords) if handler is not None else UNKNOWN


def _super(frame: Frame, env: Env, node: ast.Call, arguments: Sequence[Value]) -> Value:
    cls = frame.cls
    if cls is None:
        return UNKNOWN
    if not node.args:
        return value(Super(cls, value(Instance(cls.qualname))))
    after = only(arguments[0]) if len(arguments) == 2 else None
    if isinstance(after, ClassObject):
        info = frame.ctx.classes.get(after.cls)
        if info is not None:
            return value(Super(info, value(Instance(cls.qualname))))
    return UNKNOWN


def _text(known: Value) -> str | None:
    atom = only(known)
    return atom.value if isinstance(atom, Constant) and isinstance(atom.value, str) else None


def _getattr(frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    name = _text(arguments[1])
    if name is None or not arguments[0].known:
        return UNKNOWN
    found = attribute(frame.ctx, arguments[0], name)
    return join([found, arguments[2]]) if len(arguments) == 3 else found


def _type(node: ast.Call, argument: Value) -> Value:
    path = path_of(node.args[0])
    if path is not None:
        return value(TypeOf(path))
    atoms = argument.atoms or frozenset()
    classes = [ClassObject(a.cls, exact=a.exact) for a in atoms if isinstance(a, Instance)]
    return value(*classes) if classes and len(classes) == len(atoms) else UNKNOWN


Arguments = list[Value]
Keywords = dict[str | None, Value]


def _first(arguments: Arguments, _: Keywords) -> Value:
    return arguments[0] if arguments else UNKNOWN


def _elements(arguments: Arguments, _: Keywords) -> Value:
    return value(Elements(element_of_or_never(arguments[0]) if arguments else NEVER))


def _enumerate(arguments: Arguments, _: Keywords) -> Value:
    item = element_of(arguments[0]) if arguments else UNKNOWN
    return value(Elements(value(Items((UNKNOWN, item)))))


def _zip(arguments: Arguments, _: Keywords) -> Value:
    return value(Elements(value(Items(tuple(element_of(a) for a in arguments)))))


def _next(arguments: Arguments, _: Keywords) -> Value:
    if not arguments:
        return UNKNOWN
    return join([element_of(arguments[0]), *arguments[1:2]])


def _filter(arguments: Arguments, _: Keywords) -> Value:
    return value(Elements(element_of(arguments[1]))) if len(arguments) == 2 else UNKNOWN


def _map(arguments: Arguments, _: Keywords) -> Value:
    atom = only(arguments[0]) if arguments else None
    return value(Elements(atom.result)) if isinstance(atom, HolderCall) else UNKNOWN


def _dict(arguments: Arguments, keywords: Keywords) -> Value:
    if arguments or None in keywords:
        return UNKNOWN
    entries = tuple((name, found) for name, found in keywords.items() if name is not None)
    return value(Mapping(join(found for _, found in entries), entries))


def _returning_first(arguments: Arguments, _: Keywords) -> Value:
    return value(HolderCall(arguments[0])) if arguments else UNKNOWN


def _type_var(arguments: Arguments, keywords: Keywords) -> Value:
    bounds = [keywords["bound"]] if "bound" in keywords else arguments[1:]
    atoms = [
        ClassObject(atom.cls, exact=False)
        for bound in bounds
        for atom in bound.atoms or ()
        if isinstance(atom, ClassObject)
    ]
    return value(*atoms) if atoms else UNKNOWN


def _new_type(arguments: Arguments, _: Keywords) -> Value:
    return arguments[1] if len(arguments) == 2 else UNKNOWN


def _field(_: Arguments, keywords: Keywords) -> Value:
    if "default" in keywords:
        return keywords["default"]
    factory = only(keywords.get("default_factory", UNKNOWN))
    if isinstance(factory, ClassObject):
        return value(Instance(factory.cls, exact=factory.exact))
    return factory.result if isinstance(factory, HolderCall) else UNKNOWN


EXTERNALS: dict[str, Callable[[Arguments, Keywords], Value]] = {
    **dict.fromkeys(("copy", "deepcopy", "replace", "partial", "proxy", "nullcontext"), _first),
    **dict.fromkeys(("max", "min"), _next),
    **dict.fromkeys(
        ("list", "set", "tuple", "sorted", "reversed", "iter", "frozenset", "deque"), _elements
    ),
    "TypeVar": _type_var,
    "NewType": _new_type,
    "dict": _dict,
    "enumerate": _enumerate,
    "field": _field,
    "filter": _filter,
    "map": _map,
    "next": _next,
    "ref": _returning_first,
    "zip": _zip,
}
