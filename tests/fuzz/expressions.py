"""Rewrites of one expression that keep what the program means."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import libcst as cst

from tests.fuzz.trees import (
    Parents,
    Rewrite,
    called,
    fresh,
    function_of,
    has,
    loads,
    replaced,
    walk,
    with_import,
)

PARENTHESES = {"lpar": [cst.LeftParen()], "rpar": [cst.RightParen()]}


def _of_a_load(make: Callable[[cst.Module, str], str | None], importing: str = "") -> Rewrite:
    """Replace one name that is read by an expression with the same value."""

    def rewrite(module: cst.Module, rng: Random) -> cst.Module | None:
        places = [node for node, parents in loads(module) if not _in_comprehension(parents)]
        if not places:
            return None
        node = rng.choice(places)
        text = make(module, node.value)
        if text is None:
            return None
        new = replaced(module, node, cst.parse_expression(text))
        return with_import(new, importing) if importing else new

    return rewrite


def _in_comprehension(parents: Parents) -> bool:
    return any(isinstance(parent, cst.BaseComp | cst.CompFor | cst.Lambda) for parent in parents)


def keywords(module: cst.Module, rng: Random) -> cst.Module | None:
    """The layer of a getter by its name."""
    places = [
        node.args[0]
        for node, _ in walk(module)
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and called(node) in ("get_key_buffer", "get_value_buffer", "get_kv_buffer")
        and len(node.args) == 1
        and node.args[0].keyword is None
        and node.args[0].star == ""
    ]
    if not places or has(module, cst.ClassDef):
        return None  # a class of the program may call its parameter otherwise
    argument = rng.choice(places)
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return replaced(
        module, argument, argument.with_changes(keyword=cst.Name("layer_id"), equal=equal)
    )


def packed(module: cst.Module, rng: Random) -> cst.Module | None:
    """`a = x` becomes `a, _ = x, None`."""
    places = _assignments(module)
    if not places:
        return None
    assign = rng.choice(places)
    other = cst.Name(fresh(module, "spare"))
    target = cst.Tuple([cst.Element(assign.targets[0].target), cst.Element(other)])
    value = cst.Tuple([cst.Element(_grouped(assign.value)), cst.Element(cst.Name("None"))])
    return replaced(module, assign, cst.Assign([cst.AssignTarget(target)], value))


def walrus(module: cst.Module, rng: Random) -> cst.Module | None:
    """`a = x` becomes `(a := x)`."""
    places = [assign for assign in _assignments(module) if isinstance(_target(assign), cst.Name)]
    if not places:
        return None
    assign = rng.choice(places)
    target = _target(assign)
    assert isinstance(target, cst.Name)
    named = cst.NamedExpr(target, _grouped(assign.value)).with_changes(**PARENTHESES)
    return replaced(module, assign, cst.Expr(named))


def _assignments(module: cst.Module) -> list[cst.Assign]:
    """Plain assignments of one name or attribute in functions."""
    return [
        node
        for node, parents in walk(module)
        if isinstance(node, cst.Assign)
        and len(node.targets) == 1
        and isinstance(_target(node), cst.Name | cst.Attribute)
        and not has(node.value, cst.Await, cst.Yield)
        and (function := function_of(parents)) is not None
        and not has(function, cst.Global, cst.Nonlocal)
    ]


def _target(assign: cst.Assign) -> cst.BaseExpression:
    return assign.targets[0].target


def _grouped(value: cst.BaseExpression) -> cst.BaseExpression:
    if isinstance(value, cst.Name | cst.Call | cst.Attribute) or value.lpar:
        return value
    return value.with_changes(**PARENTHESES)


def string_annotation(module: cst.Module, rng: Random) -> cst.Module | None:
    places = [
        node.annotation
        for node, parents in walk(module)
        if isinstance(node, cst.Annotation)
        and isinstance(node.annotation, cst.Name | cst.Attribute)
        and not _is_type_level(node)
    ]
    if not places:
        return None
    node = rng.choice(places)
    return replaced(module, node, cst.SimpleString(f'"{module.code_for_node(node)}"'))


def _is_type_level(node: cst.Annotation) -> bool:
    """`X: TypeAlias`, `x: ClassVar`: the annotation itself is the form."""
    match node.annotation:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name in ("TypeAlias", "ClassVar", "Final", "InitVar", "KW_ONLY")
    return False


def import_alias(module: cst.Module, rng: Random) -> cst.Module | None:
    """`from m import X` becomes `from m import X as Y`, and `Y` is used."""
    places = [
        alias
        for node, parents in walk(module)
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar)
        if getattr(node.module, "value", "") != "__future__"
        for alias in node.names
        if alias.asname is None and isinstance(alias.name, cst.Name)
    ]
    if not places:
        return None
    alias = rng.choice(places)
    name = str(alias.name.value)
    if name == "TYPE_CHECKING" or _is_spoken_of(module, name, alias):
        return None
    other = fresh(module, "Other")
    space = cst.SimpleWhitespace(" ")
    asname = cst.AsName(cst.Name(other), space, space)
    changed = replaced(module, alias, alias.with_changes(asname=asname))
    return _renamed(changed, name, other)


def _is_spoken_of(module: cst.Module, name: str, alias: cst.ImportAlias) -> bool:
    """In a text, or by a second binding: renaming all of them is another rewrite."""
    for node, _parents in walk(module):
        if isinstance(node, cst.SimpleString | cst.FormattedString | cst.Comment):
            text = module.code_for_node(node)
            if name in text:
                return True
        if (
            isinstance(node, cst.ImportAlias)
            and node is not alias
            and name in module.code_for_node(node)
        ):
            return True
        if isinstance(node, cst.AssignTarget) and module.code_for_node(node.target) == name:
            return True
        if isinstance(node, cst.ClassDef | cst.FunctionDef) and node.name.value == name:
            return True
        if isinstance(node, cst.Param) and node.name.value == name:
            return True
    return False


class _Renaming(cst.CSTTransformer):
    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return (
            updated_node.with_changes(value=self.new)
            if updated_node.value == self.old
            else updated_node
        )

    def visit_ImportAlias(self, node: cst.ImportAlias) -> bool:
        return False

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


def _renamed(module: cst.CSTNode, old: str, new: str) -> cst.Module:
    changed = module.visit(_Renaming(old, new))
    assert isinstance(changed, cst.Module)
    return changed


def renamed_local(module: cst.Module, rng: Random) -> cst.Module | None:
    """A local variable, which is no parameter, under another name."""
    places = []
    for node, _ in walk(module):
        if isinstance(node, cst.FunctionDef) and not has(node, cst.Global, cst.Nonlocal):
            parameters = {p.name.value for p, _ in walk(node) if isinstance(p, cst.Param)}
            for found, parents in walk(node):
                if isinstance(found, cst.AssignTarget) and isinstance(found.target, cst.Name):
                    inside = function_of(parents) is node
                    if inside and found.target.value not in parameters:
                        places.append((node, found.target.value))
    if not places or has(module, cst.ClassDef):
        return None
    function, name = rng.choice(places)
    if any(_declares(node, name) for node, _ in walk(function)) or f'"{name}"' in module.code:
        return None
    changed = function.visit(_Renaming(name, fresh(module, "local")))
    assert isinstance(changed, cst.FunctionDef)
    return replaced(module, function, changed)


def _declares(node: cst.CSTNode, name: str) -> bool:
    match node:
        case cst.ImportAlias() | cst.MatchAs() | cst.ExceptHandler():
            return True
        case cst.FunctionDef(name=cst.Name(value=own)) | cst.ClassDef(name=cst.Name(value=own)):
            return bool(own == name)
    return False


EXPRESSIONS: dict[str, Rewrite] = {
    "parentheses": _of_a_load(lambda _, name: f"({name})"),
    "conditional expression": _of_a_load(lambda _, name: f"({name} if input() else {name})"),
    "or itself": _of_a_load(lambda _, name: f"(None or {name})"),
    "called lambda": _of_a_load(lambda _, name: f"(lambda: {name})()"),
    "element of a tuple": _of_a_load(lambda _, name: f"({name}, None)[0]"),
    "element of a list": _of_a_load(lambda _, name: f"[None, {name}][1]"),
    "value of a dict": _of_a_load(lambda _, name: f'{{"it": {name}}}["it"]'),
    "next of an iterator": _of_a_load(lambda _, name: f"next(iter([{name}]))"),
    "keyword for positional": keywords,
    "tuple packing": packed,
    "walrus": walrus,
    "string annotation": string_annotation,
    "import alias": import_alias,
    "renamed variable": renamed_local,
}
