"""Functions and methods of the project: what they start with, return and keep on self."""

from __future__ import annotations

import ast
from dataclasses import replace

from kvlint.interpret.annotations import annotation_value
from kvlint.interpret.classes import ClassInfo, FunctionNode, bindings_of_function, class_frame
from kvlint.interpret.construction import bears_pool, bound
from kvlint.interpret.context import Context, Env, Frame
from kvlint.interpret.generics import environment_of
from kvlint.interpret.handlers import EVERYTHING, expected_by_decorator
from kvlint.interpret.names import called_name
from kvlint.interpret.slicing import Slice, bindings_in, closure
from kvlint.interpret.uses import Recorder
from kvlint.interpret.values import (
    NEVER,
    NOTHING,
    UNKNOWN,
    Atom,
    Buffer,
    ClassObject,
    Elements,
    Function,
    Instance,
    Mapping,
    Value,
    join,
    only,
    value,
    without_none,
)
from kvlint.source.index import Module

TRANSPARENT = frozenset(
    "staticmethod classmethod property cached_property abstractmethod override final cache "
    "lru_cache wraps no_grad inference_mode contextmanager asynccontextmanager overload "
    "no_type_check fixture".split()
)


def entry_env(frame: Frame, function: FunctionNode, self_value: Value | None = None) -> Env:
    """The environment a function's body starts in."""
    env: Env = {}
    for parameter in getattr(function, "type_params", ()):
        bound = getattr(parameter, "bound", None)
        env[parameter.name] = class_bound(frame, env, bound)
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument in [*positional, *arguments.kwonlyargs]:
        env[argument.arg] = _parameter(frame, env, argument)
    if arguments.vararg is not None:
        env[arguments.vararg.arg] = value(Elements(_parameter(frame, env, arguments.vararg)))
    if arguments.kwarg is not None:
        env[arguments.kwarg.arg] = value(Mapping(_parameter(frame, env, arguments.kwarg)))
    if self_value is not None and positional and not env[positional[0].arg].known:
        env[positional[0].arg] = self_value
    return env


def class_bound(frame: Frame, env: Env, bound: ast.expr | None) -> Value:
    """A type parameter as a value: the class object of its bound."""
    if bound is None:
        return UNKNOWN
    constraints = bound.elts if isinstance(bound, ast.Tuple) else [bound]
    found = join(annotation_value(frame, env, constraint) for constraint in constraints)
    atoms = [ClassObject(a.cls, exact=False) for a in found.atoms or () if isinstance(a, Instance)]
    return value(*atoms) if atoms else UNKNOWN


def _parameter(frame: Frame, env: Env, argument: ast.arg) -> Value:
    if argument.annotation is None:
        return _fixture(frame, argument.arg)
    found = annotation_value(frame, env, argument.annotation)
    if not found.known:
        return UNKNOWN
    text = f"`{argument.arg}` is annotated `{ast.unparse(argument.annotation)}`"
    return Value(found.atoms, (frame.evidence(text, argument),))


def _fixture(frame: Frame, name: str) -> Value:
    """What a test's parameter is given by the pytest fixture of that name in its module."""
    function = frame.function
    if function is None:
        return UNKNOWN
    bindings = frame.module.bindings.get(name, [])
    fixture = bindings[0] if len(bindings) == 1 else None
    if not isinstance(fixture, (ast.FunctionDef, ast.AsyncFunctionDef)) or fixture is function:
        return UNKNOWN
    if not _is_fixture(fixture):
        return UNKNOWN
    given = any(name in ast.unparse(decorator) for decorator in function.decorator_list)
    if given or not (function.name.startswith("test") or _is_fixture(function)):
        return UNKNOWN
    found = return_value(frame.ctx, Function(frame.module, fixture))
    atom = only(found)
    return atom.element if isinstance(atom, Elements) else found


def _is_fixture(function: FunctionNode) -> bool:
    return "fixture" in map(called_name, function.decorator_list)


def self_value_of(cls: ClassInfo | None, function: FunctionNode) -> Value | None:
    """What the first parameter of a method is bound to."""
    if cls is None:
        return None
    names = {called_name(decorator) for decorator in function.decorator_list}
    if "staticmethod" in names:
        return None
    if "classmethod" in names or function.name in ("__new__", "__init_subclass__"):
        return value(ClassObject(cls.qualname, exact=False))
    return value(Instance(cls.qualname))


def run_function(
    parent: Frame,
    function: FunctionNode,
    cls: ClassInfo | None,
    self_value: Value | None,
    outer: tuple[Env, ...],
    recorder: Recorder | None,
    part: Slice | None = None,
    given: Env | None = None,
) -> Frame:
    """Walk a function's body; the frame that comes back holds what was returned and stored.
    `given`: what parameters hold of which nothing is declared."""
    from kvlint.interpret.flow import execute, run_nested

    qualname = f"{parent.qualname}.{function.name}" if parent.qualname else function.name
    frame = Frame(parent.ctx, parent.module, cls, function, qualname, outer, recorder, part)
    positional = [*function.args.posonlyargs, *function.args.args]
    if self_value is not None and positional:
        frame.self_name = positional[0].arg
    if expected_by_decorator(function):
        frame.caught = (frozenset([EVERYTHING]),)
    env = entry_env(frame, function, self_value)
    for name, known in (given or {}).items():
        env[name] = known if not env[name].known else env[name]
    end = execute(frame, env, function.body)
    if end is not None:
        frame.returned.append(NOTHING)
        frame.leave(end)
    run_nested(frame)
    return frame


def return_value(ctx: Context, called: Function) -> Value:
    """What a call of a project function gives: its declared result, else the inferred one."""
    function = called.node
    names = {called_name(decorator) for decorator in function.decorator_list}
    if not names <= TRANSPARENT and not all(
        called_name(decorator) in TRANSPARENT or _only_wraps(called.module, decorator)
        for decorator in function.decorator_list
    ):
        return UNKNOWN
    frame = _frame_of(ctx, called)
    if function.returns is not None:
        declared = _declared_result(frame, function, called)
        if declared.known or not _holds_more(called):
            return declared
    if not ctx.may_bear(called.module, function.name):
        return UNKNOWN
    if bindings_of_function(ctx, function).plain_result:
        return UNKNOWN
    key = (function, _self_class(called), _seen(ctx, called))
    # A function that calls itself gives what its other returns give.
    return ctx.ask(key, ctx.returns, lambda: _inferred_result(frame, called), NEVER)


def _frame_of(ctx: Context, called: Function) -> Frame:
    if called.cls is not None:
        return class_frame(ctx, called.cls)
    return Frame(ctx, called.module, outer=called.outer)


def _seen(ctx: Context, called: Function) -> tuple[tuple[str, Value], ...]:
    """What a function's result rests on of the functions around it."""
    if not called.outer:
        return ()
    bindings = bindings_of_function(ctx, called.node)
    names = sorted(closure(bindings, bindings.returned))
    around = ((name, [env[name] for env in called.outer if name in env]) for name in names)
    return tuple((name, values[0]) for name, values in around if values)


def open_parameters(ctx: Context, called: Function) -> frozenset[str]:
    """Parameters of which nothing is declared and that the result rests on."""
    function = called.node
    if function.returns is not None:
        return frozenset()
    if function not in ctx.open_parameters:
        bindings = bindings_of_function(ctx, function)
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names = {argument.arg for argument in every if argument.annotation is None}
        plain = bindings.plain_result or not names
        wanted = frozenset() if plain else closure(bindings, bindings.returned)
        ctx.open_parameters[function] = wanted & names
    return ctx.open_parameters[function]


def returned_for(
    ctx: Context, called: Function, arguments: list[Value], keywords: dict[str | None, Value]
) -> Value:
    """What a call gives where that depends on the pools it is handed."""
    own = called.cls is not None and called.self_value is not None
    wanted = open_parameters(ctx, called)
    decorated = {called_name(decorator) for decorator in called.node.decorator_list}
    if not wanted or not decorated <= TRANSPARENT or ctx.depth >= MAX_CALLS:
        return UNKNOWN
    given = bound(called.node, arguments, keywords, 1 if own else 0)
    given = {n: known for n, known in given.items() if n in wanted and bears_pool(ctx, known)}
    return returned_with(ctx, called, given) if given else UNKNOWN


def returned_with(ctx: Context, called: Function, given: Env) -> Value:
    """What a function gives where some parameters hold what is `given`."""
    handed = tuple(sorted(given.items()))
    key = (called.node, _self_class(called), _seen(ctx, called), handed)
    frame = _frame_of(ctx, called)
    ctx.depth += 1
    try:
        return ctx.ask(key, ctx.returns, lambda: _inferred_result(frame, called, given), NEVER)
    finally:
        ctx.depth -= 1


MAX_CALLS = 4


def _only_wraps(module: Module, decorator: ast.expr) -> bool:
    """Whether a decorator of the module returns a function that returns what the decorated one
    gives."""
    bindings = module.bindings.get(decorator.id, []) if isinstance(decorator, ast.Name) else []
    outer = bindings[0] if len(bindings) == 1 else None
    if not isinstance(outer, ast.FunctionDef) or len(outer.args.args) != 1:
        return False
    decorated = outer.args.args[0].arg
    for inner in outer.body:
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            results = bindings_in(inner).returned
            return bool(results) and all(_calls(result, decorated) for result in results)
    return False


def _calls(node: ast.expr, name: str) -> bool:
    if isinstance(node, ast.Await):
        node = node.value
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Name) and function.id == name


def _self_class(called: Function) -> str | Atom | None:
    """What the result rests on of the object: its class, and what it was made with."""
    atom = only(called.self_value) if called.self_value is not None else None
    if isinstance(atom, Instance) and (atom.held or atom.typed):
        return atom
    return atom.cls if isinstance(atom, (Instance, ClassObject)) else None


def _holds_more(called: Function) -> bool:
    """Whether more is known of the object than its class says."""
    return isinstance(_self_class(called), Instance)


def _declared_result(frame: Frame, function: FunctionNode, called: Function) -> Value:
    env: Env = {}
    for parameter in getattr(function, "type_params", ()):
        env[parameter.name] = class_bound(frame, env, getattr(parameter, "bound", None))
    own = only(called.self_value) if called.self_value is not None else None
    if frame.cls is not None and isinstance(own, Instance):
        env.update(environment_of(frame.ctx, own, frame.cls.qualname))
    if function.returns is None:
        return UNKNOWN
    if _is_self_type(function.returns) and called.self_value is not None:
        return called.self_value
    found = annotation_value(frame, env, function.returns)
    if not found.known:
        return UNKNOWN
    text = f"`{function.name}()` is declared to return `{ast.unparse(function.returns)}`"
    return Value(found.atoms, (frame.evidence(text, function),))


def _is_self_type(node: ast.expr) -> bool:
    return called_name(node) == "Self"


def _inferred_result(frame: Frame, called: Function, given: Env | None = None) -> Value:
    function, info = called.node, called.cls
    self_value = called.self_value or self_value_of(info, function)
    bindings = bindings_of_function(frame.ctx, function)
    part = Slice(closure(bindings, bindings.returned), returns=True)
    done = run_function(frame, function, info, self_value, frame.outer, None, part, given)
    if done.yielded:
        return value(Elements(join(done.yielded)))
    found = join(done.returned) if done.returned else NEVER
    if not done.returned or not found.known:
        return UNKNOWN
    if found == NEVER:
        return found
    if without_none(found) == NEVER:
        return NOTHING
    found = Value(frozenset(_handed_out(atom) for atom in found.atoms or ()), found.evidence)
    return found.because(frame.evidence(f"`{function.name}()` returns it", function))


def _handed_out(atom: Atom) -> Atom:
    """Storage that a function hands out is an accessor's view to its callers, not a raw list."""
    return replace(atom, raw=False) if isinstance(atom, Buffer) else atom


def property_value(ctx: Context, info: ClassInfo, function: FunctionNode) -> Value:
    """What reading a property gives."""
    bound = Function(info.module, function, info, value(Instance(info.qualname)))
    found = return_value(ctx, bound)
    return Value(without_none(found).atoms, found.evidence) if found.known else UNKNOWN


def stores_of(ctx: Context, info: ClassInfo, method: FunctionNode, name: str) -> list[Value]:
    """What a method assigns to one attribute of self."""
    bindings = bindings_of_function(ctx, method)
    if bindings.is_plain_store(name):
        return [UNKNOWN]

    def work() -> list[Value]:
        frame = class_frame(ctx, info)
        wanted = closure(bindings, bindings.stores.get(name, ()))
        part = Slice(wanted, attribute=name)
        self_value = self_value_of(info, method)
        done = run_function(frame, method, info, self_value, frame.outer, None, part)
        stored = done.self_stores.get(name, [])
        settled = _settled(ctx, stored, done.left)
        return stored if settled is None else [settled]

    return ctx.ask((method, name), ctx.stores, work, [UNKNOWN])


def _settled(ctx: Context, stored: list[Value], left: list[Value | None]) -> Value | None:
    """What the attribute holds after the method, where that is less than what was assigned:
    `self.pool = pool`, then `assert isinstance(self.pool, C)`. A test that leaves both outcomes
    open settles nothing."""
    known = [each for each in left if each is not None]
    if not stored or not known or len(known) < len(left):
        return None
    settled, assigned = join(known), join(stored)
    if settled.atoms is None or any(isinstance(a, (Elements, Mapping)) for a in settled.atoms):
        return None
    if assigned.atoms is None:
        return settled
    bases = {atom.cls for atom in assigned.atoms if isinstance(atom, Instance)}
    halves = {atom.cls for atom in settled.atoms if isinstance(atom, Instance) and atom.minus}
    open_ends = halves & bases and len(settled.atoms) > len(assigned.atoms)
    return None if settled.atoms == assigned.atoms or open_ends else settled
