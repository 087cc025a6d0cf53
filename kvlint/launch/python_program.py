"""Follows a program's statements: what each name holds, and what is started with it.

Flow-sensitive and conservative: what a branch or a loop changes is not known after it, unless all
ways agree. Functions are read once, with parameters that are not known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kvlint.findings import Finding
from kvlint.launch.arguments import LaunchConfiguration
from kvlint.launch.engines import Decodes
from kvlint.launch.facts import LaunchFacts
from kvlint.launch.judge import DECODE
from kvlint.launch.python_calls import Calls
from kvlint.launch.python_definitions import Definitions
from kvlint.launch.python_expressions import Expressions
from kvlint.launch.python_syntax import (
    asks_about,
    assigned_names,
    called_for_errors,
    classes_in,
    constants_assigned,
    ends_early,
    expects_errors,
    expects_refusals,
    functions_in,
    is_fixture,
    leaves,
    name_of,
)
from kvlint.launch.python_values import (
    Attributes,
    Config,
    DictOf,
    Evaluated,
    Known,
    ListOf,
    Scope,
    SelfOf,
    Server,
    Symbol,
    Target,
    fork,
    joined,
    one_of,
)
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile

TRY_STAR: tuple[type[ast.stmt], ...] = (ast.TryStar,) if hasattr(ast, "TryStar") else ()
Constants = Callable[[ast.expr], tuple[str | int | bool, ...]]
"""The constants that a name or attribute of the module can be, as the inference knows them."""
_MISSING_MODULE = ("ImportError", "ModuleNotFoundError")
_EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})


class Program:
    """One file, read from top to bottom. `run` gives the configurations that it makes."""

    def __init__(
        self,
        source: SourceFile,
        facts: LaunchFacts,
        rules: Mapping[str, Rule],
        plugins: frozenset[str],
        constants: Constants,
    ) -> None:
        self.constants = constants
        self.source, self.facts, self.plugins = source, facts, plugins
        self.module = Scope()
        self.scope = self.module
        self.guarded = 0
        self.servers: list[Server] = []
        self.engines: dict[int, Config] = {}
        self.lists: dict[int, ListOf] = {}
        self.dicts: dict[int, DictOf] = {}
        self.launches: list[LaunchConfiguration] = []
        self.classes: dict[str, ast.ClassDef] = {}
        self.fixtures: dict[str, tuple[Evaluated, list[Server]]] = {}
        self.results: dict[int, tuple[Evaluated, list[Server]]] = {}
        self.running: set[int] = set()
        self.expected: frozenset[str] = frozenset()
        self.followed: frozenset[str] | None = None
        self.decoder = Decodes(source, rules.get(DECODE))
        self.expressions = Expressions(self)
        self.calls = Calls(self)
        self.definitions = Definitions(self)

    @property
    def decodes(self) -> list[Finding]:
        return self.decoder.findings

    def run(self, tree: ast.Module) -> list[LaunchConfiguration]:
        """The configurations that the file states, in no order."""
        self.expected = called_for_errors(tree, _EXPECTING)
        self.block(tree.body)
        self.followed = None
        for node in list(functions_in(tree.body)):
            if is_fixture(node):
                self.definitions.fixture(node)
        for node in list(functions_in(tree.body)):
            self.definitions.function_result(node)
        for class_node in classes_in(tree.body):
            self.definitions.class_body(class_node)
        meant = not expects_refusals(tree, _EXPECTING)
        listed = self.calls.commands.leftovers(meant)
        engines = [c.configuration(self.plugins) for c in self.engines.values() if not c.guarded]
        return [*engines, *self.launches, *listed]

    def evaluate(self, node: ast.expr) -> Evaluated:
        return self.expressions.evaluate(node)

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                held = self.evaluate(value)
                for target in targets:
                    self.assign(target, held, value)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, self.evaluate(value), value)
            case ast.AugAssign(target=target, op=op, value=value):
                self.augment(target, op, value)
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                held = self.evaluate(value)
                if isinstance(node, ast.Return):
                    self.scope.returned.append(held)
            case ast.If(test=test, body=body, orelse=orelse):
                decided = self.evaluate(test)
                if isinstance(decided, Known):
                    self.block(body if decided.value else orelse)
                else:
                    self.branches([body, orelse])
            case ast.For() | ast.AsyncFor() | ast.While():
                self.loop(node)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                self.with_block(items, body)
            case ast.Try():
                self.try_block(node)
            case _ if isinstance(node, TRY_STAR):
                self.try_block(node)
            case ast.Match(subject=subject, cases=cases):
                self.evaluate(subject)
                self.branches([*(case.body for case in cases), []])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.definitions.define(node)
            case ast.ClassDef():
                self.definitions.define_class(node)
            case ast.Import() | ast.ImportFrom():
                self.bind_import(node)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.scope.globals.update(names)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.assign(target, Symbol(f"deleted:{id(node)}"), None)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.evaluate(child)

    def bind(self, name: str, value: Evaluated) -> None:
        scope = self.scope
        if name in scope.globals:
            self.module.names[name] = value
        else:
            scope.names[name] = value

    def assign(self, target: ast.expr, value: Evaluated, node: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, value)
            case ast.Attribute(value=owner, attr=attr):
                self.set_attribute(self.evaluate(owner), attr, value, target, node)
            case ast.Subscript(value=owner, slice=key):
                self.expressions.set_item(self.evaluate(owner), key, value, target, node)
            case ast.Tuple(elts=[first, port]) if isinstance(value, Server):
                self.assign(first, value, None)
                self.assign(port, self.listens_somewhere(value), None)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                items = value.items if isinstance(value, ListOf) else []
                exact = len(items) == len(targets) and not any(e.expanded for e in items)
                for index, each in enumerate(targets):
                    held = items[index].value if exact else Symbol(f"item:{id(node)}:{index}")
                    self.assign(each, held, items[index].node if exact else None)
            case ast.Starred(value=inner):
                self.assign(inner, Symbol(f"rest:{id(target)}"), None)

    def set_attribute(
        self,
        owner: Evaluated,
        attr: str,
        value: Evaluated,
        target: ast.Attribute,
        node: ast.expr | None,
    ) -> None:
        if isinstance(owner, SelfOf):
            owner.attributes.values[attr] = value
        elif isinstance(owner, Config) and node is not None:
            self.calls.set_option(owner, attr, value, target, node)

    def augment(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        before = self.evaluate(target)
        added = self.evaluate(value)
        if isinstance(op, ast.Add) and isinstance(before, ListOf):
            self.expressions.extend(before, added, value)
            return
        if isinstance(op, ast.BitOr) and isinstance(before, DictOf):
            self.expressions.merge(before, added)
            return
        self.assign(target, Symbol(f"augmented:{id(value)}"), value)

    def listens_somewhere(self, server: Server) -> Symbol:
        """The port of `process, port = launch_server_cmd(...)`, which chooses one."""
        port = Symbol(f"port:{len(self.servers)}:{id(server)}")
        self.servers = [held for held in self.servers if held is not server]
        self.servers.append(Server(server.configuration, ("port", port.name)))
        return port

    def snapshot(self) -> dict[str, Evaluated]:
        return fork(self.scope.names)

    def branches(self, bodies: Sequence[Sequence[ast.stmt]]) -> None:
        """Each body starts from what is known now; afterwards only what all agree on is known."""
        before = self.scope.names
        own = self.attributes_in_reach()
        saved = [(attributes, fork(attributes.values)) for attributes in own]
        ends: list[dict[str, Evaluated]] = []
        attribute_ends: list[list[dict[str, Evaluated]]] = []
        for body in bodies:
            self.scope.names = fork(before)
            for attributes, values in saved:
                attributes.values = fork(values)
            self.block(body)
            if leaves(body):
                self.settle(self.scope.names.values())
                continue
            ends.append(self.scope.names)
            attribute_ends.append([attributes.values for attributes in own])
        self.scope.names = _joined_names(ends) if ends else before
        for index, attributes in enumerate(own):
            held = [end[index] for end in attribute_ends]
            attributes.values = _joined_names(held) if held else saved[index][1]
        self.settle([*self.scope.names.values(), *_attribute_values(own)])

    def attributes_in_reach(self) -> list[Attributes]:
        held = (self.scope.lookup(name) for name in ("self", "cls"))
        return [value.attributes for value in held if isinstance(value, SelfOf)][:1]

    def settle(self, values: Iterable[Evaluated]) -> None:
        """What a name holds last is what is judged."""
        for value in values:
            if isinstance(value, Config):
                self.engines[id(value.origin)] = value
            elif isinstance(value, ListOf) and id(value.node) in self.lists:
                self.lists[id(value.node)] = value
            elif isinstance(value, DictOf) and id(value.node) in self.dicts:
                self.dicts[id(value.node)] = value

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        rest: Evaluated = Symbol(f"each:{id(node)}")
        if isinstance(node, ast.While):
            self.evaluate(node.test)
        else:
            items = self.evaluate(node.iter)
            self.assign(node.target, rest, None)
            if isinstance(node.target, ast.Name):
                each, rest = self.in_turn(items, node.target.id, node.body)
                self.assign(node.target, each, None)
        for name in assigned_names(node.body):
            if name in self.scope.names:
                self.scope.names[name] = self.changed_by(node, name)
        self.branches([node.body, []])
        if isinstance(node, ast.For | ast.AsyncFor) and isinstance(node.target, ast.Name):
            self.assign(node.target, rest, None)
        self.block(node.orelse)

    def in_turn(
        self, items: Evaluated, name: str, body: Sequence[ast.stmt]
    ) -> tuple[Evaluated, Evaluated]:
        """What the target of a loop holds in it and after it: the constants of a display."""
        unknown = Symbol(f"each:{name}:{id(body)}")
        whole = isinstance(items, ListOf) and not any(item.expanded for item in items.items)
        if not whole or not isinstance(items, ListOf) or asks_about(body, name):
            return unknown, unknown
        values = [item.value for item in items.items]
        each = one_of(values, id(body), each=not ends_early(body))
        after = one_of(values, id(body))
        return each or unknown, after or unknown

    def changed_by(self, node: ast.stmt, name: str) -> Evaluated:
        """What a name that a loop's body assigns holds where the body starts."""
        body: Sequence[ast.stmt] = getattr(node, "body", ())
        stated = constants_assigned(body, name) or []
        options = [self.scope.names[name], *(self.evaluate(constant) for constant in stated)]
        known = one_of(options, hash((id(node), name))) if stated else None
        return known if known is not None else Symbol(f"loop:{name}:{id(node)}")

    def with_block(self, items: Sequence[ast.withitem], body: Sequence[ast.stmt]) -> None:
        guards = 0
        for item in items:
            call = item.context_expr
            guards += isinstance(call, ast.Call) and name_of(call.func) in _EXPECTING
            value = self.evaluate(call)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, None)
        with self.guard(bool(guards)):
            self.block(body)

    def try_block(self, node: Any) -> None:
        before = self.snapshot()
        with self.guard(any(expects_errors(handler) for handler in node.handlers)):
            self.block(node.body)
        failed = _joined_names([before, self.snapshot()])
        self.block(node.orelse)
        ends = [self.scope.names]
        for handler in node.handlers:
            if handler.type is not None and name_of(handler.type) in _MISSING_MODULE:
                continue
            self.scope.names = fork(failed)
            self.block(handler.body)
            if not leaves(handler.body):
                ends.append(self.scope.names)
        self.scope.names = _joined_names(ends)
        self.settle(self.scope.names.values())
        self.block(node.finalbody)

    @contextmanager
    def guard(self, expected: bool) -> Iterator[None]:
        """Inside, an error is expected, and nothing is reported."""
        self.guarded += expected
        try:
            yield
        finally:
            self.guarded -= expected

    def bind_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                local = alias.asname or alias.name.partition(".")[0]
                self.bind(local, Target(alias.name if alias.asname else local))
            elif alias.name == "*":
                if node.module == "sglang":
                    for name in ("Engine", "Runtime"):
                        self.bind(name, Target(f"sglang.{name}"))
            else:
                module = "." * node.level + (node.module or "")
                self.bind(alias.asname or alias.name, Target(f"{module}.{alias.name}"))


def _joined_names(ends: Sequence[dict[str, Evaluated]]) -> dict[str, Evaluated]:
    result = ends[0]
    for end in ends[1:]:
        merged = dict(result)
        for name, value in end.items():
            held = result.get(name)
            if held is not value:
                merged[name] = joined(name, held, value)
        for name in result.keys() - end.keys():
            merged[name] = joined(name, result[name], None)
        result = merged
    return result


def _attribute_values(owners: Iterable[Attributes]) -> Iterator[Evaluated]:
    for owner in owners:
        yield from owner.values.values()
