"""Does anything still read a name after a statement has bound it?

The answer "no" must be certain. What cannot be followed (a name of a module or class, `locals()`,
a closure) counts as read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Loop = (ast.For, ast.AsyncFor, ast.While)
_TRY: tuple[type[ast.AST], ...] = (
    ast.Try,
    *((ast.TryStar,) if hasattr(ast, "TryStar") else ()),
)
# An exception in their bodies may go on behind them, so a rebinding in there is never sure to run.
_GUARDED = (*_TRY, ast.With, ast.AsyncWith)
_FRAME_NAMES = frozenset({"locals", "vars", "dir", "eval", "exec", "globals"})
_FRAME_ATTRIBUTES = frozenset({"_getframe", "currentframe", "f_locals", "f_back", "tb_frame"})
_EXPRESSION_STRINGS = frozenset({"eval", "evaluate", "re_evaluate", "query"})
"""Methods and functions that look names of the caller up in a string (numexpr, pandas)."""

Read = Literal["now", "later"]
Effect = Literal["reads", "rebinds", "jumps", "nothing"]


def is_unused_after(path: Sequence[ast.AST], name: str) -> bool:
    """Whether the value that a statement binds to `name` is certainly never read.

    `path`: the nodes from the module to that statement.
    """
    depth = _scope_depth(path)
    scope = path[depth]
    if not isinstance(scope, Function):
        return _is_throwaway(scope, name) and not _module_mentions(path[0], name)
    if _declared_elsewhere(scope, name) or _sees_frame(scope, name):
        return False
    try:
        reads = set(_reads_of_all(scope.body, name))
        if "later" in reads or (reads and not _stays_local(scope, path[-1], name)):
            return False
        return not _may_be_read(path[depth:], name)
    except RecursionError:  # a sum of a thousand terms
        return False


def _scope_depth(path: Sequence[ast.AST]) -> int:
    for depth in range(len(path) - 2, -1, -1):
        if isinstance(path[depth], (*Function, ast.ClassDef, ast.Module)):
            return depth
    return 0


def _stays_local(
    scope: ast.FunctionDef | ast.AsyncFunctionDef, statement: ast.AST, name: str
) -> bool:
    """Whether `name` is a local variable without `statement` too: else its reads elsewhere would
    turn to another scope's variable."""
    return _has_parameter(scope.args, name) or any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for part in scope.body
        for node in _walk_without(part, statement)
    )


def _walk_without(node: ast.AST, excluded: ast.AST) -> Iterator[ast.AST]:
    if node is not excluded and not isinstance(node, (*Function, ast.Lambda, ast.ClassDef)):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _walk_without(child, excluded)


def _has_parameter(arguments: ast.arguments, name: str) -> bool:
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    return any(parameter.arg == name for parameter in parameters)


def _is_throwaway(scope: ast.AST, name: str) -> bool:
    """Only underscores are no attribute of the module or class that others would import."""
    return isinstance(scope, (ast.Module, ast.ClassDef)) and not name.strip("_")


def _module_mentions(module: ast.AST, name: str) -> bool:
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and node.value == name:
            return True  # __all__, getattr
    return _sees_frame(module, name) or any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store)
        for node in ast.walk(module)
    )


def _declared_elsewhere(scope: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names
        for node in ast.walk(scope)
    )


def _sees_frame(scope: ast.AST, name: str) -> bool:
    for node in ast.walk(scope):
        match node:
            case ast.Name(id=identifier) if identifier in _FRAME_NAMES:
                return True
            case ast.Attribute(attr=attribute) if attribute in _FRAME_ATTRIBUTES:
                return True
            case ast.Attribute(value=ast.Name(id="inspect"), attr="stack" | "trace"):
                return True
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if (
                called in _EXPRESSION_STRINGS and _has_word(node, name)
            ):
                return True
    return False


def _has_word(call: ast.Call, name: str) -> bool:
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and word.search(node.value)
        for node in ast.walk(call)
    )


def _reads_of_all(nodes: Iterable[ast.AST], name: str) -> Iterator[Read]:
    for node in nodes:
        yield from _reads(node, name, "now")


def _reads(node: ast.AST, name: str, when: Read) -> Iterator[Read]:
    """Each read of the variable `name` of the scope that `node` stands in: "now" while the
    statement runs, "later" from a function, lambda or generator that may run at any time."""
    match node:
        case ast.Name(id=identifier, ctx=ast.Load() | ast.Del()) if identifier == name:
            yield when
        case ast.AugAssign(target=ast.Name(id=identifier)) if identifier == name:
            yield when
            yield from _reads(node.value, name, when)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            yield from _function_reads(node, name, when)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from _comprehension_reads(node, name, when)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _reads(child, name, when)


def _function_reads(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str, when: Read
) -> Iterator[Read]:
    body: list[ast.expr] | list[ast.stmt]
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    inside: set[int] = {id(part) for part in body}
    for child in ast.iter_child_nodes(node):
        if id(child) not in inside:
            yield from _reads(child, name, when)  # decorators, defaults, annotations
    if _has_parameter(node.args, name) or any(_binds(part, name) for part in body):
        return
    for part in body:
        yield from _reads(part, name, "later")


def _comprehension_reads(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, name: str, when: Read
) -> Iterator[Read]:
    first = node.generators[0].iter
    yield from _reads(first, name, when)
    if any(_stores(generator.target, name) for generator in node.generators):
        return
    inner: Read = "later" if isinstance(node, ast.GeneratorExp) else when
    parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.comprehension)]
    for generator in node.generators:
        parts += [generator.target, generator.iter, *generator.ifs]
    for part in parts:
        if part is not first:
            yield from _reads(part, name, inner)


def _stores(target: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(target)
    )


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a function with this in its body has a local variable `name` of its own."""
    match node:
        case ast.Name(id=identifier, ctx=ast.Store()):
            return identifier == name
        case (
            ast.FunctionDef(name=bound)
            | ast.AsyncFunctionDef(name=bound)
            | ast.ClassDef(name=bound)
        ):
            return bound == name  # its inside is another scope
        case ast.Lambda():
            return False
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            walruses = (part for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
            return any(_stores(walrus.target, name) for walrus in walruses)
        case ast.ExceptHandler(name=bound) | ast.MatchAs(name=bound) | ast.MatchStar(name=bound):
            found = bound == name
        case ast.MatchMapping(rest=bound):
            found = bound == name
        case ast.alias(name=imported, asname=bound):
            found = (bound or imported.partition(".")[0]) == name
        case _:
            found = False
    return found or any(_binds(child, name) for child in ast.iter_child_nodes(node))


def _may_be_read(path: Sequence[ast.AST], name: str) -> bool:
    """Follow the function (`path[0]`) from its statement `path[-1]` on to where it ends."""
    jumped = False
    for depth in range(len(path) - 1, 0, -1):
        parent = path[depth - 1]
        guarded = any(isinstance(node, _GUARDED) for node in path[:depth])
        for statement in _behind(parent, path[depth]):
            effect = _effect(statement, name)
            if effect == "reads":
                return True
            if effect == "rebinds" and not guarded and not jumped:
                return False
            jumped = jumped or _has_jump(statement)
            if effect == "jumps":
                break
        if isinstance(parent, Loop):
            if any(True for _ in _reads(parent, name, "now")):
                return True  # perhaps in the next turn
            jumped = False
        if isinstance(parent, _TRY) and any(
            True for _ in _reads_of_all(_around_body(parent), name)
        ):
            return True
    return False


def _behind(parent: ast.AST, child: ast.AST) -> list[ast.stmt]:
    """The statements behind `child` in its block."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list):
            for index, statement in enumerate(block):
                if statement is child:
                    return block[index + 1 :]
    return []


def _around_body(node: ast.AST) -> Iterator[ast.AST]:
    for field in ("handlers", "orelse", "finalbody"):
        yield from getattr(node, field)


def _effect(statement: ast.stmt, name: str) -> Effect:
    if any(True for _ in _reads(statement, name, "now")):
        return "reads"
    match statement:
        case ast.Return() | ast.Raise():
            return "rebinds"  # leaves the function: nothing behind it runs
        case ast.Break() | ast.Continue():
            return "jumps"
        case ast.Assign(targets=targets) if any(_is_bound_by(each, name) for each in targets):
            return "rebinds"
        case ast.AnnAssign(target=ast.Name(id=identifier), value=ast.expr()) if identifier == name:
            return "rebinds"
        case ast.If(body=body, orelse=orelse) if _rebinds(body, name) and _rebinds(orelse, name):
            return "rebinds"
    return "nothing"


def _rebinds(block: Sequence[ast.stmt], name: str) -> bool:
    for statement in block:
        if _effect(statement, name) == "rebinds":
            return True
        if _has_jump(statement):
            return False
    return False


def _is_bound_by(target: ast.expr, name: str) -> bool:
    match target:
        case ast.Name(id=identifier):
            return identifier == name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return any(_is_bound_by(element, name) for element in elements)
    return False


def _has_jump(statement: ast.stmt) -> bool:
    return any(isinstance(node, (ast.Break, ast.Continue)) for node in ast.walk(statement))
