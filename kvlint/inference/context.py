"""What one run of the inference shares: the project, the catalogue's view, and what was worked out
already. No global state: everything hangs on the `Context` that a run makes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kvlint.catalogue.model import Holder
from kvlint.catalogue.resolve import View
from kvlint.findings import Evidence
from kvlint.inference.values import Value
from kvlint.source.index import Module, Project

if TYPE_CHECKING:
    from kvlint.inference.classes import ClassInfo
    from kvlint.inference.uses import Recorder

Env = dict[str, Value]
"""Values by access path: `pool`, `self.kv`, `batch.token_to_kv_pool`."""

MAX_CALL_DEPTH = 12


@dataclass(eq=False)
class Context:
    project: Project
    view: View
    holders: dict[str, dict[str, Holder]] = field(default_factory=dict)
    """Holders of the catalogue by owner, then name."""
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    class_of_node: dict[ast.ClassDef, ClassInfo] = field(default_factory=dict)
    globals: dict[tuple[str, str], Value] = field(default_factory=dict)
    attributes: dict[tuple[str, str], Value] = field(default_factory=dict)
    returns: dict[tuple[ast.AST, str | None], Value] = field(default_factory=dict)
    stores: dict[ast.AST, dict[str, list[Value]]] = field(default_factory=dict)
    module_envs: dict[str, Env] = field(default_factory=dict)
    active: set[object] = field(default_factory=set)
    """What is being worked out right now: asking again gives unknown instead of recursion."""
    cuts: int = 0
    """How often `active` cut a question short: a result found meanwhile may be incomplete and is
    not kept, so that results do not depend on the order of questions."""
    depth: int = 0


@dataclass(eq=False)
class Frame:
    """Where an expression stands: its module, class and function, and who is told of pool uses."""

    ctx: Context
    module: Module
    cls: ClassInfo | None = None
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    qualname: str = ""
    outer: tuple[Env, ...] = ()
    """Environments of the enclosing functions, innermost first."""
    recorder: Recorder | None = None
    statement: ast.stmt | None = None
    caught: tuple[frozenset[str], ...] = ()
    """Names of the exceptions that a handler around the statement deals with."""
    returned: list[Value] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    breaks: list[list[Env]] = field(default_factory=list)
    continues: list[list[Env]] = field(default_factory=list)
    self_stores: dict[str, list[Value]] = field(default_factory=dict)
    """Values assigned to attributes of the first parameter."""
    self_name: str | None = None
    nested: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Env]] = field(default_factory=list)
    """Functions defined in this one, with what their free names hold."""
    declared: Env = field(default_factory=dict)
    """Annotated variables: what they hold when the value assigned is not known."""
    tests: dict[str, ast.expr] = field(default_factory=dict)
    """Conditions kept under a name: `is_single = isinstance(pool, X)`."""

    @property
    def path(self) -> Path:
        return self.module.path

    def evidence(self, text: str, node: ast.AST) -> Evidence:
        line = getattr(node, "lineno", None)
        column = getattr(node, "col_offset", None)
        return Evidence(text, self.path, line, None if column is None else column + 1)


def module_frame(ctx: Context, module: Module) -> Frame:
    return Frame(ctx, module, qualname="")
