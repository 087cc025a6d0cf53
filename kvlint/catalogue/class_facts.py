"""What one class body says: its methods, their guards, the attributes it assigns.

SGLang's classes and the pool subclasses of a checked project are read by the same function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from kvlint.catalogue.bodies import Function, dotted, method_kind, raised, scan
from kvlint.catalogue.model import Method, PoolClass, SuperCall
from kvlint.catalogue.self_facts import SelfFacts, class_name, self_facts
from kvlint.catalogue.signatures import annotation_text, parameters

_PROPERTIES = ("property", "cached_property", "abstractproperty", "lazy_property")
_ABSTRACT = ("abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod")
_ACCESSORS_OF_PROPERTIES = ("setter", "deleter", "getter")
# Decorators that change neither whether the method raises nor how it is called.
_TRANSPARENT = frozenset(
    (
        *("annotate", "cache", "classmethod", "compile", "debug_kernel_api", "disable"),
        *("enable_grad", "final", "inference_mode", "lru_cache", "no_grad", "nvtx_annotate"),
        *("override", "record_function", "staticmethod", "wraps"),
        *_PROPERTIES,
        *_ABSTRACT,
    )
)
_CLASS_DECORATORS = ("final", "runtime_checkable", "total_ordering", "dataclass", "dataclasses")
_DYNAMIC_METHODS = ("__getattr__", "__getattribute__", "__setattr__")


Presence = Literal["always", "maybe", "otherwise"]
"""Whether a statement of a class body runs; "otherwise": instead of one read before it."""


@dataclass
class _Body:
    """The facts of a class body as they are gathered, in the order of the source."""

    node: ast.ClassDef
    classes: dict[str, str]
    methods: dict[str, Method] = field(default_factory=dict)
    attributes: dict[str, None] = field(default_factory=dict)
    declared: dict[str, None] = field(default_factory=dict)
    dynamic: bool = False


def own_facts(
    node: ast.ClassDef,
    qualname: str,
    bases: tuple[str, ...],
    path: str = "",
    is_pool: bool = True,
) -> PoolClass:
    """The facts of one class body. `bases`: qualified names, in the order of the class statement.

    Sub-pools are not told from one class alone and stay empty.
    """
    classes = {base.rpartition(".")[2]: base for base in bases}
    classes[node.name] = qualname
    body = _Body(node, classes, dynamic=_has_dynamic_head(node))
    for statement, presence in _class_statements(node.body, "always"):
        _read_statement(statement, presence, body)
    if any(_decorator_name(d) == "dataclass" for d in node.decorator_list):
        body.attributes.update(body.declared)
    return PoolClass(
        qualname=qualname,
        bases=bases,
        methods=body.methods,
        class_attributes=tuple(body.attributes),
        declared_attributes=tuple(name for name in body.declared if name not in body.attributes),
        dynamic=body.dynamic or any(name in body.methods for name in _DYNAMIC_METHODS),
        is_pool=is_pool,
        path=path,
        line=node.lineno,
    )


def _has_dynamic_head(node: ast.ClassDef) -> bool:
    """A class decorator or metaclass may add attributes that no body shows."""
    decorators = (_decorator_name(decorator) for decorator in node.decorator_list)
    unknown = any(
        name not in _CLASS_DECORATORS and not name.startswith("register") for name in decorators
    )
    return unknown or any(
        keyword.arg == "metaclass" and dotted(keyword.value).rpartition(".")[2] != "ABCMeta"
        for keyword in node.keywords
    )


def _class_statements(
    body: list[ast.stmt], presence: Presence
) -> Iterator[tuple[ast.stmt, Presence]]:
    """The statements of a class body, those under `if`, `try` and `with` included, and whether
    they run."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _branches(statement)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _class_statements(statement.body, presence)
        elif isinstance(statement, ast.Try):
            yield from _class_statements([*statement.body, *statement.orelse], presence)
            for handler in statement.handlers:
                yield from _class_statements(handler.body, "maybe")
            yield from _class_statements(statement.finalbody, presence)
        elif isinstance(statement, (ast.For, ast.While)):
            yield from _class_statements(statement.body, "maybe")
        else:
            yield statement, presence


def _branches(statement: ast.If) -> Iterator[tuple[ast.stmt, Presence]]:
    """A method that both branches define is there for certain, as one or the other."""
    if _is_type_checking(statement.test):
        yield from _class_statements(statement.orelse, "always")
        return
    both = _defined(statement.body) & _defined(statement.orelse)
    for inner, _ in _class_statements(statement.body, "maybe"):
        yield inner, "always" if getattr(inner, "name", None) in both else "maybe"
    for inner, _ in _class_statements(statement.orelse, "maybe"):
        yield inner, "otherwise" if getattr(inner, "name", None) in both else "maybe"


def _defined(body: list[ast.stmt]) -> set[str]:
    return {one.name for one in body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))}


def _is_type_checking(test: ast.expr) -> bool:
    return dotted(test).rpartition(".")[2] == "TYPE_CHECKING"


def _read_statement(statement: ast.stmt, presence: Presence, body: _Body) -> None:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        _read_method(statement, presence, body)
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            for name in _target_names(target):
                _read_binding(name, statement.value, presence, body)
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        if statement.value is None:
            body.declared[statement.target.id] = None
        else:
            _read_binding(statement.target.id, statement.value, presence, body)
    elif isinstance(statement, ast.ClassDef):
        body.attributes[statement.name] = None
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            body.attributes[alias.asname or alias.name.partition(".")[0]] = None
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        # `locals().update(...)`, `exec(...)`: names that no reading of the body finds.
        body.dynamic = body.dynamic or "locals" in ast.dump(statement.value.func)


def _target_names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _target_names(element)


def _read_method(
    node: ast.FunctionDef | ast.AsyncFunctionDef, presence: Presence, body: _Body
) -> None:
    decorators = [_decorator_name(decorator) for decorator in node.decorator_list]
    if "overload" in decorators:
        return
    if any(name in _ACCESSORS_OF_PROPERTIES for name in decorators):
        if node.name not in body.methods:
            body.attributes[node.name] = None
        return
    _add(_method(node, node.name, decorators, body), presence, body)


def _decorator_name(decorator: ast.expr) -> str:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(function).rpartition(".")[2]


def _add(method: Method, presence: Presence, body: _Body) -> None:
    """A method that may not be defined, or not so, cannot be a guard for certain."""
    earlier = body.methods.get(method.name)
    kinds = {method.kind} if earlier is None else {method.kind, earlier.kind}
    alone = presence == "maybe" and earlier is None
    if presence != "always" and "guard" in kinds and (alone or len(kinds) > 1):
        method = replace(method, kind="conditional")
    body.methods[method.name] = method
    body.attributes.pop(method.name, None)


def _method(node: Function, name: str, decorators: list[str], body: _Body) -> Method:
    statements = _statements(node)
    scope = scan(statements)
    is_static = "staticmethod" in decorators or name == "__new__"
    arguments = node.args
    first = [*arguments.posonlyargs, *arguments.args][:1]
    bound = bool(first) and "staticmethod" not in decorators
    facts = (
        self_facts(statements, scope, first[0].arg, body.classes)
        if bound and "classmethod" not in decorators and not is_static
        else SelfFacts()
    )
    body.dynamic = body.dynamic or facts.dynamic
    kind = method_kind(statements, scope)
    if isinstance(node, ast.AsyncFunctionDef):
        kind = "works"
    elif kind == "guard" and not all(name in _TRANSPARENT for name in decorators):
        kind = "conditional"
    reason = raised(scope) if kind in ("guard", "conditional") else None
    if any(decorator in _ABSTRACT for decorator in decorators):
        kind = "abstract"
    return Method(
        name=name,
        kind=kind,
        parameters=parameters(arguments, bound=bound),
        exception=reason.exception if reason else None,
        message=reason.message if reason else None,
        has_message=reason.has_message if reason else False,
        is_property=any(decorator in _PROPERTIES for decorator in decorators),
        is_static="staticmethod" in decorators,
        is_class="classmethod" in decorators,
        returns=None if isinstance(node, ast.Lambda) else annotation_text(node.returns),
        line=node.lineno,
        assigns=tuple(facts.assigns),
        self_calls=tuple(facts.self_calls),
        super_calls=tuple(facts.super_calls),
        always_calls=tuple(facts.always_calls),
        always_super_calls=tuple(facts.always_super_calls),
        maybe_assigns=tuple(facts.maybe_assigns),
        passes_self=facts.passes_self,
    )


def _statements(node: Function) -> list[ast.stmt]:
    return [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body


def _read_binding(name: str, value: ast.expr, presence: Presence, body: _Body) -> None:
    """`name = value` in a class body: an alias of a method, a wrapped function, or plain data."""
    method = _bound_method(name, value, body)
    if method is None:
        body.methods.pop(name, None)
        body.attributes[name] = None
    else:
        _add(method, presence, body)


def _bound_method(name: str, value: ast.expr, body: _Body) -> Method | None:
    if isinstance(value, ast.Name):
        same = body.methods.get(value.id)
        return replace(same, name=name) if same else None
    if isinstance(value, ast.Lambda):
        return _method(value, name, [], body)
    if isinstance(value, ast.Attribute):
        owner = class_name(value.value, body.classes)
        if owner is None or owner not in body.classes.values():
            return None
        return Method(name, "works", alias=SuperCall(value.attr, explicit=owner))
    if isinstance(value, ast.Call) and value.args:
        return _wrapped_method(name, value, body)
    return None


def _wrapped_method(name: str, call: ast.Call, body: _Body) -> Method | None:
    """`property(get)`, `staticmethod(f)`, `classmethod(f)`, `cached_property(f)`."""
    wrapper = dotted(call.func).rpartition(".")[2]
    if wrapper not in (*_PROPERTIES, "staticmethod", "classmethod"):
        return None
    function = call.args[0]
    if isinstance(function, ast.Lambda):
        return _method(function, name, [wrapper], body)
    inner = body.methods.get(function.id) if isinstance(function, ast.Name) else None
    inner = inner or Method(name, "works", line=call.lineno)
    return replace(
        inner,
        name=name,
        is_property=wrapper in _PROPERTIES,
        is_static=wrapper == "staticmethod",
        is_class=wrapper == "classmethod",
    )
