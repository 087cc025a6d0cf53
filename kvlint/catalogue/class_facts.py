"""What one class body says: its methods, their guards, the attributes it assigns.

SGLang's classes and the pool subclasses of a checked project are read by the same function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from kvlint.catalogue.bodies import Function, dotted, exits, method_kind, raised, scan
from kvlint.catalogue.model import AS_BASE, Method, Parameter, PoolClass, SuperCall
from kvlint.catalogue.self_facts import SelfFacts, class_name, self_facts
from kvlint.catalogue.signatures import annotation_text, parameters, without_annotations

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
# Decorators that may change what a method does, but not how it is called.
_KEEPING = frozenset(("contextmanager", "asynccontextmanager", "retry", "abstractmethod"))
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
    flags: dict[str, bool] = field(default_factory=dict)
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
        made = _generated_constructor(node, bases)
        if made is not None:
            body.methods.setdefault(made.name, made)
    return PoolClass(
        qualname=qualname,
        bases=bases,
        methods=body.methods,
        class_attributes=tuple(body.attributes),
        declared_attributes=tuple(name for name in body.declared if name not in body.attributes),
        dynamic=body.dynamic or any(name in body.methods for name in _DYNAMIC_METHODS),
        is_pool=is_pool,
        constant_flags=body.flags,
        path=path,
        line=node.lineno,
    )


def _generated_constructor(node: ast.ClassDef, bases: tuple[str, ...]) -> Method | None:
    """The `__init__` of a dataclass that derives from nothing; None where options decide what its
    parameters are."""
    options = [d for d in node.decorator_list if isinstance(d, ast.Call) and d.keywords]
    named = {keyword.arg for one in options for keyword in one.keywords}
    if bases or named & {"init", "kw_only"}:
        return None
    found: list[Parameter] = []
    for one in node.body:
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        annotation = annotation_text(one.annotation) or ""
        value = one.value
        if "KW_ONLY" in annotation or (isinstance(value, ast.Call) and _hides(value)):
            return None
        if "ClassVar" not in annotation:
            has_default = value is not None and (not isinstance(value, ast.Call) or _fills(value))
            found.append(Parameter(one.target.id, "positional", has_default, annotation))
    names = tuple(one.name for one in found)
    return Method("__init__", "works", tuple(found), line=node.lineno, assigns=names)


def _hides(call: ast.Call) -> bool:
    return any(keyword.arg in ("init", "kw_only") for keyword in call.keywords)


def _fills(call: ast.Call) -> bool:
    """Whether a field's value, if it is a `field(...)`, gives it a default."""
    if dotted(call.func).rpartition(".")[2] != "field":
        return True
    return any(keyword.arg in ("default", "default_factory") for keyword in call.keywords)


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
        wrapped=not all(name in _TRANSPARENT or name in _KEEPING for name in decorators),
        arity=result_arity(node),
    )


def function_facts(node: ast.FunctionDef) -> Method:
    """The facts of a function of a module."""
    statements = node.body
    scope = scan(statements)
    return Method(
        name=node.name,
        kind=method_kind(statements, scope),
        parameters=without_annotations(parameters(node.args, bound=False)),
        line=node.lineno,
        arity=result_arity(node),
    )


def result_arity(node: Function) -> int:
    """The length of the tuple that every `return` of a function displays; 0 where they differ, are
    no tuple displays, or where the end of the body is reached. What `super()` gives is taken to
    agree; AS_BASE where every one hands that on."""
    if isinstance(node, ast.AsyncFunctionDef):
        return 0
    results = [node.body] if isinstance(node, ast.Lambda) else _returned(node.body)
    handed_on = [result for result in results if _is_of_super(result, node)]
    lengths = {_display_length(result) for result in results if result not in handed_on}
    if handed_on and not lengths:
        return AS_BASE
    if len(lengths) != 1 or None in lengths:
        return 0
    if not isinstance(node, ast.Lambda) and "fall" in exits(node.body):
        return 0
    return lengths.pop() or 0


def _is_of_super(result: ast.expr | None, node: Function) -> bool:
    """`super().name(...)` in a method of that name."""
    if isinstance(node, ast.Lambda) or not isinstance(result, ast.Call):
        return False
    function = result.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == node.name
        and isinstance(function.value, ast.Call)
        and dotted(function.value.func) == "super"
    )


def _display_length(node: ast.expr | None) -> int | None:
    if not isinstance(node, ast.Tuple):
        return None
    return None if any(isinstance(one, ast.Starred) for one in node.elts) else len(node.elts)


def _returned(body: list[ast.stmt]) -> list[ast.expr | None]:
    """What the return statements of a body give; [None] of a generator, which gives no tuple."""
    found: list[ast.expr | None] = []
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return [None]
        if isinstance(node, ast.Return):
            found.append(node.value)
        stack.extend(ast.iter_child_nodes(node))
    return found


def _statements(node: Function) -> list[ast.stmt]:
    return [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body


def _read_binding(name: str, value: ast.expr, presence: Presence, body: _Body) -> None:
    """`name = value` in a class body: an alias of a method, a wrapped function, or plain data."""
    method = _bound_method(name, value, body)
    body.flags.pop(name, None)
    if presence == "always" and isinstance(value, ast.Constant) and isinstance(value.value, bool):
        body.flags[name] = value.value
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
    inner = inner or Method(name, "works", line=call.lineno, wrapped=True)
    return replace(
        inner,
        name=name,
        is_property=wrapper in _PROPERTIES,
        is_static=wrapper == "staticmethod",
        is_class=wrapper == "classmethod",
    )
