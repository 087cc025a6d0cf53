"""What a call gives, and the calls that mean something to pools."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kvlint.interpret import containers
from kvlint.interpret.access import call_result, entered, iterated
from kvlint.interpret.annotations import annotation_value
from kvlint.interpret.assignment import assign, forget, path_of
from kvlint.interpret.callables import applied, called_specially
from kvlint.interpret.classes import ancestors, bindings_of_function
from kvlint.interpret.construction import constructed, keeps_arguments
from kvlint.interpret.containers import ADDING
from kvlint.interpret.context import Env, Frame, quiet_frame
from kvlint.interpret.expressions import attribute_at, classes_behind, evaluate
from kvlint.interpret.externals import EXTERNALS
from kvlint.interpret.functions import class_bound, open_parameters, returned_for
from kvlint.interpret.handlers import caught_by_with
from kvlint.interpret.names import is_overload
from kvlint.interpret.overloads import chosen
from kvlint.interpret.recording import (
    holds_contract,
    record_access,
    record_bound,
    record_construction,
    record_function,
    record_hasattr,
    record_pass,
    record_store,
)
from kvlint.interpret.slicing import globals_of
from kvlint.interpret.type_variables import solved, type_variables
from kvlint.interpret.values import (
    NOTHING,
    UNKNOWN,
    Atom,
    Buffer,
    ClassObject,
    Constant,
    Elements,
    External,
    Function,
    Getter,
    Instance,
    Items,
    Mapping,
    Partial,
    Super,
    TypeOf,
    Value,
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
    "masked_scatter_ fill_ zero_ put_ add_ mul_ sub_ div_ __setitem__".split()
)


def call(frame: Frame, env: Env, node: ast.Call) -> Value:
    """Evaluate a call: the function, then its arguments."""
    base, called = _function(frame, env, node)
    _forget_stored(frame, env, node)
    _forget_globals(frame, env, called)
    if frame.recorder is None and not _needs_arguments(frame, node, base, called):
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
    held = only(called)
    if isinstance(held, Partial):
        called = held.called
    _record_special(frame, node, base, called, keywords, held)
    if frame.recorder is not None:
        record_construction(frame, node, called, held)
        record_function(frame, node, called, held)
    if isinstance(node.func, ast.Attribute) and base is not None:
        if node.func.attr in ADDING:
            containers.add(frame, env, node.func, base, arguments, keywords)
        special = _method(frame, node.func, node, base, arguments)
        if special is not None:
            return special
    atom = only(called)
    if isinstance(atom, External) and atom.name not in frame.ctx.view.catalogue.functions:
        return _external(frame, env, node, atom.name, arguments, keywords)
    special = called_specially(frame, env, node, called, arguments)
    if special is not None:
        return special
    if isinstance(node.func, ast.Subscript):
        # `Slot[C](...)`, `ContextVar[C](...)`
        typed = annotation_value(frame, env, node.func)
        if typed.known and any(isinstance(a, Instance) for a in typed.atoms or ()):
            return _with_constructor(frame, node, called, typed)
    called = chosen(frame.ctx, classes_behind(frame, env, called), arguments, keywords)
    found = call_result(frame.ctx, called)
    if any(isinstance(argument, ast.Starred) for argument in node.args) or None in keywords:
        return _with_constructor(frame, node, called, found)
    atom = only(called)
    if isinstance(atom, Function):
        special = solved(frame, atom, arguments, keywords)
        if not special.known:
            special = returned_for(frame.ctx, atom, arguments, keywords)
        found = special if special.known else found
    if isinstance(atom, ClassObject):
        found = constructed(frame.ctx, found, arguments, keywords)
    return _with_constructor(frame, node, called, found)


def _record_special(
    frame: Frame,
    node: ast.Call,
    base: Value | None,
    called: Value,
    keywords: dict[str | None, Value],
    given: Atom | None,
) -> None:
    """A pool's method under another name, and storage that a function of torch writes to."""
    through = base is not None and any(isinstance(atom, Super) for atom in base.atoms or ())
    if base is None or not (through or holds_contract(frame, base)):
        record_bound(frame, node, called, given)
    for keyword in node.keywords:
        if keyword.arg == "out":
            record_store(frame, keyword.value, keyword.value, keywords["out"], node)


def _forget_globals(frame: Frame, env: Env, called: Value) -> None:
    """A function that assigns globals leaves nothing of what was narrowed of them."""
    if not frame.module.has_globals:
        return
    for atom in called.atoms or ():
        if isinstance(atom, Function) and atom.module is frame.module:
            for name in globals_of(atom.node):
                forget(env, name)


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


def _needs_arguments(frame: Frame, node: ast.Call, base: Value | None, called: Value) -> bool:
    """Whether the result depends on the arguments; where nobody records, only then they count."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in SPECIAL_METHODS:
        return True
    if (
        base is not None
        and base.atoms
        and isinstance(only(base), (Buffer, Mapping, Elements, Items))
    ):
        return True
    atom = only(called)
    if isinstance(atom, Function):
        return bool(open_parameters(frame.ctx, atom) or type_variables(atom))
    if isinstance(atom, ClassObject):
        return keeps_arguments(frame.ctx, atom.cls)
    if isinstance(atom, (TypeOf, Getter)) or isinstance(node.func, ast.Subscript):
        return True
    if called.atoms and len(called.atoms) > 1:
        return any(isinstance(each, Function) and is_overload(each.node) for each in called.atoms)
    if not isinstance(atom, External):
        return False
    short = atom.name.rpartition(".")[2]
    return (
        atom.name.startswith("builtins.")
        or short in EXTERNALS
        or short in ("cast", "TypeVar", "partial")
    )


SPECIAL_METHODS = ADDING | {"__new__", "enter_context", "enter_async_context"}


def _function(frame: Frame, env: Env, node: ast.Call) -> tuple[Value | None, Value]:
    if not isinstance(node.func, ast.Attribute):
        return None, evaluate(frame, env, node.func)
    base = evaluate(frame, env, node.func.value)
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
    function: ast.Attribute,
    node: ast.Call,
    base: Value,
    arguments: list[Value],
) -> Value | None:
    """Methods of buffers and containers, and those that any object may have; None for others."""
    atom = only(base)
    first = only(arguments[0]) if arguments else None
    if function.attr == "__new__" and isinstance(first, ClassObject):
        made = value(Instance(first.cls, exact=first.exact))
        return _with_constructor(frame, node, arguments[0], made)
    if function.attr in ("enter_context", "enter_async_context") and arguments:
        return entered(frame.ctx, arguments[0], function.attr != "enter_context")
    if isinstance(atom, Buffer):
        if function.attr in WRITES:
            record_store(frame, node, function.value, base, node)
            return base
        return base if function.attr in VIEWS else UNKNOWN
    if isinstance(atom, (Elements, Items, Mapping)):
        return containers.result(function, node, base, arguments)
    return None


def _external(
    frame: Frame,
    env: Env,
    node: ast.Call,
    name: str,
    arguments: list[Value],
    keywords: dict[str | None, Value],
) -> Value:
    short = name.rpartition(".")[2]
    if short == "partial" and arguments:
        return _partial(node, arguments)
    if short == "super" and name.startswith("builtins."):
        return _super(frame, env, node, arguments)
    if name == "builtins.hasattr" and len(node.args) == 2:
        text = _text(arguments[1])
        if text is not None:
            record_hasattr(frame, node, arguments[0], text)
        return UNKNOWN
    if name == "builtins.getattr" and len(node.args) >= 2:
        return _getattr(frame, env, node, arguments)
    if name == "builtins.setattr" and len(node.args) == 3:
        return _setattr(frame, env, node, arguments)
    if name == "builtins.type" and len(node.args) == 1:
        return _type(node, arguments[0])
    if short == "cast" and len(node.args) == 2:
        found = annotation_value(frame, env, node.args[0])
        step = frame.evidence(f"cast to `{ast.unparse(node.args[0])}`", node)
        return Value(found.atoms, (step,)) if found.known else UNKNOWN
    if short == "TypeVar":
        return _type_var(frame, env, node)
    if short == "map" and len(arguments) > 1:
        items = [iterated(frame.ctx, argument) for argument in arguments[1:]]
        return value(Elements(applied(frame, env, node.args[0], arguments[0], items, node)))
    if short == "filter" and len(arguments) > 1 and isinstance(node.args[0], ast.Lambda):
        items = [iterated(frame.ctx, arguments[1])]
        applied(frame, env, node.args[0], arguments[0], items, node)
        return _filtered(frame, env, node.args[0], arguments[1])
    if short == "SimpleNamespace" and None not in keywords:
        return _namespace(frame, name, keywords)
    keys = [keyword.value for keyword in node.keywords if keyword.arg == "key"]
    if keys and arguments and short in ("sorted", "max", "min", "groupby", "nlargest", "nsmallest"):
        items = [iterated(frame.ctx, arguments[-1])]
        applied(frame, env, keys[0], keywords["key"], items, node)
    handler = EXTERNALS.get(short)
    return handler(arguments, keywords) if handler is not None else UNKNOWN


def _namespace(frame: Frame, name: str, keywords: dict[str | None, Value]) -> Value:
    """An object with the attributes it is made with, but those that the module assigns later."""
    assigned = frame.module.stores_on_others
    held = [(n, known) for n, known in keywords.items() if n and known.known and n not in assigned]
    return value(Instance(name, exact=True, held=tuple(sorted(held))))


def _partial(node: ast.Call, arguments: list[Value]) -> Value:
    """`partial(f, x, key=y)`: what it calls, and what is given already."""
    inner = only(arguments[0])
    before = inner if isinstance(inner, Partial) else Partial(arguments[0])
    if not before.called.known:
        return UNKNOWN
    names = tuple(keyword.arg for keyword in node.keywords if keyword.arg is not None)
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    made = Partial(
        before.called,
        before.positional + len(node.args) - 1,
        (*before.keywords, *names),
        before.starred or starred or len(names) < len(node.keywords),
    )
    return value(made, evidence=arguments[0].evidence)


def _type_var(frame: Frame, env: Env, node: ast.Call) -> Value:
    bounds = [keyword.value for keyword in node.keywords if keyword.arg == "bound"]
    bounds = bounds or node.args[1:]
    return join([class_bound(frame, env, bound) for bound in bounds] or [UNKNOWN])


def _filtered(frame: Frame, env: Env, test: ast.Lambda, items: Value) -> Value:
    """`filter(lambda p: isinstance(p, C), pools)`: those for which the test holds."""
    from kvlint.interpret.narrowing import branches

    parameters = test.args.args
    if len(parameters) != 1:
        return UNKNOWN
    name = parameters[0].arg
    true, _ = branches(quiet_frame(frame), {**env, name: iterated(frame.ctx, items)}, test.body)
    return value(Elements(true[name] if true is not None else UNKNOWN))


def _setattr(frame: Frame, env: Env, node: ast.Call, arguments: list[Value]) -> Value:
    """`setattr(x, "name", value)` with a literal name is an assignment."""
    name = _text(arguments[1])
    if name is not None:
        target = ast.Attribute(node.args[0], name, ast.Store())
        assign(frame, env, ast.copy_location(target, node), arguments[2], None)
    return NOTHING


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


def _getattr(frame: Frame, env: Env, node: ast.Call, arguments: list[Value]) -> Value:
    names = _texts(arguments[1])
    if not names or not arguments[0].known:
        return UNKNOWN
    found: list[Value] = []
    for name in names:
        spelled = ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node)
        if len(arguments) == 2 and len(names) == 1:
            record_access(frame, env, spelled, arguments[0], None, at=node)
        elif len(names) == 1:
            record_hasattr(frame, node, arguments[0], name)
        found.append(attribute_at(frame, env, spelled, arguments[0]))
    return join([*found, *arguments[2:]])


def _texts(known: Value) -> list[str]:
    """The texts that a value can be, where it can be nothing else."""
    texts = [atom.value for atom in known.atoms or () if isinstance(atom, Constant)]
    named = [text for text in texts if isinstance(text, str)]
    return sorted(named) if len(named) == len(known.atoms or ()) else []


def _type(node: ast.Call, argument: Value) -> Value:
    path = path_of(node.args[0])
    if path is not None:
        return value(TypeOf(path))
    atoms = argument.atoms or frozenset()
    classes = [ClassObject(a.cls, exact=a.exact) for a in atoms if isinstance(a, Instance)]
    return value(*classes) if classes and len(classes) == len(atoms) else UNKNOWN
