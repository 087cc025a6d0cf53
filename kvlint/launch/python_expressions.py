"""What an expression of a program stands for."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from kvlint.launch.arguments import UNKNOWN
from kvlint.launch.python_values import (
    Attributes,
    Client,
    Config,
    DictOf,
    Element,
    Entry,
    Evaluated,
    Known,
    ListOf,
    Member,
    OneOf,
    SelfOf,
    Server,
    Symbol,
    Target,
    Text,
    one_of,
)

if TYPE_CHECKING:
    from kvlint.launch.python_program import Program

_Scalar = str | int | float | bool | None

MOST_TEXT, MOST_ITEMS = 1 << 16, 1 << 12
"""A text or list longer than this is no command line: `A = A + A` sixty times is a bomb."""


class Expressions:
    """Evaluates the expressions of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.stated: dict[str, tuple[str | int | bool, ...]] = {}
        """Constants of other modules and of classes, by name, as they were asked for."""

    def evaluate(self, node: ast.expr) -> Evaluated:
        match node:
            case ast.Constant(value=str() | int() | float() | bool() | None as value):
                return Known(value, node)
            case ast.Name(id=name):
                return self.stated_elsewhere(self.name(name), node)
            case ast.Attribute(value=owner, attr=attr):
                return self.stated_elsewhere(self.attribute(self.evaluate(owner), attr), node)
            case ast.Call():
                return self.program.calls.call(node)
            case ast.List() | ast.Tuple() | ast.Set():
                return self.display(node)
            case ast.Dict():
                return self.dictionary(node)
            case ast.JoinedStr():
                return self.formatted(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operation(node, self.evaluate(left), op, self.evaluate(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self.negated(node, op, self.evaluate(operand))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = self.evaluate(test)
                if isinstance(decided, Known):
                    return self.evaluate(body if decided.value else orelse)
                return self.either(node, [body, orelse])
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(node, self.evaluate(left), op, self.evaluate(right))
            case ast.BoolOp(values=values):
                return self.either(node, values)
            case ast.NamedExpr(target=target, value=value):
                held = self.evaluate(value)
                self.program.assign(target, held, value)
                return held
            case ast.Await(value=value) | ast.Starred(value=value):
                return self.evaluate(value)
            case ast.Yield(value=ast.expr() as value) | ast.YieldFrom(value=value):
                held = self.evaluate(value)
                self.program.scope.returned.append(held)
                return Symbol(f"sent:{id(node)}")
            case ast.Subscript(value=owner, slice=key):
                return self.item(node, self.evaluate(owner), self.evaluate(key))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.comprehension(node)
            case ast.Lambda(body=body):
                self.evaluate(body)
        if not isinstance(node, ast.Lambda):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.evaluate(child)
        return Symbol(f"expression:{id(node)}")

    def name(self, name: str) -> Evaluated:
        value = self.program.scope.lookup(name)
        if isinstance(value, Config) and self.program.guarded:
            value.guarded = True
        return value if value is not None else Symbol(f"name:{name}")

    def called(self, node: ast.expr) -> Evaluated:
        """The function of a call: no constant, whatever module it comes from."""
        match node:
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=owner, attr=attr):
                return self.attribute(self.evaluate(owner), attr)
        return self.evaluate(node)

    def stated_elsewhere(self, value: Evaluated, node: ast.Name | ast.Attribute) -> Evaluated:
        """A constant of another module, or of a class, in place of its name."""
        match value:
            case Target(name=name) if not name.startswith(("sglang.", "os.", "sys.")):
                key = name
            case Member(owner=Symbol(name=name)) if name.startswith("class:"):
                key = ast.unparse(node)
            case Symbol(name=name) if name.startswith("class:") and isinstance(node, ast.Attribute):
                key = ast.unparse(node)
            case _:
                return value
        if key not in self.stated:
            assigned = isinstance(node, ast.Attribute) and self.is_assigned(node.attr)
            self.stated[key] = () if assigned else self.program.constants(node)
        found = one_of([Known(constant, node) for constant in self.stated[key]], id(node))
        return found if found is not None else value

    def is_assigned(self, attribute: str) -> bool:
        """Whether the file gives some object an attribute of that name."""
        text = self.program.source.text
        return re.search(rf"\.{re.escape(attribute)}\s*=[^=]", text) is not None

    def attribute(self, owner: Evaluated, attr: str) -> Evaluated:
        match owner:
            case Target(name=name):
                return Target(f"{name}.{attr}")
            case SelfOf(attributes=attributes):
                held = attributes.values.get(attr)
                return held if held is not None else self.method(attributes, attr)
            case Config() if attr in ("server_args", "args"):
                return owner
            case Config():
                argument = owner.arguments.get(attr)
                if argument is not None and argument.value is not UNKNOWN:
                    return Known(argument.value, owner.origin)
                return Member(owner, (attr,))
            case Server() | Client() | ListOf() | DictOf() | Known() | Text():
                return Member(owner, (attr,))
            case Member(owner=inner, path=path):
                return Member(inner, (*path, attr))
            case Symbol(name=name):
                return Member(owner, (attr,)) if attr[:1].islower() else Symbol(f"{name}.{attr}")
        return Symbol(f"attribute:{attr}")

    def method(self, attributes: Attributes, attr: str) -> Evaluated:
        return Symbol(f"self:{id(attributes)}:{attr}")

    def display(self, node: ast.List | ast.Tuple | ast.Set) -> Evaluated:
        items: list[Element] = []
        for item in node.elts:
            value = self.evaluate(item)
            if isinstance(item, ast.Starred):
                items.extend(self.spread(value, item))
            else:
                items.append(Element(value, item))
        if isinstance(node, ast.Set):
            return Symbol(f"set:{id(node)}")
        made = ListOf(items, node)
        if isinstance(node, ast.List) and not self.program.guarded:
            self.program.lists[id(node)] = made
        return made

    def spread(self, value: Evaluated, node: ast.expr) -> list[Element]:
        if isinstance(value, ListOf):
            value.taken = True
            return list(value.items)
        return [Element(value, node, expanded=True)]

    def dictionary(self, node: ast.Dict) -> DictOf:
        made = DictOf({}, True, node)
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.evaluate(value)
            if key is None:
                self.merge(made, held)
                continue
            name = self.evaluate(key)
            if isinstance(name, Known) and isinstance(name.value, str):
                made.entries[name.value] = Entry(held, key, value)
            else:
                self.forget(made)
        if not self.program.guarded:
            self.program.dicts[id(node)] = made
        return made

    def merge(self, into: DictOf, value: Evaluated) -> None:
        """`into.update(value)`: what is not known may override everything."""
        if isinstance(value, DictOf):
            value.taken = True
            into.entries.update(value.entries)
            into.complete = into.complete and value.complete
        else:
            self.forget(into)

    def forget(self, held: DictOf) -> None:
        held.complete = False
        for key, entry in held.entries.items():
            held.entries[key] = Entry(Symbol(f"overridden:{key}"), entry.node, entry.value_node)

    def extend(self, into: ListOf, value: Evaluated, node: ast.expr) -> None:
        if isinstance(value, ListOf):
            value.taken = True
            into.items.extend(value.items)
            if isinstance(value.node, ast.List | ast.Tuple) and value.node.elts:
                self.program.lists.pop(id(value.node), None)
        else:
            into.items.append(Element(value, node, expanded=True))

    def set_item(
        self,
        owner: Evaluated,
        key: ast.expr,
        value: Evaluated,
        target: ast.Subscript,
        node: ast.expr | None,
    ) -> None:
        name = self.evaluate(key)
        if isinstance(owner, DictOf):
            if isinstance(name, Known) and isinstance(name.value, str) and node is not None:
                owner.entries[name.value] = Entry(value, target, node)
            else:
                self.forget(owner)
        elif isinstance(owner, ListOf):
            owner.items = [Element(Symbol(f"changed:{id(target)}"), target, expanded=True)]

    def formatted(self, node: ast.JoinedStr) -> Evaluated:
        parts: list[str | Symbol] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.evaluate(part.value)
                parts.extend(self.text_parts(value, part))
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value))
        return self.text(parts, node)

    def text_parts(self, value: Evaluated, node: ast.AST) -> tuple[str | Symbol, ...]:
        match value:
            case Known(value=held):
                return (str(held),)
            case Text(parts=parts):
                return parts
            case Symbol():
                return (value,)
            case Target(name=name):
                return (Symbol(f"import:{name}"),)
            case Member(owner=Symbol(name=name), path=path):
                return (Symbol(f"{name}.{'.'.join(path)}"),)
        return (Symbol(f"part:{id(node)}"),)

    def text(self, parts: list[str | Symbol], node: ast.expr) -> Evaluated:
        merged: list[str | Symbol] = []
        for part in parts:
            if merged and isinstance(part, str) and isinstance(merged[-1], str):
                merged[-1] += part
            elif part != "":
                merged.append(part)
        if not merged:
            return Known("", node)
        if sum(len(part) for part in merged if isinstance(part, str)) > MOST_TEXT:
            return Symbol(f"text:{id(node)}")
        if len(merged) == 1 and isinstance(merged[0], str):
            return Known(merged[0], node)
        return Text(tuple(merged), node)

    def operation(
        self, node: ast.BinOp, left: Evaluated, op: ast.operator, right: Evaluated
    ) -> Evaluated:
        if isinstance(op, ast.Add) and (isinstance(left, ListOf) or isinstance(right, ListOf)):
            return self.concatenated(node, left, right)
        if isinstance(op, ast.Add) and (_is_text(left) or _is_text(right)):
            parts = [*self.text_parts(left, node.left), *self.text_parts(right, node.right)]
            return self.text(parts, node)
        if isinstance(op, ast.BitOr) and isinstance(left, DictOf):
            made = DictOf(dict(left.entries), left.complete, left.node)
            left.taken = True
            self.merge(made, right)
            return made
        return Symbol(f"operation:{id(node)}")

    def concatenated(self, node: ast.BinOp, left: Evaluated, right: Evaluated) -> Evaluated:
        items: list[Element] = []
        last: ast.List | ast.Tuple | None = None
        for value, part in ((left, node.left), (right, node.right)):
            items.extend(self.spread(value, part))
            last = value.node if isinstance(value, ListOf) else None
        return ListOf(items, last) if len(items) <= MOST_ITEMS else Symbol(f"list:{id(node)}")

    def negated(self, node: ast.UnaryOp, op: ast.unaryop, operand: Evaluated) -> Evaluated:
        if isinstance(operand, Known):
            value = operand.value
            if isinstance(op, ast.USub) and isinstance(value, int | float):
                return Known(-value, node)
            if isinstance(op, ast.Not):
                return Known(not value, node)
        return Symbol(f"unary:{id(node)}")

    def comparison(
        self, node: ast.Compare, left: Evaluated, op: ast.cmpop, right: Evaluated
    ) -> Evaluated:
        if isinstance(left, Known) and isinstance(right, Known):
            if isinstance(op, ast.Eq | ast.Is):
                return Known(left.value == right.value, node)
            if isinstance(op, ast.NotEq | ast.IsNot):
                return Known(left.value != right.value, node)
        return Symbol(f"comparison:{id(node)}")

    def either(self, node: ast.expr, parts: list[ast.expr]) -> Evaluated:
        known = one_of([self.evaluate(part) for part in parts], id(node))
        if isinstance(node, ast.BoolOp) and isinstance(known, OneOf):
            return Symbol(f"either:{id(node)}")
        return known if known is not None else Symbol(f"either:{id(node)}")

    def item(self, node: ast.Subscript, owner: Evaluated, key: Evaluated) -> Evaluated:
        match owner, key:
            case DictOf(entries=entries), Known(value=str(name)) if name in entries:
                return entries[name].value
            case ListOf(items=items), Known(value=int(index)) if 0 <= index < len(items):
                if not any(item.expanded for item in items[: index + 1]):
                    return items[index].value
        return Symbol(f"item:{id(node)}")

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Evaluated:
        names = self.program.scope.names
        self.program.scope.names = dict(names)
        for generator in node.generators:
            items = self.evaluate(generator.iter)
            each: Evaluated = Symbol(f"each:{id(generator)}")
            if isinstance(generator.target, ast.Name) and not generator.ifs:
                each, _ = self.program.in_turn(items, generator.target.id, [ast.Expr(node)])
            self.program.assign(generator.target, each, None)
            for condition in generator.ifs:
                self.evaluate(condition)
        if isinstance(node, ast.DictComp):
            self.evaluate(node.key)
            self.evaluate(node.value)
        else:
            self.evaluate(node.elt)
        self.program.scope.names = names
        return Symbol(f"comprehension:{id(node)}")


def _is_text(value: Evaluated) -> bool:
    return isinstance(value, Text) or (isinstance(value, Known) and isinstance(value.value, str))
