"""What an annotation promises: the value of a parameter, a variable or a result."""

from __future__ import annotations

import ast

from kvlint.interpret.context import Env, Frame
from kvlint.interpret.names import last_name
from kvlint.interpret.values import (
    NOTHING,
    UNKNOWN,
    ClassObject,
    Elements,
    External,
    HolderCall,
    Instance,
    Items,
    Mapping,
    ModuleObject,
    Nothing,
    Value,
    future_of,
    join,
    value,
    without_none,
)
from kvlint.source.index import Assigned, Imported, Module

WRAPPERS = frozenset("Annotated Final ClassVar Required NotRequired ReadOnly".split())
ITERABLES = frozenset(
    "list List set Set frozenset FrozenSet deque Deque Sequence MutableSequence Iterable "
    "Iterator Collection AbstractSet Generator AsyncIterator AsyncIterable AsyncGenerator "
    "Reversible KeysView ContextManager AbstractContextManager".split()
)
MAPPINGS = frozenset("dict Dict Mapping MutableMapping DefaultDict defaultdict OrderedDict".split())
AWAITABLES = {"Awaitable": 0, "Coroutine": 2}
FUTURES = frozenset(["Future", "Task"])
REFERENCES = frozenset(["ref", "ReferenceType", "WeakMethod"])
GETTERS = {
    "ContextVar": ("get",),
    **dict.fromkeys(("Queue", "SimpleQueue", "LifoQueue", "PriorityQueue"), ("get", "get_nowait")),
}
"""Generic classes of Python's own library, and their methods that give what they are of."""


def annotation_value(frame: Frame, env: Env, node: ast.expr, depth: int = 0) -> Value:
    """The value that an annotation stands for; UNKNOWN where it is not understood."""
    if depth > 20:
        return UNKNOWN
    if isinstance(node, ast.Constant):
        return _constant(frame, env, node, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left = annotation_value(frame, env, node.left, depth + 1)
        return join([left, annotation_value(frame, env, node.right, depth + 1)])
    if isinstance(node, ast.Subscript):
        return _subscript(frame, env, node, depth)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _named(frame, env, node, depth)
    return UNKNOWN


def _constant(frame: Frame, env: Env, node: ast.Constant, depth: int) -> Value:
    if node.value is None:
        return NOTHING
    inner = unquoted(node) if isinstance(node.value, str) else None
    return UNKNOWN if inner is None else annotation_value(frame, env, inner, depth + 1)


def unquoted(node: ast.expr | None) -> ast.expr | None:
    """The expression that an annotation in quotes stands for; None where it is no expression."""
    if not isinstance(node, ast.Constant):
        return node
    try:
        return ast.parse(str(node.value).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _named(frame: Frame, env: Env, node: ast.Name | ast.Attribute, depth: int) -> Value:
    alias = _alias(frame, env, node)
    if alias is not None:
        module, expression = alias
        return annotation_value(Frame(frame.ctx, module), {}, expression, depth + 1)
    from kvlint.interpret.expressions import evaluate

    quiet = Frame(frame.ctx, frame.module, frame.cls, frame.function, frame.qualname, frame.outer)
    return instances_of(frame, evaluate(quiet, env, node))


def instances_of(frame: Frame, classes: Value) -> Value:
    """Class objects turned into their instances."""
    parts: list[Value] = []
    for atom in classes.atoms or ():
        if isinstance(atom, ClassObject):
            parts.append(value(Instance(atom.cls)))
        elif isinstance(atom, Nothing):
            parts.append(NOTHING)
        elif isinstance(atom, External):
            parts.append(_external(frame, atom.name))
        else:
            return UNKNOWN
    return join(parts) if parts else UNKNOWN


def _external(frame: Frame, name: str) -> Value:
    short = name.rpartition(".")[2]
    if short == "Self" and frame.cls is not None:
        return value(Instance(frame.cls.qualname))
    if short in ITERABLES or short in MAPPINGS or short in ("Any", "object", "tuple", "Tuple"):
        return UNKNOWN
    if name.startswith("builtins.") or name.partition(".")[0] in ("torch", "numpy"):
        return value(Instance(name))
    return UNKNOWN


def _alias(
    frame: Frame, env: Env, node: ast.Name | ast.Attribute
) -> tuple[Module, ast.expr] | None:
    """The module and expression behind a type alias that is a plain global assignment."""
    module: Module | None = frame.module
    if isinstance(node, ast.Name):
        if node.id in env or any(node.id in outer for outer in frame.outer):
            return None
        name = node.id
    else:
        from kvlint.interpret.expressions import evaluate

        base = evaluate(Frame(frame.ctx, frame.module, outer=frame.outer), env, node.value)
        names = [atom.name for atom in base.atoms or () if isinstance(atom, ModuleObject)]
        module, name = (frame.ctx.project.module(names[0]) if names else None), node.attr
    for _ in range(8):
        bindings = module.bindings.get(name, []) if module is not None else []
        if module is None or len(bindings) != 1:
            return None
        binding = bindings[0]
        if isinstance(binding, Imported) and binding.name is not None:
            source = frame.ctx.project.imported(module, binding.module)
            module, name = frame.ctx.project.module(source), binding.name
        elif isinstance(binding, Assigned) and isinstance(binding.value, ALIAS_NODES):
            return module, binding.value
        else:
            return None
    return None


ALIAS_NODES = (ast.Subscript, ast.BinOp, ast.Name, ast.Attribute, ast.Constant)


def _subscript(frame: Frame, env: Env, node: ast.Subscript, depth: int) -> Value:
    head = _head(frame.module, node.value)
    arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    def of(argument: ast.expr) -> Value:
        return annotation_value(frame, env, argument, depth + 1)

    if head in WRAPPERS:
        return of(arguments[0])
    if head == "Optional":
        return join([of(arguments[0]), NOTHING])
    if head == "Union":
        return join(of(argument) for argument in arguments)
    if head in ITERABLES:
        return value(Elements(of(arguments[0])))
    if head in MAPPINGS:
        return value(Mapping(of(arguments[-1]))) if len(arguments) == 2 else UNKNOWN
    if head in ("tuple", "Tuple"):
        if len(arguments) == 2 and _is_ellipsis(arguments[1]):
            return value(Elements(of(arguments[0])))
        return value(Items(tuple(of(argument) for argument in arguments)))
    if head in ("type", "Type"):
        return _classes(of(arguments[0]))
    if head == "Callable" and len(arguments) == 2:
        return value(HolderCall(of(arguments[1])))
    if head in AWAITABLES and len(arguments) > AWAITABLES[head]:
        return of(arguments[AWAITABLES[head]])
    if head in FUTURES:
        return future_of(of(arguments[0]))
    if head in REFERENCES:
        return value(HolderCall(join([of(arguments[0]), NOTHING])))
    made = annotation_value(frame, env, node.value, depth + 1)
    if head in GETTERS and not (made.known and _is_of_project(frame, made)):
        held = value(HolderCall(of(arguments[0])))
        given = tuple((name, held) for name in GETTERS[head])
        return value(Instance(f"typing.{head}", held=given))
    if not made.known:
        return UNKNOWN
    from kvlint.interpret.generics import with_arguments

    return with_arguments(frame.ctx, made, [of(argument) for argument in arguments])


def _head(module: Module, node: ast.expr) -> str:
    """The name of a generic type, under whatever name it was imported: `Optional as Maybe`."""
    name = last_name(node)
    bindings = module.bindings.get(name, []) if isinstance(node, ast.Name) else []
    if len(bindings) == 1 and isinstance(binding := bindings[0], Imported):
        return binding.name or name
    return name


def _is_of_project(frame: Frame, made: Value) -> bool:
    from kvlint.interpret.classes import source_class

    classes = [atom.cls for atom in made.atoms or () if isinstance(atom, Instance)]
    return any(source_class(frame.ctx, cls) is not None for cls in classes)


def _classes(instances: Value) -> Value:
    if instances.atoms is None:
        return UNKNOWN
    atoms = [
        ClassObject(atom.cls, exact=False) for atom in instances.atoms if isinstance(atom, Instance)
    ]
    return value(*atoms) if len(atoms) == len(instances.atoms) else UNKNOWN


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def as_classes(meant: dict[str, Value]) -> Env:
    """Type parameters and what they stand for, as names of classes: annotations are made of
    those."""
    env: Env = {}
    for name, known in meant.items():
        atoms = without_none(known).atoms or frozenset()
        classes = [ClassObject(a.cls, exact=False) for a in atoms if isinstance(a, Instance)]
        if classes and len(classes) == len(atoms):
            env[name] = value(*classes, evidence=known.evidence)
    return env
