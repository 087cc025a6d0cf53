"""What a condition tells: the environments in which it holds and in which it does not."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from kvlint.findings import Evidence
from kvlint.interpret.access import iterated
from kvlint.interpret.annotations import annotation_value, unquoted
from kvlint.interpret.assignment import keep, other_names, path_of
from kvlint.interpret.class_sets import class_tuple, narrow_away, narrow_to
from kvlint.interpret.classes import is_subclass
from kvlint.interpret.context import Context, Env, Frame, quiet_frame
from kvlint.interpret.expressions import classes_behind, evaluate, spelled
from kvlint.interpret.kept_tests import kept_on_self, test_of_self
from kvlint.interpret.recording import record_test
from kvlint.interpret.remarks import FLAG, IS, NOT, remark
from kvlint.interpret.values import (
    NOTHING,
    UNKNOWN,
    Atom,
    ClassObject,
    Constant,
    Elements,
    Function,
    Instance,
    Items,
    TypeOf,
    Value,
    element_of,
    only,
    value,
    without_none,
)

Branches = tuple[Env | None, Env | None]


TYPE_CHECKING = ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def branches(frame: Frame, env: Env, test: ast.expr) -> Branches:
    """(environment where the test holds, where it fails); None where that cannot be."""
    if isinstance(test, ast.BoolOp):
        return _boolean(frame, env, test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        true, false = branches(frame, env, test.operand)
        return false, true
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compare(frame, env, test)
    if isinstance(test, ast.Call):
        return _call(frame, env, test)
    if isinstance(test, ast.NamedExpr):
        evaluate(frame, env, test)
        return _with_test(frame, env, test.target.id, test.value)
    if isinstance(test, ast.Constant):
        return (dict(env), None) if test.value else (None, dict(env))
    evaluate(frame, env, test)
    return _truth(frame, env, test)


def _boolean(frame: Frame, env: Env, test: ast.BoolOp) -> Branches:
    from kvlint.interpret.flow import join_envs

    through: Env | None = env
    left: list[Env | None] = []
    conjunction = isinstance(test.op, ast.And)
    for operand in test.values:
        if through is None:
            break
        true, false = branches(frame, through, operand)
        through, out = (true, false) if conjunction else (false, true)
        left.append(out)
    leaving = join_envs(left)
    if leaving is not None and not conjunction:
        _say_why(frame, env, leaving, left, test)
    return (through, leaving) if conjunction else (leaving, through)


def _say_why(
    frame: Frame, env: Env, leaving: Env, left: Sequence[Env | None], test: ast.BoolOp
) -> None:
    """Where each alternative narrows a path in its own way, the whole condition is the step."""
    for path, known in leaving.items():
        if known is env.get(path) or not known.known:
            continue
        parts = [each[path] for each in left if each is not None and path in each]
        steps = [step for part in parts for step in part.evidence if step.narrows]
        if any(step not in known.evidence for step in steps):
            leaving[path] = known.because(holding(frame, test))


def _truth(frame: Frame, env: Env, test: ast.expr) -> Branches:
    path = path_of(test)
    if path is None:
        return dict(env), dict(env)
    kept = frame.tests.get(path) or kept_on_self(frame, test)
    if kept is not None:
        return _with_test(frame, env, path, kept)
    if path in TYPE_CHECKING:
        return dict(env), None
    known = value_of(frame, env, test)
    outcome = _split(env, path, without_none(known) if known.known else known, known)
    if isinstance(test, ast.Attribute):
        remark(outcome[0], path_of(test.value), FLAG, test.attr)
    return outcome


def _with_test(frame: Frame, env: Env, path: str, test: ast.expr) -> Branches:
    """A name that holds the outcome of another test."""
    while isinstance(test, ast.NamedExpr):
        test = test.value
    quiet = _silent(frame)
    if isinstance(test, (ast.Call, ast.BoolOp, ast.Compare, ast.UnaryOp)):
        true, false = branches(quiet, dict(env), test)
    else:
        true, false = dict(env), dict(env)
    known = env.get(path, UNKNOWN)
    if true is not None and known.known:
        keep(true, path, without_none(known))
    return true, false


def _silent(frame: Frame) -> Frame:
    silent = Frame(frame.ctx, frame.module, frame.cls, frame.function, frame.qualname, frame.outer)
    silent.self_name = frame.self_name
    return silent


def value_of(frame: Frame, env: Env, node: ast.expr) -> Value:
    return evaluate(_silent(frame), dict(env), node)


def _split(env: Env, path: str, true: Value, false: Value) -> Branches:
    """Both branches name the path, so that their join is the union."""
    holds, fails = dict(env), dict(env)
    for name in (path, *other_names(env, path)):
        keep(holds, name, true)
        keep(fails, name, false)
    return holds, fails


def _compare(frame: Frame, env: Env, test: ast.Compare) -> Branches:
    left = evaluate(frame, env, test.left)
    right = evaluate(frame, env, test.comparators[0])
    operator = test.ops[0]
    negated = isinstance(operator, (ast.IsNot, ast.NotEq, ast.NotIn))
    outcome = only(right)
    if isinstance(outcome, Constant) and isinstance(outcome.value, bool) and not _in(operator):
        true, false = branches(quiet_frame(frame), env, test.left)
        return (true, false) if outcome.value is not negated else (false, true)
    found: Branches | None = None
    if isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        found = _identity(frame, env, test, left, right)
    elif isinstance(operator, (ast.In, ast.NotIn)):
        found = _membership(frame, env, test, left, right)
    true, false = found if found is not None else (dict(env), dict(env))
    asked = _asked_for(test.left)
    for end in (true, false) if asked is not None else ():
        # `getattr(x, "name", None) is not None`: which way it came out does not matter here.
        if end is not None and asked is not None:
            keep(end, f"{asked[0]}?{asked[1]}", NOTHING)
    return (false, true) if negated else (true, false)


def _in(operator: ast.cmpop) -> bool:
    return not isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq))


def _identity(
    frame: Frame, env: Env, test: ast.Compare, left: Value, right: Value
) -> Branches | None:
    path = path_of(test.left)
    if right == NOTHING and path is not None:
        true = NOTHING if left.known else UNKNOWN
        return _split(env, path, true, without_none(left))
    subject = _type_subject(test.left, left)
    if subject is None:
        subject, right = _type_subject(test.comparators[0], right), left
    if subject is None:
        return None
    path, by_name = subject
    current = value_of(frame, env, spelled(path))
    classes = _by_name(frame.ctx, right) if by_name else _class_names(right)
    if classes is None:
        return None
    return _by_type(frame, env, path, current, classes, test)


def _membership(
    frame: Frame, env: Env, test: ast.Compare, left: Value, right: Value
) -> Branches | None:
    subject = _type_subject(test.left, left)
    if subject is None:
        return None
    current = value_of(frame, env, spelled(subject[0]))
    members = element_of(right)
    classes = _by_name(frame.ctx, members) if subject[1] else _class_names(members)
    return _by_type(frame, env, subject[0], current, classes, test) if classes else None


def _by_type(
    frame: Frame, env: Env, path: str, current: Value, classes: list[str], test: ast.expr
) -> Branches:
    """`type(x) is C`: exactly that class, no subclass."""
    step = holding(frame, _affirmed(test))
    fits = [
        cls
        for cls in classes
        if current.atoms is None or any(_may_be(frame.ctx, a, cls) for a in current.atoms)
    ]
    atoms = [Instance(cls, exact=True) for cls in fits]
    rest = current
    if current.atoms is not None:
        kept = [a for a in current.atoms if not (isinstance(a, Instance) and a in atoms)]
        rest = replace(current, atoms=frozenset(kept))
    return _split(env, path, Value(frozenset(atoms), (step,)), rest)


def holding(frame: Frame, test: ast.expr) -> Evidence:
    """The step that a condition is where it holds."""
    return frame.condition(f"`{ast.unparse(test)}` holds here", test)


def _affirmed(test: ast.expr) -> ast.expr:
    """`type(x) is C` of `type(x) is not C`."""
    operator = test.ops[0] if isinstance(test, ast.Compare) else None
    same = _AFFIRMED.get(type(operator))
    if same is None or not isinstance(test, ast.Compare):
        return test
    return ast.copy_location(ast.Compare(test.left, [same()], test.comparators), test)


_AFFIRMED: dict[type, type[ast.cmpop]] = {ast.IsNot: ast.Is, ast.NotEq: ast.Eq, ast.NotIn: ast.In}


def _may_be(ctx: Context, atom: Atom, cls: str) -> bool:
    if not isinstance(atom, Instance):
        return False
    if atom.exact:
        return atom.cls == cls
    excluded = any(is_subclass(ctx, cls, base) for base in atom.minus)
    return is_subclass(ctx, cls, atom.cls) and not excluded


def _type_subject(node: ast.expr, known: Value) -> tuple[str, bool] | None:
    """The path that `type(x)`, `x.__class__` or one of their `__name__` speaks of."""
    if isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__"):
        inner = _type_subject(node.value, UNKNOWN)
        return (inner[0], True) if inner is not None else None
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        path = path_of(node.value)
        return (path, False) if path is not None else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
        path = path_of(node.args[0]) if len(node.args) == 1 else None
        return (path, False) if path is not None else None
    atom = only(known)
    return (atom.path, atom.named) if isinstance(atom, TypeOf) else None


def _class_names(classes: Value) -> list[str] | None:
    names = [atom.cls for atom in classes.atoms or () if isinstance(atom, ClassObject)]
    return sorted(names) if names and len(names) == len(classes.atoms or ()) else None


def _by_name(ctx: Context, text: Value) -> list[str] | None:
    wanted = {atom.value for atom in text.atoms or () if isinstance(atom, Constant)}
    if not wanted or len(wanted) != len(text.atoms or ()):
        return None
    return [q for q, cls in ctx.view.catalogue.classes.items() if cls.name in wanted] or None


def _call(frame: Frame, env: Env, test: ast.Call) -> Branches:
    name = test.func.id if isinstance(test.func, ast.Name) else ""
    if name in ("isinstance", "issubclass") and len(test.args) == 2:
        return _isinstance(frame, env, test, name)
    if name == "hasattr" and len(test.args) == 2:
        return _hasattr(frame, env, test)
    if name == "bool" and len(test.args) == 1:
        return branches(frame, env, test.args[0])
    if name == "any" and len(test.args) == 1 and isinstance(test.args[0], ast.GeneratorExp):
        spelled = _any_of(test.args[0])
        if spelled is not None:
            return _isinstance(frame, env, spelled, "isinstance")
    if name == "all" and len(test.args) == 1 and isinstance(test.args[0], ast.GeneratorExp):
        return _all_of(frame, env, test, test.args[0])
    evaluate(frame, env, test)
    if name == "getattr" and len(test.args) > 1:
        return _flagged(env, test)
    called = only(value_of(frame, env, test.func))
    if isinstance(called, Function):
        return _type_guard(frame, env, test, called)
    return dict(env), dict(env)


def _flagged(env: Env, test: ast.Call) -> Branches:
    """`getattr(pool, "flag", False)` as a condition."""
    true, false = dict(env), dict(env)
    asked = _asked_for(test)
    if asked is not None:
        remark(true, asked[0], FLAG, asked[1])
        keep(true, f"{asked[0]}?{asked[1]}", NOTHING)
    return true, false


def _asked_for(node: ast.expr) -> tuple[str, str] | None:
    """(path, name) of `getattr(path, "name", ...)`."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    path = path_of(node.args[0])
    name = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
    is_getattr = isinstance(node.func, ast.Name) and node.func.id == "getattr"
    return (path, name) if is_getattr and path is not None and isinstance(name, str) else None


def _all_of(frame: Frame, env: Env, test: ast.Call, node: ast.GeneratorExp) -> Branches:
    """`all(isinstance(pool, C) for pool in pools)`: what it holds of the elements."""
    evaluate(frame, env, test)
    generator = node.generators[0]
    path, element = path_of(generator.iter), path_of(generator.target)
    if len(node.generators) > 1 or generator.ifs or path is None or element is None:
        return dict(env), dict(env)
    items = value_of(frame, env, generator.iter)
    atom = only(items)
    if items.known and not isinstance(atom, (Elements, Items)):
        return dict(env), dict(env)
    inner = {**env, element: iterated(frame.ctx, items)}
    true, _ = branches(quiet_frame(frame), inner, node.elt)
    holds = dict(env)
    if true is not None and true[element].known:
        keep(holds, path, value(Elements(true[element])))
    return holds, dict(env)


def _any_of(node: ast.GeneratorExp) -> ast.Call | None:
    """`any(isinstance(x, c) for c in CLASSES)` as `isinstance(x, CLASSES)`."""
    inner, generator = node.elt, node.generators[0]
    if len(node.generators) > 1 or generator.ifs or not isinstance(inner, ast.Call):
        return None
    if not isinstance(inner.func, ast.Name) or inner.func.id != "isinstance":
        return None
    if len(inner.args) != 2 or path_of(inner.args[1]) != path_of(generator.target):
        return None
    return ast.copy_location(ast.Call(inner.func, [inner.args[0], generator.iter], []), inner)


def _isinstance(frame: Frame, env: Env, test: ast.Call, name: str) -> Branches:
    subject, classes = test.args
    known = evaluate(frame, env, subject)
    wanted = evaluate(frame, env, classes)
    path = path_of(subject)
    if name == "issubclass":
        inner = _type_subject(subject, known)
        if inner is None:
            return dict(env), dict(env)
        path = inner[0]
        known = value_of(frame, env, spelled(path))
    if path is None:
        return dict(env), dict(env)
    step = holding(frame, test)
    names = class_tuple(classes_behind(frame, env, wanted))
    record_test(frame, env, test, subject, names)
    true = narrow_to(frame.ctx, known, names, step)
    outcome = _split(env, path, true, narrow_away(frame.ctx, known, names))
    for cls in names:
        remark(outcome[1], path, NOT, cls)
    if len(names) == 1:
        remark(outcome[0], path, IS, names[0])
    return outcome


def _hasattr(frame: Frame, env: Env, test: ast.Call) -> Branches:
    evaluate(frame, env, test)
    path = path_of(test.args[0])
    name = test.args[1].value if isinstance(test.args[1], ast.Constant) else None
    true, false = dict(env), dict(env)
    if path is not None and isinstance(name, str):
        keep(true, f"{path}?{name}", NOTHING)
    return true, false


def _type_guard(frame: Frame, env: Env, test: ast.Call, called: Function) -> Branches:
    """A project function that is nothing but a condition on its parameter, or a TypeGuard."""
    function = called.node
    parameters = [*function.args.posonlyargs, *function.args.args]
    if called.cls is not None and called.self_value is not None:
        parameters = parameters[1:]
    pairs = [
        (parameter.arg, path, argument)
        for parameter, argument in zip(parameters, test.args, strict=False)
        if (path := path_of(argument)) is not None
    ]
    own = None if test.args else test_of_self(frame, test.func)
    if own is not None:
        return branches(quiet_frame(frame), env, own)
    given = {keyword.arg: keyword.value for keyword in test.keywords}
    for parameter in [*parameters, *function.args.kwonlyargs]:
        path = path_of(given[parameter.arg]) if parameter.arg in given else None
        if path is not None:
            pairs.append((parameter.arg, path, given[parameter.arg]))
    if not pairs:
        return dict(env), dict(env)
    declared = _declared_guard(frame, env, called)
    if declared is not None:
        _, path, argument = pairs[0]
        known = value_of(frame, env, argument)
        names: list[str | None] = [a.cls for a in declared.atoms or () if isinstance(a, Instance)]
        step = holding(frame, test)
        return _split(env, path, narrow_to(frame.ctx, known, names, step), known)
    body = [s for s in function.body if not _is_docstring(s)]
    if not body:
        return dict(env), dict(env)
    *before, last = body
    plain = all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in before)
    if not plain or not isinstance(last, ast.Return) or last.value is None:
        return dict(env), dict(env)
    if frame.ctx.depth > 4:
        return dict(env), dict(env)
    return _inlined(frame, env, called, before, last.value, pairs)


def _inlined(
    frame: Frame,
    env: Env,
    called: Function,
    imports: list[ast.stmt],
    condition: ast.expr,
    pairs: list[tuple[str, str, ast.expr]],
) -> Branches:
    from kvlint.interpret.flow import execute

    inner_env = {name: value_of(frame, env, argument) for name, _, argument in pairs}
    inner = Frame(frame.ctx, called.module, called.cls, called.node)
    execute(inner, inner_env, imports)
    frame.ctx.depth += 1
    try:
        outcomes = branches(inner, inner_env, condition)
    finally:
        frame.ctx.depth -= 1
    results: list[Env | None] = []
    for outcome in outcomes:
        if outcome is None:
            results.append(None)
            continue
        result = dict(env)
        for name, path, _ in pairs:
            keep(result, path, outcome[name])
        results.append(result)
    return results[0], results[1]


def _declared_guard(frame: Frame, env: Env, called: Function) -> Value | None:
    returns = unquoted(called.node.returns)
    if not isinstance(returns, ast.Subscript):
        return None
    head = returns.value
    name = head.attr if isinstance(head, ast.Attribute) else getattr(head, "id", "")
    if name not in ("TypeGuard", "TypeIs"):
        return None
    found = annotation_value(Frame(frame.ctx, called.module), {}, returns.slice)
    return found if found.known else None


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
