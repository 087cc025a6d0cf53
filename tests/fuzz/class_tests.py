"""`isinstance(x, C)` is `type(x) is C` just where C has no subclass."""

from __future__ import annotations

from functools import cache
from random import Random

import libcst as cst

from kvlint.catalogue.embed import load_embedded
from tests.fuzz.trees import Rewrite, called, has, replaced, walk

RELEASE = "0.5.23"


@cache
def leaves() -> frozenset[str]:
    """Names of pool classes from which no other derives."""
    classes = load_embedded(RELEASE).classes.values()
    bases = {base.rpartition(".")[2] for own in classes for base in own.bases}
    return frozenset(own.name for own in classes if own.is_pool) - bases


def to_type(module: cst.Module, rng: Random) -> cst.Module | None:
    places = [
        node
        for node, _ in walk(module)
        if isinstance(node, cst.Call) and called(node) == "isinstance" and len(node.args) == 2
        if _is_leaf(module, node.args[1].value) and not has(node.args[0], cst.NamedExpr)
    ]
    if not places:
        return None
    node = rng.choice(places)
    subject, name = (module.code_for_node(arg.value) for arg in node.args)
    text = rng.choice((f"(type({subject}) is {name})", f"({name} is type({subject}))"))
    return replaced(module, node, cst.parse_expression(text))


def to_isinstance(module: cst.Module, rng: Random) -> cst.Module | None:
    places = []
    for node, _ in walk(module):
        match node:
            case cst.Comparison(
                left=cst.Call(func=cst.Name("type"), args=[cst.Arg(value=subject)]),
                comparisons=[cst.ComparisonTarget(cst.Is() | cst.Equal(), comparator=name)],
            ) if _is_leaf(module, name):
                places.append((node, subject, name))
    if not places:
        return None
    node, subject, name = rng.choice(places)
    text = f"isinstance({module.code_for_node(subject)}, {module.code_for_node(name)})"
    return replaced(module, node, cst.parse_expression(text))


def to_tuple(module: cst.Module, rng: Random) -> cst.Module | None:
    """`isinstance(x, C)` becomes `isinstance(x, (C,))`."""
    places = [
        node.args[1]
        for node, _ in walk(module)
        if isinstance(node, cst.Call) and called(node) == "isinstance" and len(node.args) == 2
        if isinstance(node.args[1].value, cst.Name | cst.Attribute)
    ]
    if not places:
        return None
    argument = rng.choice(places)
    text = f"({module.code_for_node(argument.value)},)"
    return replaced(module, argument, argument.with_changes(value=cst.parse_expression(text)))


def _is_leaf(module: cst.Module, node: cst.CSTNode) -> bool:
    """A class of SGLang's under its own name, of which the program derives none."""
    name = node.value if isinstance(node, cst.Name) else ""
    return name in leaves() and f"({name})" not in _class_lines(module)


def _class_lines(module: cst.Module) -> str:
    lines = module.code.splitlines()
    return "\n".join(line for line in lines if line.lstrip().startswith("class "))


CLASS_TESTS: dict[str, Rewrite] = {
    "isinstance to type": to_type,
    "type to isinstance": to_isinstance,
    "isinstance of a tuple": to_tuple,
}
