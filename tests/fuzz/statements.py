"""Rewrites of statements and definitions that keep what the program means."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import libcst as cst

from tests.fuzz.trees import (
    Parents,
    Rewrite,
    binds,
    block,
    fresh,
    function_of,
    has,
    loads,
    replaced,
    simple_lines,
    statement,
    walk,
)

Line = cst.SimpleStatementLine


def _around_a_line(make: Callable[[Line], cst.BaseStatement], any_line: bool = True) -> Rewrite:
    """Put one line into a statement that runs it just once. Not `any_line`: kvlint may suppose that
    the line never runs, so that it may tell nothing to those after it."""

    def rewrite(module: cst.Module, rng: Random) -> cst.Module | None:
        places = [line for line, _ in simple_lines(module) if any_line or _only_acts(line)]
        if not places:
            return None
        line = rng.choice(places)
        bare = line.with_changes(leading_lines=[])
        return replaced(module, line, make(bare).with_changes(leading_lines=line.leading_lines))

    return rewrite


def _only_acts(line: Line) -> bool:
    return isinstance(line.body[0], cst.Expr) and not binds(line)


def _with(line: Line) -> cst.BaseStatement:
    item = cst.WithItem(cst.parse_expression("__import__('contextlib').nullcontext()"))
    return cst.With([item], block(line))


def _finally(line: Line) -> cst.BaseStatement:
    return cst.Try(block(line), finalbody=cst.Finally(block(statement("pass"))))


def _reraised(line: Line) -> cst.BaseStatement:
    handler = cst.ExceptHandler(
        block(statement("raise")),
        cst.Name("KeyError"),
        whitespace_after_except=cst.SimpleWhitespace(" "),
    )
    return cst.Try(block(line), [handler])


def _both_branches(line: Line) -> cst.BaseStatement:
    return cst.If(cst.parse_expression("input()"), block(line), cst.Else(block(line)))


def _once(line: Line) -> cst.BaseStatement:
    return cst.For(cst.Name("_"), cst.parse_expression("range(1)"), block(line))


def _inserted(text: str) -> Rewrite:
    """Put a line before another that has nothing to do with it."""

    def rewrite(module: cst.Module, rng: Random) -> cst.Module | None:
        places = [line for line, _ in simple_lines(module)]
        if not places:
            return None
        line = rng.choice(places)
        return replaced(module, line, cst.FlattenSentinel([statement(text), line]))

    return rewrite


def alias(module: cst.Module, rng: Random) -> cst.Module | None:
    """A line reads a name that was given the value just before."""
    simple = {id(line) for line, _ in simple_lines(module)}
    places = [
        (name, parents, line)
        for name, parents in loads(module)
        if isinstance(line := _line_of(parents), cst.SimpleStatementLine)
        and id(line) in simple
        and not any(isinstance(p, cst.Lambda | cst.BaseComp | cst.CompFor) for p in parents)
    ]
    if not places:
        return None
    name, _, line = rng.choice(places)
    other = fresh(module, "same")
    changed = line.deep_replace(name, cst.Name(other))
    assert isinstance(changed, cst.SimpleStatementLine)
    lines = [statement(f"{other} = {name.value}"), changed]
    return replaced(module, line, cst.FlattenSentinel(lines))


def _line_of(parents: Parents) -> cst.CSTNode | None:
    for parent in reversed(parents):
        if isinstance(parent, cst.BaseCompoundStatement):
            return None
        if isinstance(parent, cst.SimpleStatementLine):
            return parent
    return None


def kept_result(module: cst.Module, rng: Random) -> cst.Module | None:
    """`return x` becomes `kept = x`, `return kept`."""
    places = [
        line
        for line, _ in simple_lines(module)
        if isinstance(line.body[0], cst.Return) and line.body[0].value is not None
    ]
    if not places:
        return None
    line = rng.choice(places)
    returned = line.body[0]
    assert isinstance(returned, cst.Return) and returned.value is not None
    name = fresh(module, "kept")
    target = cst.AssignTarget(cst.Name(name))
    first = line.with_changes(body=[cst.Assign([target], returned.value)])
    return replaced(module, line, cst.FlattenSentinel([first, statement(f"return {name}")]))


def _conditions(module: cst.Module) -> list[cst.If]:
    """Whole `if` statements: not an `elif`, which is a part of one."""
    return [
        node
        for node, parents in walk(module)
        if isinstance(node, cst.If) and not isinstance(parents[-1], cst.If)
    ]


def _of_a_condition(make: Callable[[str], str]) -> Rewrite:
    def rewrite(module: cst.Module, rng: Random) -> cst.Module | None:
        places = [node for node in _conditions(module) if _is_plain(module, node.test)]
        if not places:
            return None
        node = rng.choice(places)
        text = make(module.code_for_node(node.test))
        changed = node.with_changes(
            test=cst.parse_expression(text), whitespace_before_test=cst.SimpleWhitespace(" ")
        )
        return replaced(module, node, changed)

    return rewrite


def _is_plain(module: cst.Module, test: cst.BaseExpression) -> bool:
    """`if TYPE_CHECKING:` and `if __name__ == ...` are forms of their own."""
    text = module.code_for_node(test)
    special = "\n" in text or "TYPE_CHECKING" in text or "__name__" in text
    return not special and not has(test, cst.NamedExpr)


def reordered(module: cst.Module, rng: Random) -> cst.Module | None:
    """`if c: A else: B` becomes `if not c: B else: A`."""
    places = [
        node
        for node in _conditions(module)
        if isinstance(node.orelse, cst.Else) and _is_plain(module, node.test)
    ]
    if not places:
        return None
    node = rng.choice(places)
    assert isinstance(node.orelse, cst.Else)
    changed = node.with_changes(
        test=cst.parse_expression(f"not ({module.code_for_node(node.test)})"),
        whitespace_before_test=cst.SimpleWhitespace(" "),
        body=node.orelse.body,
        orelse=node.orelse.with_changes(body=node.body),
    )
    return replaced(module, node, changed)


def else_after_exit(module: cst.Module, rng: Random) -> cst.Module | None:
    """What follows an `if` that leaves goes into its `else`."""
    places = []
    for node, _ in walk(module):
        if isinstance(node, cst.IndentedBlock):
            for at, line in enumerate(node.body[:-1]):
                if isinstance(line, cst.If) and line.orelse is None and _leaves(line.body):
                    places.append((node, at, line))
    if not places:
        return None
    body, at, test = rng.choice(places)
    rest = cst.Else(cst.IndentedBlock(body=body.body[at + 1 :]))
    changed = body.with_changes(body=[*body.body[:at], test.with_changes(orelse=rest)])
    return replaced(module, body, changed)


def _leaves(body: cst.BaseSuite) -> bool:
    last = body.body[-1]
    return isinstance(last, cst.SimpleStatementLine) and isinstance(
        last.body[-1], cst.Return | cst.Raise | cst.Continue | cst.Break
    )


def assertion(module: cst.Module, rng: Random) -> cst.Module | None:
    """`assert c` becomes `if not c: raise AssertionError`."""
    places = [line for line, _ in simple_lines(module) if isinstance(line.body[0], cst.Assert)]
    if not places:
        return None
    line = rng.choice(places)
    test = line.body[0]
    assert isinstance(test, cst.Assert)
    text = f"if not ({module.code_for_node(test.test)}):\n    raise AssertionError\n"
    return replaced(module, line, statement(text).with_changes(leading_lines=line.leading_lines))


def inner_function(module: cst.Module, rng: Random) -> cst.Module | None:
    """A function's body goes into a function inside it, which it calls."""
    places = [
        node
        for node, parents in walk(module)
        if isinstance(node, cst.FunctionDef) and _may_move_inside(node, parents)
    ]
    if not places:
        return None
    function = rng.choice(places)
    name = fresh(module, "inner")
    inner = cst.FunctionDef(cst.Name(name), cst.Parameters(), function.body)
    body = block(inner, statement(f"return {name}()"))
    return replaced(module, function, function.with_changes(body=body))


def _may_move_inside(function: cst.FunctionDef, parents: Parents) -> bool:
    if function.asynchronous is not None or function.name.value == "__init__":
        return False
    if _has_type_comment(function) or has(function.body, cst.Raise):
        return False  # a method is a guard where it does nothing but raise, itself
    if has(function.body, cst.Yield, cst.Await, cst.Global, cst.Nonlocal, cst.ExceptHandler):
        return False
    if not isinstance(function.body, cst.IndentedBlock) or "super" in _names(function):
        return False
    if has(function.body, cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.BaseComp, cst.Match):
        return False
    parameters = {node.name.value for node, _ in walk(function) if isinstance(node, cst.Param)}
    return not parameters & _bound(function.body)


def _has_type_comment(function: cst.FunctionDef) -> bool:
    """A comment that belongs to the head of the function: nothing may come between."""
    return "# type:" in cst.Module([function]).code


def _names(node: cst.CSTNode) -> set[str]:
    return {found.value for found, _ in walk(node) if isinstance(found, cst.Name)}


def _bound(body: cst.CSTNode) -> set[str]:
    """Names that a body may bind: every name in a target."""
    found: set[str] = set()
    for node, _ in walk(body):
        match node:
            case cst.AssignTarget(target=target) | cst.For(target=target):
                found |= _names(target)
            case cst.AnnAssign(target=target) | cst.AugAssign(target=target):
                found |= _names(target)
            case cst.NamedExpr(target=target):
                found |= _names(target)
            case cst.WithItem(asname=cst.AsName(name=name)):
                found |= _names(name)
            case cst.Del() | cst.Import() | cst.ImportFrom():
                found |= _names(node)
    return found


def method(module: cst.Module, rng: Random) -> cst.Module | None:
    """A function of the module becomes a static method, and keeps its name."""
    places = [
        line
        for line in module.body
        if isinstance(line, cst.FunctionDef) and not line.decorators and "super" not in _names(line)
    ]
    if not places or any(isinstance(line, cst.If) for line in module.body):
        return None
    function = rng.choice(places)
    name = fresh(module, "Moved")
    own = function.with_changes(
        decorators=[cst.Decorator(cst.Name("staticmethod"))], leading_lines=[]
    )
    moved = cst.ClassDef(cst.Name(name), block(own), leading_lines=function.leading_lines)
    again = statement(f"{function.name.value} = {name}.{function.name.value}")
    return replaced(module, function, cst.FlattenSentinel([moved, again]))


def helper(module: cst.Module, rng: Random) -> cst.Module | None:
    """A value comes out of a function inside the one that reads it."""
    places = [
        (name, function)
        for name, parents in loads(module)
        if (function := function_of(parents)) is not None
        and isinstance(function.body, cst.IndentedBlock)
        and not _has_type_comment(function)
        and name.value in {p.name.value for p in function.params.params}
        and name.value not in _bound(function.body)
        and not any(isinstance(p, cst.Lambda | cst.BaseComp | cst.CompFor) for p in parents)
        and not _is_narrowed(function, name.value)
    ]
    if not places:
        return None
    name, function = rng.choice(places)
    other = fresh(module, "give")
    changed = function.deep_replace(name, cst.parse_expression(f"{other}()"))
    assert isinstance(changed, cst.FunctionDef)
    given = statement(f"def {other}():\n    return {name.value}\n")
    body = list(changed.body.body)
    return replaced(
        module, function, changed.with_changes(body=changed.body.with_changes(body=[given, *body]))
    )


def _is_narrowed(function: cst.FunctionDef, name: str) -> bool:
    """A test of a name says nothing of what another function gives: that is no loss."""
    return any(
        name in _names(node.test)
        for node, _ in walk(function)
        if isinstance(node, cst.If | cst.Assert | cst.IfExp | cst.While)
    ) or has(function, cst.Match)


STATEMENTS: dict[str, Rewrite] = {
    "with": _around_a_line(_with),
    "try finally": _around_a_line(_finally),
    "handler that raises again": _around_a_line(_reraised),
    "same in both branches": _around_a_line(_both_branches),
    "loop of one": _around_a_line(_once, any_line=False),
    "unknown conditional before": _inserted("if input(): pass"),
    "unrelated assignment before": _inserted("unrelated = [None]"),
    "unrelated loop before": _inserted("for unrelated in range(2): pass"),
    "alias": alias,
    "temporary variable": kept_result,
    "double negation": _of_a_condition(lambda test: f"not not ({test})"),
    "and True": _of_a_condition(lambda test: f"({test}) and True"),
    "walrus condition": _of_a_condition(lambda test: f"(asked := ({test}))"),
    "reordered branches": reordered,
    "else after exit": else_after_exit,
    "assert as raise": assertion,
    "nested function": inner_function,
    "moved into a class": method,
    "extracted helper": helper,
}
