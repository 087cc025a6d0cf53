"""Functions that are handed to others: lambdas, `methodcaller`, `attrgetter`."""

from __future__ import annotations

import ast

from kvlint.interpret.access import attribute, call_result
from kvlint.interpret.assignment import forget
from kvlint.interpret.context import Env, Frame
from kvlint.interpret.expressions import evaluate
from kvlint.interpret.functions import returned_for
from kvlint.interpret.recording import record_bound, record_called_by_name
from kvlint.interpret.values import UNKNOWN, Function, Getter, Value, only

CALLING_FIRST = frozenset(["submit", "to_thread", "apply", "apply_async", "call_soon"])
"""Methods that call their first argument with the others."""


def called_specially(
    frame: Frame, env: Env, node: ast.Call, called: Value, arguments: list[Value]
) -> Value | None:
    """What a call gives whose function is written there, or made by `operator`; None for others."""
    if isinstance(node.func, ast.Lambda):
        return applied(frame, env, node.func, called, arguments, node)
    if isinstance(only(called), Getter):
        return applied(frame, env, node.func, called, arguments, node)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in CALLING_FIRST and node.args and isinstance(node.args[0], ast.Lambda):
        applied(frame, env, node.args[0], arguments[0], arguments[1:], node)
    return None


def applied(
    frame: Frame,
    env: Env,
    function: ast.expr,
    known: Value,
    arguments: list[Value],
    call: ast.Call,
) -> Value:
    """What a function gives for arguments; a lambda's body is read with them."""
    if isinstance(function, ast.Lambda):
        inner = dict(env)
        positional = [*function.args.posonlyargs, *function.args.args]
        for parameter, given in zip(positional, arguments, strict=False):
            forget(inner, parameter.arg)
            inner[parameter.arg] = given
        for parameter in [*positional[len(arguments) :], *function.args.kwonlyargs]:
            forget(inner, parameter.arg)
            inner[parameter.arg] = UNKNOWN
        return evaluate(frame, inner, function.body)
    atom = only(known)
    if isinstance(atom, Getter) and arguments:
        return _got(frame, atom, arguments[0], function, call)
    record_bound(frame, call, known)
    found = call_result(frame.ctx, known)
    if not found.known and isinstance(atom, Function):
        return returned_for(frame.ctx, atom, arguments, {})
    return found


def _got(frame: Frame, getter: Getter, base: Value, node: ast.expr, call: ast.Call) -> Value:
    *path, last = getter.name.split(".")
    for name in path:
        base = attribute(frame.ctx, base, name)
    found = attribute(frame.ctx, base, last)
    if not getter.calls:
        return found
    record_called_by_name(frame, node, base, last, call)
    return call_result(frame.ctx, found)
