"""Functions and classes of a program: read once, with parameters that are not known."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kvlint.launch.python_syntax import FunctionNode, is_autouse, is_fixture, is_static
from kvlint.launch.python_values import (
    Attributes,
    Client,
    Config,
    Evaluated,
    Function,
    Partial,
    Scope,
    SelfOf,
    Server,
    Symbol,
    Target,
    copied,
    fork,
)
from kvlint.launch.relevance import is_worth_reading

if TYPE_CHECKING:
    from kvlint.launch.python_program import Program

_SETUPS = (
    "__init__",
    "setUpClass",
    "setup_class",
    "asyncSetUp",
    "setUp",
    "setup_method",
    "setup",
    "__enter__",
    "__aenter__",
)
_STARTERS = ("ServerArgs", "Engine", "Runtime", "launch_server", "prepare_server_args")


class Definitions:
    """Reads the functions and classes of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def define(self, node: FunctionNode) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults, *node.decorator_list):
            if default is not None:
                self.program.evaluate(default)
        self.program.bind(node.name, Function(node))

    def define_class(self, node: ast.ClassDef) -> None:
        """A class of this file; one of SGLang's with another name is what it was before."""
        self.program.classes[node.name] = node
        bases = [self.program.evaluate(base) for base in node.bases]
        inherited = next((b for b in bases if isinstance(b, Target) and _starts(b)), None)
        own = any(isinstance(m, FunctionNode) and m.name == "__init__" for m in node.body)
        if inherited is None or own:
            self.program.bind(node.name, Symbol(f"class:{node.name}"))
        else:
            self.program.bind(node.name, inherited)

    def fixture(self, node: FunctionNode) -> None:
        self.program.fixtures[node.name] = self.function_result(node)

    def function_result(
        self,
        node: FunctionNode,
        owner: Attributes | None = None,
        given: Mapping[str, Evaluated] | None = None,
        set_up: bool = False,
    ) -> tuple[Evaluated, list[Server]]:
        """What a function returns or yields, and the servers that it starts. Read once, except
        where some parameters are `given`, and only where it matters or sets up what does."""
        once = owner is None and not given
        known = self.program.results.get(id(node)) if once else None
        if known is not None:
            return known
        if id(node) in self.program.running or not (set_up or self.matters(node)):
            return Symbol(f"result:{node.name}:{id(node)}"), []
        self.program.running.add(id(node))
        scope, servers, guarded = self.program.scope, self.program.servers, self.program.guarded
        self.program.scope = Scope(outer=self.program.module)
        self.program.servers = list(servers)
        self.program.guarded = int(node.name in self.program.expected) + (guarded if given else 0)
        self.bind_parameters(node, owner)
        self.program.scope.names.update(given or {})
        with self.program.decoder.within(node):
            self.program.block(node.body)
        self.program.settle(self.program.scope.names.values())
        started = self.program.servers[len(servers) :]
        result = self.returned(node)
        self.program.scope, self.program.servers, self.program.guarded = scope, servers, guarded
        self.program.running.discard(id(node))
        if once:
            self.program.results[id(node)] = (result, started)
        return result, started

    def matters(self, node: FunctionNode) -> bool:
        """Whether the text of a function names anything that is followed."""
        starts = self.program.source.line_starts
        end = node.end_lineno or node.lineno
        stop = starts[end] if end < len(starts) else len(self.program.source.text)
        if self.program.followed is None:
            self.program.followed = frozenset(_followed_names(self.program.module.names))
        return is_worth_reading(
            self.program.source.text[starts[node.lineno - 1] : stop], self.program.followed
        )

    def returned(self, node: FunctionNode) -> Evaluated:
        values = self.program.scope.returned
        if values and all(value == values[0] for value in values):
            return copied(values[0])
        return Symbol(f"result:{node.name}:{id(node)}")

    def bind_parameters(self, node: FunctionNode, owner: Attributes | None) -> None:
        arguments = node.args
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for position, argument in enumerate(names):
            value: Evaluated = Symbol(f"parameter:{node.name}:{argument.arg}:{id(node)}")
            if position == 0 and owner is not None and not is_static(node):
                value = SelfOf(owner)
            elif argument.arg in self.program.fixtures:
                value, started = self.program.fixtures[argument.arg]
                self.program.servers.extend(started)
            self.program.scope.names[argument.arg] = value
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                self.program.scope.names[rest.arg] = Symbol(f"parameter:{rest.arg}:{id(node)}")

    def class_body(self, node: ast.ClassDef) -> None:
        """A class: its attributes, what its set-up does, then its other methods."""
        attributes = Attributes()
        methods: dict[str, FunctionNode] = {}
        for base in reversed(self.lineage(node)):
            scope = self.program.scope
            self.program.scope = Scope(names=attributes.values, outer=self.program.module)
            for statement in base.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    methods[statement.name] = statement
                    if is_fixture(statement):
                        self.program.scope.names.pop(statement.name, None)
                else:
                    self.program.statement(statement)
            attributes.values = self.program.scope.names
            self.program.scope = scope
        servers = list(self.program.servers)
        followed = any(self.matters(method) for method in methods.values())
        for name in [n for n in _SETUPS if n in methods]:
            done = self.function_result(methods[name], attributes, set_up=followed)
            self.program.servers.extend(done[1])
        outer_fixtures = dict(self.program.fixtures)
        for name, method in methods.items():
            if is_fixture(method):
                self.program.fixtures[name] = self.function_result(method, attributes)
                if is_autouse(method):
                    self.program.servers.extend(self.program.fixtures[name][1])
        for name, method in methods.items():
            if name not in _SETUPS and not is_fixture(method):
                attributes_before = fork(attributes.values)
                self.function_result(method, attributes)
                attributes.values = attributes_before
        self.program.settle(attributes.values.values())
        self.program.servers, self.program.fixtures = servers, outer_fixtures

    def lineage(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """The class and those of its bases that this file defines, nearest first."""
        found, queue = [], [node]
        while queue:
            current = queue.pop(0)
            if current not in found:
                found.append(current)
                names = [base.id for base in current.bases if isinstance(base, ast.Name)]
                queue.extend(
                    self.program.classes[name] for name in names if name in self.program.classes
                )
        return found


def _followed_names(names: dict[str, Evaluated]) -> Iterator[str]:
    """Names of the module that hold what is followed, under whatever name it was imported."""
    for name, value in names.items():
        if isinstance(value, Config | Server | Client | Partial) or (
            isinstance(value, Target) and value.name.endswith(_STARTERS)
        ):
            yield name


def _starts(target: Target) -> bool:
    return target.name.endswith(_STARTERS)
