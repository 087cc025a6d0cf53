"""Functions and methods of the project: what they start with, return and keep on self."""

from __future__ import annotations

import ast
from dataclasses import replace

from kvlint.interpret.annotations import annotation_value
from kvlint.interpret.classes import ClassInfo, FunctionNode, bindings_of_function, class_frame
from kvlint.interpret.context import Context, Env, Frame
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
) -> Frame:
    """Walk a function's body; the frame that comes back holds what was returned and stored."""
    from kvlint.interpret.flow import execute, run_nested

    qualname = f"{parent.qualname}.{function.name}" if parent.qualname else function.name
    frame = Frame(parent.ctx, parent.module, cls, function, qualname, outer, recorder, part)
    positional = [*function.args.posonlyargs, *function.args.args]
    if self_value is not None and positional:
        frame.self_name = positional[0].arg
    if expected_by_decorator(function):
        frame.caught = (frozenset([EVERYTHING]),)
    env = entry_env(frame, function, self_value)
    end = execute(frame, env, function.body)
    if end is not None:
        frame.returned.append(NOTHING)
    run_nested(frame)
    return frame


def return_value(ctx: Context, called: Function) -> Value:
    """What a call of a project function gives: its declared result, else the inferred one."""
    function, info = called.node, called.cls
    names = {called_name(decorator) for decorator in function.decorator_list}
    if not names <= TRANSPARENT and not all(
        called_name(decorator) in TRANSPARENT or _only_wraps(called.module, decorator)
        for decorator in function.decorator_list
    ):
        return UNKNOWN
    frame = class_frame(ctx, info) if info is not None else Frame(ctx, called.module)
    if function.returns is not None:
        return _declared_result(frame, function, called)
    if not ctx.may_bear(called.module, function.name):
        return UNKNOWN
    if bindings_of_function(ctx, function).plain_result:
        return UNKNOWN
    key = (function, _self_class(called))
    # A function that calls itself gives what its other returns give.
    return ctx.ask(key, ctx.returns, lambda: _inferred_result(frame, called), NEVER)


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


def _self_class(called: Function) -> str | None:
    atoms = called.self_value.atoms if called.self_value is not None else None
    if atoms and len(atoms) == 1:
        atom = next(iter(atoms))
        if isinstance(atom, (Instance, ClassObject)):
            return atom.cls
    return None


def _declared_result(frame: Frame, function: FunctionNode, called: Function) -> Value:
    env: Env = {}
    for parameter in getattr(function, "type_params", ()):
        env[parameter.name] = class_bound(frame, env, getattr(parameter, "bound", None))
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


def passed_on(ctx: Context, called: Function) -> str | None:
    """The parameter that a function does nothing to but return it."""
    function = called.node
    bindings = bindings_of_function(ctx, function)
    names = {each.id for each in bindings.returned if isinstance(each, ast.Name)}
    decorated = {called_name(decorator) for decorator in function.decorator_list}
    if len(names) != 1 or bindings.yields or not decorated <= TRANSPARENT:
        return None
    if not all(isinstance(each, ast.Name) for each in bindings.returned):
        return None
    name = names.pop()
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given = any(parameter.arg == name for parameter in parameters)
    return name if given and name not in bindings.names else None


def _inferred_result(frame: Frame, called: Function) -> Value:
    function, info = called.node, called.cls
    self_value = called.self_value or self_value_of(info, function)
    bindings = bindings_of_function(frame.ctx, function)
    part = Slice(closure(bindings, bindings.returned), returns=True)
    done = run_function(frame, function, info, self_value, frame.outer, None, part)
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
        return done.self_stores.get(name, [])

    return ctx.ask((method, name), ctx.stores, work, [UNKNOWN])
