"""Walks statements: what each name holds at each place, joined where paths meet."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from kvlint.interpret.access import entered, iterated
from kvlint.interpret.annotations import annotation_value
from kvlint.interpret.assignment import assign, forget, keep, path_of
from kvlint.interpret.class_sets import meet
from kvlint.interpret.classes import bindings_of_function, class_info
from kvlint.interpret.context import Context, Env, Frame, module_frame
from kvlint.interpret.expressions import combined, evaluate
from kvlint.interpret.functions import entry_env, run_function, self_value_of
from kvlint.interpret.handlers import caught_by_try, caught_by_with
from kvlint.interpret.interest import touches
from kvlint.interpret.names import ENDING
from kvlint.interpret.narrowing import TYPE_CHECKING, branches
from kvlint.interpret.patterns import narrow_case
from kvlint.interpret.slicing import block_index, has_walrus, names_in, statements_asked
from kvlint.interpret.values import NEVER, UNKNOWN, Elements, Function, Mapping, Value, join, value
from kvlint.source.index import Module, bindings_of

__all__ = ["entry_env", "execute", "join_envs", "module_env", "run_nested"]

MAX_ROUNDS = 3


def join_envs(envs: Sequence[Env | None]) -> Env | None:
    """Where paths meet. A plain name that one path alone binds keeps its value; an access path
    that one path alone narrowed or assigned is forgotten."""
    alive = [env for env in envs if env is not None]
    if not alive:
        return None
    if len(alive) == 1:
        return alive[0]
    first, *rest = alive
    joined: Env = {}
    for name, known in first.items():
        same = True
        for env in rest:
            other = env.get(name)
            if other is not known and other != known:
                same = False
                break
        if same:
            joined[name] = known
            continue
        present = [env[name] for env in alive if name in env]
        if len(present) == len(alive) or name.isidentifier():
            joined[name] = join(present)
    for env in rest:
        for name in env:
            if name not in first and name not in joined and name.isidentifier():
                joined[name] = join(env[name] for env in rest if name in env)
    return joined


def execute(frame: Frame, env: Env | None, body: Sequence[ast.stmt]) -> Env | None:
    """Run a block. None: the end is not reached."""
    for statement in body if frame.slice is None else _asked_of(frame, body):
        if env is None:
            return None
        frame.statement = statement
        if frame.slice is not None and not _matters(frame, statement):
            continue
        handler = HANDLERS.get(type(statement))
        if handler is not None:
            env = handler(frame, env, statement)
        else:
            _bind_others(frame, env, statement)
    return env


def _asked_of(frame: Frame, body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements that the slice of a frame may have to do with."""
    if frame.slice is None or not body:
        return body
    blocks = frame.ctx.blocks
    if body[0] not in blocks:
        blocks[body[0]] = block_index(body)
    index = blocks[body[0]]
    return body if index is None else statements_asked(frame.slice, body, index)


def _matters(frame: Frame, statement: ast.stmt) -> bool:
    """Whether a statement can change what the slice asks for. Compound statements always may."""
    part = frame.slice
    if part is None or not isinstance(statement, SIMPLE):
        return True
    if isinstance(statement, ast.Return):
        return True
    if isinstance(statement, ast.Expr):
        call = statement.value
        if not isinstance(call, (ast.Call, ast.Yield, ast.YieldFrom, ast.Await)):
            return False
        if isinstance(call, ast.Call):
            wanted = part.touches(call)
            return wanted or _never_returns(frame, call)
        return part.returns
    if isinstance(statement, ast.Assert):
        return part.asks(statement.test)
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(part.wants(target) for target in targets) or has_walrus(statement)


def _bind_others(frame: Frame, env: Env, statement: ast.stmt) -> None:
    from kvlint.interpret.symbols import binding_value

    for name, binding in bindings_of(statement, frame.module):
        forget(env, name)
        env[name] = binding_value(frame.ctx, frame.module, binding)


def _expression(frame: Frame, env: Env, node: ast.Expr) -> Env | None:
    asserted = _asserted(node.value)
    if asserted is not None:
        return branches(frame, env, asserted)[0]
    if isinstance(node.value, ast.BoolOp) and _never_returns(frame, node.value.values[-1]):
        # `isinstance(pool, C) or sys.exit(1)`
        first = node.value.values[:-1]
        test = first[0] if len(first) == 1 else ast.BoolOp(node.value.op, first)
        true, false = branches(frame, env, test)
        return true if isinstance(node.value.op, ast.Or) else false
    evaluate(frame, env, node.value)
    return None if _never_returns(frame, node.value) else env


def _asserted(node: ast.expr) -> ast.expr | None:
    """`self.assertIsInstance(pool, C)` as the condition that holds after it."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr not in ("assertIsInstance", "assertNotIsInstance") or len(node.args) < 2:
        return None
    call = ast.Call(ast.Name("isinstance", ast.Load()), node.args[:2], [])
    test: ast.expr = ast.copy_location(call, node)
    negated = node.func.attr == "assertNotIsInstance"
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), node) if negated else test


def _never_returns(frame: Frame, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    text = path_of(node.func)
    if text is None or text in ENDING:
        return text is not None
    if text.endswith((".fail", ".skipTest")):
        return text.rpartition(".")[0] == frame.self_name
    bindings = frame.module.bindings.get(text, ())
    return any(
        isinstance(binding, ast.FunctionDef)
        and binding.returns is not None
        and ast.unparse(binding.returns).rpartition(".")[2] in ("NoReturn", "Never")
        for binding in bindings
    )


def _assign(frame: Frame, env: Env, node: ast.Assign) -> Env:
    found = evaluate(frame, env, node.value)
    for target in node.targets:
        assign(frame, env, target, found, node.value)
    return env


def _annotated(frame: Frame, env: Env, node: ast.AnnAssign) -> Env:
    declared = annotation_value(frame, env, node.annotation)
    found = evaluate(frame, env, node.value) if node.value is not None else UNKNOWN
    if declared.known:
        text = f"`{ast.unparse(node.target)}` is annotated `{ast.unparse(node.annotation)}`"
        step = frame.evidence(text, node)
        path = path_of(node.target)
        stated = Value(declared.atoms, (step,))
        if path is not None:
            frame.declared[path] = stated
        met = None if found in EMPTY else meet(frame.ctx, stated, found)
        found = met if met is not None else stated
    assign(frame, env, node.target, found, node.value)
    return env


EMPTY = (value(Elements(NEVER)), value(Mapping(NEVER)))
"""An empty list or dict says nothing of what will be in it."""


def _augmented(frame: Frame, env: Env, node: ast.AugAssign) -> Env:
    found = evaluate(frame, env, node.value)
    before = evaluate(frame, env, node.target) if isinstance(node.target, ast.Name) else UNKNOWN
    assign(frame, env, node.target, combined(node.op, before, found), None)
    return env


def _return(frame: Frame, env: Env, node: ast.Return) -> None:
    frame.leave(env)
    if frame.slice is not None and not frame.slice.returns:
        return
    frame.returned.append(evaluate(frame, env, node.value) if node.value else value())


def _raise(frame: Frame, env: Env, node: ast.Raise) -> None:
    if frame.slice is not None:
        return
    for part in (node.exc, node.cause):
        if part is not None:
            evaluate(frame, env, part)


def _if(frame: Frame, env: Env, node: ast.If) -> Env | None:
    true, false = _branches(frame, env, node.test)
    recorder = frame.recorder
    if path_of(node.test) in TYPE_CHECKING:
        frame.recorder = None  # read by type checkers alone: nothing in it ever runs
    end = execute(frame, true, node.body)
    frame.recorder = recorder
    return join_envs([end, execute(frame, false, node.orelse)])


def _branches(frame: Frame, env: Env, test: ast.expr) -> tuple[Env | None, Env | None]:
    part = frame.slice
    if part is not None and not part.asks(test):
        if isinstance(test, ast.Constant):
            return branches(frame, env, test)
        return dict(env), dict(env)
    return branches(frame, env, test)


def _assert(frame: Frame, env: Env, node: ast.Assert) -> Env | None:
    true, false = branches(frame, env, node.test)
    if node.msg is not None and false is not None:
        evaluate(frame, false, node.msg)
    return true


def _loop(
    frame: Frame,
    env: Env,
    enter: Callable[[Env], tuple[Env | None, Env | None]],
    body: Sequence[ast.stmt],
    orelse: Sequence[ast.stmt],
) -> Env | None:
    """Rounds until the environment at the head no longer changes."""
    head: Env = env
    broken: list[Env] = []
    leave: Env | None = None
    for _ in range(MAX_ROUNDS):
        frame.breaks.append([])
        frame.continues.append([])
        inside, leave = enter(dict(head))
        end = execute(frame, inside, body)
        broken = frame.breaks.pop()
        again = join_envs([head, end, *frame.continues.pop()])
        if again is None or again == head:
            break
        head = again
    return join_envs([execute(frame, leave, orelse), *broken])


def _for(frame: Frame, env: Env, node: ast.For | ast.AsyncFor) -> Env | None:
    wanted = frame.slice is None or frame.slice.wants(node.target)
    items = evaluate(frame, env, node.iter) if wanted else UNKNOWN

    def enter(head: Env) -> tuple[Env, Env]:
        leave = dict(head)
        assign(frame, head, node.target, iterated(frame.ctx, items), None)
        return head, leave

    return _loop(frame, env, enter, node.body, node.orelse)


def _while(frame: Frame, env: Env, node: ast.While) -> Env | None:
    def enter(head: Env) -> tuple[Env | None, Env | None]:
        frame.statement = node
        return _branches(frame, head, node.test)

    return _loop(frame, env, enter, node.body, node.orelse)


def _break(frame: Frame, env: Env, _: ast.Break) -> None:
    if frame.breaks:
        frame.breaks[-1].append(env)


def _continue(frame: Frame, env: Env, _: ast.Continue) -> None:
    if frame.continues:
        frame.continues[-1].append(env)


def _with(frame: Frame, env: Env, node: ast.With | ast.AsyncWith) -> Env | None:
    swallows = False
    outer = frame.caught
    for item in node.items:
        manager = (
            evaluate(frame, env, item.context_expr)
            if frame.slice is None
            or (item.optional_vars is not None and frame.slice.wants(item.optional_vars))
            else UNKNOWN
        )
        caught = caught_by_with(frame, env, item.context_expr)
        if caught:
            frame.caught = (*frame.caught, caught)
            swallows = True
        if item.optional_vars is not None:
            given = entered(frame.ctx, manager, isinstance(node, ast.AsyncWith))
            assign(frame, env, item.optional_vars, given, None)
    before = dict(env) if swallows else None
    end = execute(frame, env, node.body)
    frame.caught = outer
    return join_envs([before, end]) if swallows else end


def _try(frame: Frame, env: Env, node: Any) -> Env | None:
    outer = frame.caught
    caught = caught_by_try(frame, env, node)
    frame.caught = (*outer, caught) if caught else outer
    start = dict(env)
    end = execute(frame, env, node.body)
    frame.caught = outer
    interrupted = _interrupted(frame, start, node.body, end)
    end = execute(frame, end, node.orelse)
    ends = [end]
    for handler in node.handlers:
        inside = dict(interrupted)
        if handler.type is not None:
            frame.statement = handler
            evaluate(frame, inside, handler.type)
        if handler.name:
            forget(inside, handler.name)
            inside[handler.name] = UNKNOWN
        ends.append(execute(frame, inside, handler.body))
    joined = join_envs(ends)
    if not node.finalbody:
        return joined
    final = execute(frame, dict(joined if joined is not None else interrupted), node.finalbody)
    return None if joined is None else final


def _interrupted(frame: Frame, start: Env, body: Sequence[ast.stmt], end: Env | None) -> Env:
    """The environment in which a handler may start: what was before the body, or after any part
    of it."""
    known = dict(join_envs([start, end]) or start)
    if end is not None:
        return known
    for statement in body:
        for name, _ in bindings_of(statement, frame.module):
            if name in known:
                known[name] = UNKNOWN
    return known


def _match(frame: Frame, env: Env, node: ast.Match) -> Env | None:
    subject = evaluate(frame, env, node.subject)
    rest: Env | None = env
    ends: list[Env | None] = []
    for case in node.cases:
        if rest is None:
            break
        frame.statement = node
        inside, rest = narrow_case(frame, rest, node.subject, subject, case.pattern)
        if case.guard is not None and inside is not None:
            inside, refused = branches(frame, inside, case.guard)
            rest = join_envs([rest, refused])
        ends.append(execute(frame, inside, case.body))
    return join_envs([*ends, rest])


def _function(frame: Frame, env: Env, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Env:
    if frame.recorder is not None:
        for expression in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
            if expression is not None:
                evaluate(frame, env, expression)
    forget(env, node.name)
    for name in _rebound(frame, node):
        known = join([env.get(name, UNKNOWN), _rebinding(frame, env, node, name)])
        frame.volatile[name] = known
        forget(env, name)
        env[name] = known
    inner: Env = dict(env) if frame.function is not None else {}
    outer = (inner, *frame.outer) if frame.function is not None else ()
    env[node.name] = inner[node.name] = value(Function(frame.module, node, outer=outer))
    frame.nested.append((node, inner))
    return env


def _rebound(frame: Frame, node: ast.AST) -> set[str]:
    """Names that a nested function declares nonlocal."""
    if "nonlocal" not in frame.module.source.words:
        return set()
    inner = (each for each in ast.walk(node) if isinstance(each, ast.Nonlocal))
    return {name for each in inner for name in each.names}


def _rebinding(
    frame: Frame, env: Env, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Value:
    """What a nested function assigns to a name of the function around it."""
    bindings = bindings_of_function(frame.ctx, node)
    values = bindings.names.get(name, [])
    own = {
        *bindings.names,
        *(argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)),
    }
    if not values or any(not own.isdisjoint(names_in(each)) for each in values):
        return UNKNOWN
    quiet = Frame(frame.ctx, frame.module, frame.cls, frame.function, outer=frame.outer)
    return join(evaluate(quiet, dict(env), each) for each in values)


def _class(frame: Frame, env: Env, node: ast.ClassDef) -> Env:
    from kvlint.interpret.values import ClassObject

    for expression in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
        evaluate(frame, env, expression)
    info = class_info(frame, env, node)
    forget(env, node.name)
    env[node.name] = value(ClassObject(info.qualname))
    if frame.recorder is not None:
        walk_class(frame, env, node)
    return env


def walk_class(frame: Frame, env: Env, node: ast.ClassDef) -> None:
    """Walk a class body and its methods for their uses."""
    info = class_info(frame, env, node)
    qualname = f"{frame.qualname}.{node.name}" if frame.qualname else node.name
    outer = info.outer
    inner = Frame(frame.ctx, frame.module, info, None, qualname, outer, frame.recorder)
    inner.lines = None if info.is_pool else frame.lines
    inner.caught = ()
    execute(inner, {}, [s for s in node.body if not isinstance(s, FUNCTIONS)])
    for statement in node.body:
        if isinstance(statement, FUNCTIONS) and _may_use(inner, statement):
            for decorator in statement.decorator_list:
                inner.statement = statement
                evaluate(inner, {}, decorator)
            run_function(
                inner, statement, info, self_value_of(info, statement), outer, frame.recorder
            )


def _may_use(frame: Frame, node: ast.AST) -> bool:
    return frame.lines is None or touches(frame.lines, node)


def _delete(frame: Frame, env: Env, node: ast.Delete) -> Env:
    for target in node.targets:
        path = path_of(target)
        if path is None:
            evaluate(frame, env, target)
        else:
            forget(env, path)
            keep(env, path, UNKNOWN)
    return env


def _ignore(frame: Frame, env: Env, node: ast.stmt) -> Env:
    return env


SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert, ast.Return)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
HANDLERS: dict[type[ast.stmt], Callable[[Frame, Env, Any], Env | None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.If: _if,
    ast.Assert: _assert,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Delete: _delete,
    ast.Pass: _ignore,
    ast.Global: _ignore,
    ast.Nonlocal: _ignore,
}
if hasattr(ast, "TryStar"):
    HANDLERS[ast.TryStar] = _try


def run_nested(frame: Frame) -> None:
    """Walk the functions defined in a function, at its end: a captured name holds what it held at
    the definition where nothing is assigned to it later, else anything it was assigned."""
    if frame.recorder is None:
        return
    for node, env in frame.nested:
        if frame.function is None and not _may_use(frame, node):
            continue
        outer = (env, *frame.outer) if frame.function is not None else ()
        run_function(frame, node, frame.cls, None, outer, frame.recorder)


def module_env(ctx: Context, module: Module) -> Env:
    """What the globals hold after the module has run."""
    if module.name in ctx.module_envs:
        return ctx.module_envs[module.name]
    ctx.module_envs[module.name] = {}
    frame = module_frame(ctx, module)
    ctx.module_envs[module.name] = execute(frame, {}, module.tree.body) or {}
    return ctx.module_envs[module.name]
