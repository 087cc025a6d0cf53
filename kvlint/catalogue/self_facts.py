"""What one method body does to `self`: attributes it assigns, methods it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvlint.catalogue.bodies import Scope, dotted, may_return, swallows
from kvlint.catalogue.model import SuperCall

_HARMLESS = frozenset(
    (
        *("callable", "delattr", "dir", "getattr", "hasattr", "hash", "id", "isinstance"),
        *("issubclass", "len", "print", "repr", "setattr", "str", "super", "type", "vars"),
    )
)
_ASSIGNING_METHODS = ("__setattr__",)
_EAGER = (ast.Expr, ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign)


@dataclass
class SelfFacts:
    """What is known so far about one body. Dicts keep the order of the source."""

    assigns: dict[str, None] = field(default_factory=dict)
    maybe_assigns: dict[str, None] = field(default_factory=dict)
    self_calls: dict[str, None] = field(default_factory=dict)
    super_calls: dict[SuperCall, None] = field(default_factory=dict)
    always_calls: dict[str, None] = field(default_factory=dict)
    always_super_calls: dict[SuperCall, None] = field(default_factory=dict)
    passes_self: bool = False
    dynamic: bool = False


def self_facts(
    body: list[ast.stmt], scope: Scope, self_name: str, classes: dict[str, str]
) -> SelfFacts:
    """Read the body of a method whose first parameter is `self_name`.

    `classes`: the names by which the body can mean its own class and its bases, with their
    qualified names.
    """
    facts = SelfFacts()
    names = _self_names(scope, self_name)
    without_value = _targets_that_assign_nothing(scope)
    for node in scope.attributes:
        if isinstance(node.value, ast.Name) and node.value.id in names:
            _read_attribute(node, without_value, facts)
    for call in scope.calls:
        _read_call(call, names, classes, facts)
    for function in scope.functions:
        _read_nested(function, names, facts)
    if facts.self_calls or facts.super_calls:
        for call in _certain_calls(body):
            _read_certain_call(call, names, classes, facts)
    return facts


def _self_names(scope: Scope, self_name: str) -> set[str]:
    """The names of self: its own and those it is assigned to (`pool = self`)."""
    names = {self_name}
    for node in scope.assignments:
        if _is_self(node.value, names):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return names


def _targets_that_assign_nothing(scope: Scope) -> set[int]:
    """`self.x: int` without a value, and `self.n += 1`, which needs an attribute that is there
    already."""
    bare: list[ast.AnnAssign | ast.AugAssign] = [
        *(node for node in scope.annotated if node.value is None),
        *scope.augmented,
    ]
    return {id(node.target) for node in bare}


def _read_attribute(node: ast.Attribute, without_value: set[int], facts: SelfFacts) -> None:
    if isinstance(node.ctx, ast.Store):
        if id(node) not in without_value:
            facts.assigns[node.attr] = None
            facts.dynamic = facts.dynamic or node.attr == "__class__"
    elif node.attr == "__dict__":
        facts.dynamic = True


def _read_nested(
    node: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str], facts: SelfFacts
) -> None:
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.Attribute)
            and isinstance(inner.ctx, ast.Store)
            and _is_self(inner.value, names)
        ) and inner.attr not in facts.assigns:
            facts.maybe_assigns[inner.attr] = None


def _read_call(node: ast.Call, names: set[str], classes: dict[str, str], facts: SelfFacts) -> None:
    if _read_setattr(node, names, facts):
        return
    own = _self_method(node, names)
    if own is not None:
        facts.self_calls[own] = None
    further = _super_call(node, names, classes)
    if further is not None:
        facts.super_calls[further] = None
    elif _passes(node, names):
        facts.passes_self = True


def _read_certain_call(
    node: ast.Call, names: set[str], classes: dict[str, str], facts: SelfFacts
) -> None:
    own = _self_method(node, names)
    if own is not None:
        facts.always_calls[own] = None
    further = _super_call(node, names, classes)
    if further is not None:
        facts.always_super_calls[further] = None


def _read_setattr(node: ast.Call, names: set[str], facts: SelfFacts) -> bool:
    """`setattr(self, "x", v)`, `object.__setattr__(self, "x", v)`, `super().__setattr__("x", v)`,
    `vars(self)`: whether the call is one of them."""
    function = node.func
    if isinstance(function, ast.Name) and function.id in ("setattr", "vars"):
        if not (node.args and _is_self(node.args[0], names)):
            return False
        name = node.args[1] if len(node.args) == 3 else None
    elif isinstance(function, ast.Attribute) and function.attr in _ASSIGNING_METHODS:
        with_self = bool(node.args) and _is_self(node.args[0], names)
        if not with_self and not _is_super(function.value) and not _is_self(function.value, names):
            return False
        name = node.args[-2] if len(node.args) >= 2 else None
    else:
        return False
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        facts.assigns[name.value] = None
    else:
        facts.dynamic = True
    return True


def _self_method(node: ast.Call, names: set[str]) -> str | None:
    function = node.func
    if isinstance(function, ast.Attribute) and _is_self(function.value, names):
        return function.attr
    return None


def _super_call(node: ast.Call, names: set[str], classes: dict[str, str]) -> SuperCall | None:
    function = node.func
    if not isinstance(function, ast.Attribute):
        return None
    if _is_super(function.value):
        arguments = function.value.args  # type: ignore[attr-defined]
        after = class_name(arguments[0], classes) if arguments else None
        return SuperCall(function.attr, after=after)
    if node.args and _is_self(node.args[0], names):
        explicit = class_name(function.value, classes)
        if explicit is not None:
            return SuperCall(function.attr, explicit=explicit)
    return None


def class_name(node: ast.expr, classes: dict[str, str]) -> str | None:
    """The class an expression names: qualified where it is the own class or a base, as written
    where it looks like a class, None for anything else."""
    text = dotted(node)
    short = text.rpartition(".")[2]
    if text in classes or short in classes:
        return classes.get(text) or classes[short]
    if text == "__class__":
        return None
    return text if short.lstrip("_")[:1].isupper() else None


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def _is_self(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _passes(node: ast.Call, names: set[str]) -> bool:
    if isinstance(node.func, ast.Name) and node.func.id in _HARMLESS:
        return False
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(_is_self(value, names) for value in values)


def _certain_calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """Calls that have been made whenever the body returns."""
    for statement in body:
        yield from _calls_of(statement)
        if isinstance(statement, ast.Raise) or may_return(statement):
            return


def _calls_of(statement: ast.stmt) -> Iterator[ast.Call]:
    if isinstance(statement, _EAGER):
        if statement.value is not None:
            yield from _eager_calls(statement.value)
    elif isinstance(statement, (ast.If, ast.While)):
        yield from _eager_calls(statement.test)
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield from _eager_calls(statement.iter)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            yield from _eager_calls(item.context_expr)
        if not swallows(statement):
            yield from _certain_calls(statement.body)


def _eager_calls(node: ast.expr) -> Iterator[ast.Call]:
    """Calls that evaluating the expression always makes."""
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.IfExp):
        yield from _eager_calls(node.test)
        return
    if isinstance(node, ast.BoolOp):
        yield from _eager_calls(node.values[0])
        return
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        yield from _eager_calls(node.generators[0].iter)
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _eager_calls(child)
        elif isinstance(child, ast.keyword):
            yield from _eager_calls(child.value)
