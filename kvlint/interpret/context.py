"""What one run of the inference shares: the project, the catalogue's view, and what was worked out
already. No global state: everything hangs on the `Context` that a run makes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kvlint.catalogue.model import Holder
from kvlint.catalogue.resolve import View
from kvlint.findings import Evidence
from kvlint.interpret.values import Value
from kvlint.source.index import Module, Project

if TYPE_CHECKING:
    from kvlint.interpret.classes import ClassInfo
    from kvlint.interpret.interest import Vocabulary
    from kvlint.interpret.pool_sets import Part
    from kvlint.interpret.slicing import Bindings, BlockIndex, Slice
    from kvlint.interpret.uses import Recorder

Env = dict[str, Value]
"""Values by access path: `pool`, `self.kv`, `batch.token_to_kv_pool`."""

NO_CUT = 1 << 30
MAX_RETRIES = 12
MAX_QUESTIONS = 60
K = TypeVar("K")
T = TypeVar("T")


@dataclass(eq=False)
class Context:
    project: Project
    view: View
    holders: dict[str, dict[str, Holder]] = field(default_factory=dict)
    """Holders of the catalogue by owner, then name."""
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    class_of_node: dict[ast.ClassDef, ClassInfo] = field(default_factory=dict)
    globals: dict[tuple[str, str], Value] = field(default_factory=dict)
    attributes: dict[tuple[str, str, str], Value | None] = field(default_factory=dict)
    returns: dict[tuple[object, ...], Value] = field(default_factory=dict)
    open_parameters: dict[ast.AST, frozenset[str]] = field(default_factory=dict)
    stores: dict[tuple[ast.AST, str], list[Value]] = field(default_factory=dict)
    bindings: dict[ast.AST, Bindings] = field(default_factory=dict)
    generic: dict[str, bool] = field(default_factory=dict)
    delegates: dict[str, str | None] = field(default_factory=dict)
    """Attributes whose own attributes the `__getattr__` of a class hands on."""
    module_envs: dict[str, Env] = field(default_factory=dict)
    active: dict[object, int] = field(default_factory=dict)
    """Questions being worked out right now, with their depth."""
    lowest: int = NO_CUT
    """The outermost question that was asked again while it was being worked out: what was found
    below it may be incomplete."""
    retries: dict[object, int] = field(default_factory=dict)
    depth: int = 0
    words: Vocabulary | None = None
    owner_names: dict[str, list[str]] | None = None
    bearing: dict[Module, frozenset[str]] = field(default_factory=dict)
    """Of modules walked in part: the names that can lead to a pool of a known class."""
    parts: dict[tuple[object, str, bool], Part] = field(default_factory=dict)
    blocks: dict[ast.stmt, BlockIndex | None] = field(default_factory=dict)
    """Of blocks, by their first statement: what their statements bind."""
    given: dict[tuple[str, str], tuple[Value, ...]] = field(default_factory=dict)
    """By module and name: the objects that the module gives an attribute of that name."""
    sub_pools: frozenset[str] | None = None

    def sub_pool_names(self) -> frozenset[str]:
        """The attributes that hold sub-pools in any class of the catalogue."""
        if self.sub_pools is None:
            classes = self.view.catalogue.classes.values()
            names = {name.removesuffix("[]") for cls in classes for name in cls.sub_pools}
            self.sub_pools = frozenset(names)
        return self.sub_pools

    def owners(self) -> dict[str, list[str]]:
        """The owners of the catalogue's holders by their short names."""
        if self.owner_names is None:
            self.owner_names = {}
            for owner in self.holders:
                self.owner_names.setdefault(owner.rpartition(".")[2], []).append(owner)
        return self.owner_names

    def may_bear(self, module: Module, name: str) -> bool:
        """Whether a name of the module can lead to a pool of which anything is known."""
        words = self.bearing.get(module)
        return words is None or name in words

    def vocabulary(self) -> Vocabulary:
        """The words that lead to pools of known classes, worked out once."""
        if self.words is None:
            from kvlint.interpret.interest import vocabulary

            self.words = vocabulary(self.view)
        return self.words

    def ask(self, key: object, memo: dict[K, T], work: Callable[[], T], unknown: T) -> T:
        """Answer a question once. Asked again on the way, it is `unknown`; an answer found below
        such a cut is not kept, so that answers do not depend on the order of questions."""
        typed: K = key  # type: ignore[assignment]
        if typed in memo:
            return memo[typed]
        if key in self.active:
            self.lowest = min(self.lowest, self.active[key])
            return unknown
        if self.retries.get(key, 0) >= MAX_RETRIES or len(self.active) >= MAX_QUESTIONS:
            return unknown
        level = self.active[key] = len(self.active)
        outer, self.lowest = self.lowest, NO_CUT
        try:
            found = work()
        finally:
            del self.active[key]
        if self.lowest >= level:
            memo[typed] = found
            self.lowest = outer
        else:
            self.retries[key] = self.retries.get(key, 0) + 1
            self.lowest = min(outer, self.lowest)
        return found


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
    slice: Slice | None = None
    """Which statements matter; None for all."""
    lines: list[int] | None = None
    """Lines of interest: functions without one are not walked for uses. None for all."""
    statement: ast.stmt | None = None
    caught: tuple[frozenset[str], ...] = ()
    """Names of the exceptions that a handler around the statement deals with."""
    returned: list[Value] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    breaks: list[list[Env]] = field(default_factory=list)
    continues: list[list[Env]] = field(default_factory=list)
    self_stores: dict[str, list[Value]] = field(default_factory=dict)
    """Values assigned to attributes of the first parameter."""
    left: list[Value | None] = field(default_factory=list)
    """What the attribute that the slice asks for holds at each way out; None where the environment
    does not say."""
    self_name: str | None = None
    nested: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Env]] = field(default_factory=list)
    """Functions defined in this one, with what their free names hold."""
    declared: Env = field(default_factory=dict)
    """Annotated variables: what they hold when the value assigned is not known."""
    volatile: Env = field(default_factory=dict)
    """Names that a nested function rebinds: they may hold that too after any call."""
    tests: dict[str, ast.expr] = field(default_factory=dict)
    """Conditions kept under a name: `is_single = isinstance(pool, X)`."""

    @property
    def path(self) -> Path:
        return self.module.path

    def leave(self, env: Env) -> None:
        """Note what the attribute that is asked for holds where the function ends."""
        if self.slice is not None and self.slice.attribute is not None:
            self.left.append(env.get(f"{self.self_name}.{self.slice.attribute}"))

    def condition(self, text: str, node: ast.AST) -> Evidence:
        """A step that says something only where the condition holds."""
        return replace(self.evidence(text, node), narrows=True)

    def evidence(self, text: str, node: ast.AST) -> Evidence:
        line = getattr(node, "lineno", None)
        column = getattr(node, "col_offset", None)
        return Evidence(text, self.path, line, None if column is None else column + 1)


def quiet_frame(frame: Frame) -> Frame:
    """The same place, with nobody told of uses and nothing kept."""
    quiet = Frame(frame.ctx, frame.module, frame.cls, frame.function, frame.qualname, frame.outer)
    quiet.self_name = frame.self_name
    return quiet


def module_frame(ctx: Context, module: Module) -> Frame:
    return Frame(ctx, module, qualname="")
