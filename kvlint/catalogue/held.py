"""Which pool classes an expression of SGLang's own code can hold: what sub-pools are read from.

Flow-insensitive and small: locals, parameters with their defaults and call sites, attributes of
self, calls of constructors and of SGLang's own factories. Several answers are joined; what is not
understood adds nothing, so that a result names the classes that the tree itself uses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from kvlint.catalogue.bodies import dotted
from kvlint.catalogue.model import SuperCall
from kvlint.catalogue.pool_classes import PoolClasses
from kvlint.catalogue.program import Assignment, Function, Module, Program, is_self_attribute
from kvlint.catalogue.resolve import View
from kvlint.catalogue.self_facts import class_name

_DEPTH = 12
_POOLISH = re.compile(r"pool|cls|class|kv_?cache", re.I)
_OPEN_ANNOTATIONS = frozenset(
    ("Any", "object", "type", "Type", "Callable", "Optional", "Union", "None", "typing", "KVCache")
)
_CONTAINERS = frozenset(
    ("list", "List", "dict", "Dict", "tuple", "Tuple", "Sequence", "Mapping", "Iterable")
)
_WRAPPERS = frozenset(("Optional", "Union", "Annotated", "Final", "ClassVar", "Required"))


@dataclass(frozen=True, slots=True)
class Value:
    """A pool class, an instance of one, or a container of instances."""

    form: Literal["class", "pool", "many"]
    name: str


Values = frozenset[Value]
NOTHING: Values = frozenset()


@dataclass(frozen=True)
class Frame:
    """Where an expression stands: its function, what its parameters are known to be there, and
    the class of the instance that `self` is."""

    function: Function
    self_class: str | None = None
    bound: dict[str, Values] = field(default_factory=dict)


class Evaluator:
    """Answers for one program, each question about an attribute worked out once."""

    def __init__(self, program: Program, classes: PoolClasses, view: View) -> None:
        self.program = program
        self.classes = classes
        self.view = view
        self._attributes: dict[tuple[str, str], Values] = {}
        self._parameters: dict[tuple[int, str, str | None], Values] = {}
        self._running: set[tuple[int, str | None]] = set()
        self._by_word: dict[str, list[Function]] = {}
        self._named: dict[tuple[str, str, str | None], Function | None] = {}
        self._assigned: dict[str, dict[str, list[tuple[Function, Assignment]]]] = {}

    # Expressions

    def values(self, node: ast.expr | None, frame: Frame) -> Values:
        """What the expression can be. A question that asks for itself adds nothing."""
        key = (id(node), frame.self_class)
        if node is None or key in self._running or len(self._running) > _DEPTH * 4:
            return NOTHING
        self._running.add(key)
        try:
            return self._values(node, frame)
        finally:
            self._running.discard(key)

    def _values(self, node: ast.expr, frame: Frame) -> Values:
        if isinstance(node, ast.Name):
            return self._name(node.id, frame)
        if isinstance(node, ast.Attribute):
            return self._attribute_of(node, frame)
        if isinstance(node, ast.Call):
            return self._call(node, frame)
        if isinstance(node, ast.IfExp):
            return self.values(node.body, frame) | self.values(node.orelse, frame)
        if isinstance(node, ast.BoolOp):
            return self._join(node.values, frame)
        if isinstance(node, ast.NamedExpr):
            return self.values(node.value, frame)
        if isinstance(node, ast.Subscript):
            return _elements(self.values(node.value, frame))
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return _many(self._join(node.elts, frame))
        if isinstance(node, ast.Dict):
            return _many(self._join(node.values, frame))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return _many(self.values(node.elt, frame))
        if isinstance(node, ast.DictComp):
            return _many(self.values(node.value, frame))
        return NOTHING

    def _join(self, nodes: list[ast.expr], frame: Frame) -> Values:
        return frozenset().union(*(self.values(node, frame) for node in nodes))

    def _name(self, name: str, frame: Frame) -> Values:
        if name in frame.bound:
            found = frame.bound[name]
        elif frame.function.parameter(name) is not None:
            found = self.parameter(frame.function, name, frame.self_class)
        else:
            found = self._class(frame.function.module, name)
        return found | self._join(frame.function.bindings.get(name, []), frame)

    def _class(self, module: Module, text: str) -> Values:
        qualname = self.program.resolve(module, text)
        own = self.classes.facts.get(qualname)
        return frozenset((Value("class", qualname),)) if own and own.is_pool else NOTHING

    def _attribute_of(self, node: ast.Attribute, frame: Frame) -> Values:
        if frame.self_class and isinstance(node.value, ast.Name) and node.value.id == "self":
            return self.attribute(frame.self_class, node.attr)
        text = dotted(node)
        known = self._class(frame.function.module, text) if text else NOTHING
        if known:
            return known
        owners = {v.name for v in self.values(node.value, frame) if v.form == "pool"}
        return frozenset().union(*(self.attribute(owner, node.attr) for owner in owners))

    # Calls

    def _call(self, node: ast.Call, frame: Frame) -> Values:
        made = frozenset(
            Value("pool", value.name)
            for value in self.values(node.func, frame)
            if value.form == "class"
        )
        if made:
            return made
        text = dotted(node.func)
        short = text.rpartition(".")[2]
        if short == "cast" and len(node.args) == 2:
            return self.annotated(node.args[0], frame.function.module)
        if isinstance(node.func, ast.Attribute) and short in ("get", "pop", "values"):
            found = self.values(node.func.value, frame)
            return found if short == "values" else _elements(found)
        if short in ("list", "tuple") and node.args:
            return self.values(node.args[0], frame)
        return self._result(node, frame)

    def _result(self, node: ast.Call, frame: Frame) -> Values:
        """What a function of SGLang's own returns for these arguments; where that is not
        understood, what it is annotated to return."""
        callee = self._callee(node, frame)
        if callee is None:
            return NOTHING
        own_self = frame.self_class if is_self_attribute(node.func) else None
        inner = Frame(callee, own_self, self._bind(node, callee, frame))
        found = self._join(callee.returns, inner)
        return found or self.annotated(callee.node.returns, callee.module)

    def _callee(self, node: ast.Call, frame: Frame) -> Function | None:
        if is_self_attribute(node.func):
            if frame.self_class is not None:
                holder = self.view.find(frame.self_class, node.func.attr)
                return self.classes.method(holder.qualname, node.func.attr) if holder else None
            return self._in_module(frame.function.module, node.func.attr, frame.function.owner)
        if isinstance(node.func, ast.Name):
            home, _, name = self.program.resolve(frame.function.module, node.func.id).rpartition(
                "."
            )
            module = self.program.modules.get(home)
            return self._in_module(module, name, None) if module else None
        return None

    def _in_module(self, module: Module, name: str, owner: str | None) -> Function | None:
        key = (module.name, name, owner)
        if key not in self._named:
            self._named[key] = module.function_named(name, owner)
        return self._named[key]

    def _functions_with(self, word: str, module: Module | None = None) -> list[Function]:
        if module is not None:
            key = f"{module.name}:{word}"
            if key not in self._by_word:
                self._by_word[key] = module.functions_with(word)
            return self._by_word[key]
        return [
            function
            for candidate in self.program.modules_with(word)
            for function in self._functions_with(word, candidate)
        ]

    def _bind(self, node: ast.Call, callee: Function, frame: Frame) -> dict[str, Values]:
        """Parameters of the callee that may hold pools, as this call passes them."""
        bound: dict[str, Values] = {}
        for parameter in callee.parameters:
            if not self._may_hold_pools(parameter, callee):
                continue
            argument = _argument(node, callee, parameter.arg)
            if argument is not None:
                bound[parameter.arg] = self.values(argument, frame)
            elif not any(keyword.arg is None for keyword in node.keywords):
                inner = Frame(callee, frame.self_class)
                bound[parameter.arg] = self.values(callee.default(parameter.arg), inner)
        return bound

    # Parameters

    def parameter(self, function: Function, name: str, self_class: str | None) -> Values:
        key = (id(function.node), name, self_class)
        if key not in self._parameters:
            self._parameters[key] = NOTHING
            self._parameters[key] = self._parameter(function, name, self_class)
        return self._parameters[key]

    def _parameter(self, function: Function, name: str, self_class: str | None) -> Values:
        node = function.parameter(name)
        if node is None or not self._may_hold_pools(node, function):
            return NOTHING
        if function.node.name == "__init__" and self_class is not None:
            found = self._constructor_parameter(function, name, self_class)
        elif self_class is not None and function.owner in self.classes.facts:
            found = self._method_parameter(function, name, self_class)
        else:
            found = self._passed_anywhere(function, name)
        if found or function.default(name) is not None:
            return found
        return self.annotated(node.annotation, function.module)

    def _may_hold_pools(self, parameter: ast.arg, function: Function) -> bool:
        if function.owner is not None and parameter is function.parameters[0]:
            return False
        if self.annotated(parameter.annotation, function.module):
            return True
        text = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
        words = set(re.findall(r"\w+", text))
        if not words <= _OPEN_ANNOTATIONS:
            return False
        return bool(words & {"type", "Type"}) or _POOLISH.search(parameter.arg) is not None

    def _default(self, function: Function, name: str, self_class: str | None) -> Values:
        return self.values(function.default(name), Frame(function, self_class))

    def _constructor_parameter(self, function: Function, name: str, self_class: str) -> Values:
        """What `__init__` gets: from the calls that make an instance, and, where it is a base's,
        from the `super().__init__(...)` that reaches it."""
        found: Values = NOTHING
        entry = self.view.find(self_class, "__init__")
        is_entry = entry is not None and entry.qualname == function.owner
        if is_entry:
            found = self._default(function, name, self_class)
            return found | self._passed_to_class(function, name, self_class)
        for caller, call in self._super_calls(self_class, function):
            argument = _argument(call, function, name)
            if argument is not None:
                found |= self.values(argument, Frame(caller, self_class))
                continue
            found |= self._default(function, name, self_class)
            if any(keyword.arg is None for keyword in call.keywords):
                found |= self._passed_to_class(function, name, self_class)
        return found

    def _super_calls(
        self, self_class: str, target: Function
    ) -> Iterator[tuple[Function, ast.Call]]:
        for own, method_name in self.view.constructor_chain(self_class):
            caller = self.classes.method(own.qualname, method_name)
            for call in caller.calls if caller else ():
                reached = self._super_target(call, own.qualname, self_class)
                if reached == target.owner and caller is not None:
                    yield caller, call

    def _super_target(self, call: ast.Call, holder: str, self_class: str) -> str | None:
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != "__init__":
            return None
        names = {name.rpartition(".")[2]: name for name in self.view.mro(self_class)}
        if isinstance(function.value, ast.Call) and dotted(function.value.func) == "super":
            after = class_name(function.value.args[0], names) if function.value.args else None
            found = self.view.super_target(self_class, holder, SuperCall("__init__", after))
        else:
            explicit = class_name(function.value, names)
            if explicit is None:
                return None
            call_of = SuperCall("__init__", explicit=explicit)
            found = self.view.super_target(self_class, holder, call_of)
        return found.qualname if found else None

    def _passed_to_class(self, function: Function, name: str, self_class: str) -> Values:
        found: Values = NOTHING
        for caller in self._functions_with(name):
            for call in caller.calls:
                argument = _keyword(call, name)
                if argument is None or caller.node is function.node:
                    continue
                frame = Frame(caller, self._self_of(caller))
                if Value("class", self_class) in self.values(call.func, frame):
                    found |= self.values(argument, frame)
        return found

    def _method_parameter(self, function: Function, name: str, self_class: str) -> Values:
        found: Values = NOTHING
        called = False
        for own in self.view.known_mro(self_class):
            for method_name in own.methods:
                caller = self.classes.method(own.qualname, method_name)
                for call in caller.self_calls.get(function.node.name, ()) if caller else ():
                    called = True
                    argument = _argument(call, function, name)
                    found |= (
                        self._default(function, name, self_class)
                        if argument is None or caller is None
                        else self.values(argument, Frame(caller, self_class))
                    )
        return found if called else self._default(function, name, self_class)

    def _passed_anywhere(self, function: Function, name: str) -> Values:
        found = self._default(function, name, None)
        for caller in self._functions_with(function.node.name):
            for call in caller.calls:
                if dotted(call.func).rpartition(".")[2] == function.node.name:
                    argument = _argument(call, function, name)
                    if argument is not None:
                        found |= self.values(argument, Frame(caller, self._self_of(caller)))
        return found

    def _self_of(self, function: Function) -> str | None:
        return function.owner if function.owner in self.classes.facts else None

    # Attributes

    def attribute(self, qualname: str, name: str) -> Values:
        """What an attribute of an instance of this very class can hold."""
        key = (qualname, name)
        if key not in self._attributes:
            self._attributes[key] = NOTHING
            self._attributes[key] = self._attribute(qualname, name)
        return self._attributes[key]

    def _attribute(self, qualname: str, name: str) -> Values:
        holder = self.view.find(qualname, name)
        if holder is not None and name in holder.methods:
            return self._property(qualname, holder.qualname, name)
        declared: Values = NOTHING
        for own in self.view.known_mro(qualname):
            declared = declared or self._declared(own.qualname, name)
        assigned, annotation = self._assignments(qualname, name)
        return assigned or declared or annotation

    def _running_methods(self, qualname: str) -> Iterator[Function]:
        seen: set[tuple[str, str]] = set()
        pairs = [(own.qualname, name) for own, name in self.view.constructor_chain(qualname)]
        for own in self.view.known_mro(qualname):
            pairs += [(own.qualname, m) for m in own.methods if self.view.find(qualname, m) is own]
        for pair in pairs:
            function = None if pair in seen else self.classes.method(*pair)
            seen.add(pair)
            if function is not None:
                yield function

    def _assigned_in(self, qualname: str) -> dict[str, list[tuple[Function, Assignment]]]:
        """Attribute -> the assignments to it in the methods that an instance has or runs."""
        if qualname not in self._assigned:
            found: dict[str, list[tuple[Function, Assignment]]] = {}
            for method in self._running_methods(qualname):
                for name, assignments in method.attributes.items():
                    found.setdefault(name, []).extend((method, each) for each in assignments)
            self._assigned[qualname] = found
        return self._assigned[qualname]

    def _assignments(self, self_class: str, name: str) -> tuple[Values, Values]:
        """Values assigned to `self.name`, and those that are only declared: by an annotation, or
        by the parameter that is assigned."""
        found: Values = NOTHING
        declared: Values = NOTHING
        for function, (target, value, annotation) in self._assigned_in(self_class).get(name, ()):
            values = self.values(value, Frame(function, self_class))
            found |= _many(values) if isinstance(target, ast.Subscript) else values
            declared |= self.annotated(annotation, function.module)
            if isinstance(value, ast.Name):
                parameter = function.parameter(value.id)
                if parameter is not None:
                    declared |= self.annotated(parameter.annotation, function.module)
        return found, declared

    def _declared(self, qualname: str, name: str) -> Values:
        node, module = self.classes.nodes[qualname]
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and dotted(statement.target) == name:
                return self.annotated(statement.annotation, module)
        return NOTHING

    def _property(self, qualname: str, holder: str, name: str) -> Values:
        function = self.classes.method(holder, name)
        if function is None or not self.classes.facts[holder].methods[name].is_property:
            return NOTHING
        found = self._join(function.returns, Frame(function, qualname))
        return found or self.annotated(function.node.returns, function.module)

    # Annotations

    def annotated(self, node: ast.expr | None, module: Module) -> Values:
        """The pools of an annotation: `X`, `Optional[X]`, `X | None`, `type[X]`, `list[X]`."""
        if node is None:
            return NOTHING
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return self.annotated(ast.parse(node.value, mode="eval").body, module)
            except SyntaxError:
                return NOTHING
        if isinstance(node, (ast.Name, ast.Attribute)):
            return frozenset(Value("pool", v.name) for v in self._class(module, dotted(node)))
        if isinstance(node, ast.BinOp):
            return self.annotated(node.left, module) | self.annotated(node.right, module)
        if isinstance(node, ast.Subscript):
            return self._subscripted(node, module)
        return NOTHING

    def _subscripted(self, node: ast.Subscript, module: Module) -> Values:
        head = dotted(node.value).rpartition(".")[2]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        inner: Values = frozenset().union(*(self.annotated(part, module) for part in parts))
        if head in ("type", "Type"):
            return frozenset(Value("class", value.name) for value in inner)
        if head in _CONTAINERS:
            return _many(inner)
        return inner if head in _WRAPPERS else NOTHING


def _elements(values: Values) -> Values:
    return frozenset(Value("pool", value.name) for value in values if value.form == "many")


def _many(values: Values) -> Values:
    return frozenset(Value("many", value.name) for value in values if value.form != "class")


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _argument(call: ast.Call, function: Function, name: str) -> ast.expr | None:
    """The argument of a bound call that fills the parameter."""
    found = _keyword(call, name)
    if found is not None:
        return found
    arguments = function.node.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if function.owner is not None and positional:
        positional = positional[1:]
    if name not in positional:
        return None
    index = positional.index(name)
    given = call.args[: index + 1]
    if len(given) <= index or any(isinstance(a, ast.Starred) for a in given):
        return None
    return given[index]
