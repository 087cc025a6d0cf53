"""What an attribute of a value holds, and what its methods give."""

from __future__ import annotations

import ast
from dataclasses import replace

from kvlint.catalogue.class_facts import result_arity
from kvlint.findings import Evidence
from kvlint.interpret.class_sets import meet
from kvlint.interpret.classes import (
    ancestors,
    instance_attribute,
    is_contract_class,
    is_pool_class,
    source_class,
)
from kvlint.interpret.construction import bound
from kvlint.interpret.context import Context
from kvlint.interpret.generics import typed_attribute
from kvlint.interpret.slicing import bindings_in
from kvlint.interpret.symbols import holder_value, module_attribute
from kvlint.interpret.values import (
    MAX_EVIDENCE,
    PLATFORMS,
    UNKNOWN,
    Atom,
    Buffer,
    ClassObject,
    Constant,
    Elements,
    External,
    Function,
    HolderCall,
    Instance,
    Items,
    ModuleObject,
    Nothing,
    Partial,
    PoolMethod,
    Super,
    TypeOf,
    Value,
    element_of,
    item_of,
    join,
    only,
    value,
    without_none,
)

RAW_BUFFERS = frozenset(["k_buffer", "v_buffer", "kv_buffer"])


def attribute(ctx: Context, base: Value, name: str) -> Value:
    """What `base.name` holds, whatever of it is known."""
    if base.atoms is None:
        return UNKNOWN
    parts: list[Value] = []
    for atom in base.atoms:
        if isinstance(atom, Nothing):
            continue
        found = _of_atom(ctx, atom, name, base)
        if not found.known:
            return UNKNOWN
        parts.append(found)
    return join(parts) if parts else UNKNOWN


def _of_atom(ctx: Context, atom: Atom, name: str, base: Value) -> Value:
    if isinstance(atom, Instance):
        return _of_instance(ctx, atom, name, base)
    if isinstance(atom, (ModuleObject, External)):
        return module_attribute(ctx, atom.name, name)
    if isinstance(atom, ClassObject):
        return _of_class(ctx, atom, name, base)
    if isinstance(atom, Super):
        return _of_super(ctx, atom, name)
    if isinstance(atom, Buffer):
        return value(atom, evidence=base.evidence) if name in ("T", "data", "mT") else UNKNOWN
    if isinstance(atom, TypeOf) and name in ("__name__", "__qualname__"):
        return value(TypeOf(atom.path, named=True))
    return UNKNOWN


def _of_instance(ctx: Context, atom: Instance, name: str, base: Value) -> Value:
    if name == "__class__":
        return value(ClassObject(atom.cls, exact=atom.exact))
    own = value(atom, evidence=base.evidence)
    sub_pools = _sub_pools(ctx, atom, name, base)
    if sub_pools is not None:
        return sub_pools
    found = instance_attribute(ctx, atom.cls, name)
    held = dict(atom.held).get(name) if atom.held else None
    if held is not None:
        met = meet(ctx, found, held) if found is not None and found.known else held
        return _with_steps(held if met is None else met, base)
    if found is not None and found.known:
        return _with_steps(_described(ctx, atom, name, _bound(found, own)), base)
    if is_pool_class(ctx, atom.cls):
        return _of_pool(ctx, atom, name, own)
    typed = typed_attribute(ctx, atom, name) if found is not None else UNKNOWN
    if typed.known:
        return _with_steps(typed, base)
    holder = _held(ctx, atom.cls, name)
    if not holder.known and is_contract_class(ctx, atom.cls) and _is_method(ctx, atom.cls, name):
        return value(PoolMethod(own, name))
    return holder if holder.known else _delegated(ctx, atom, name, own)


def _is_method(ctx: Context, cls: str, name: str) -> bool:
    own = ctx.view.find(cls, name)
    return own is not None and name in own.methods and not own.methods[name].is_property


def _described(ctx: Context, atom: Instance, name: str, found: Value) -> Value:
    """What a descriptor of the class gives: an attribute of the class with a `__get__`."""
    descriptor = only(found)
    if not isinstance(descriptor, Instance) or is_pool_class(ctx, descriptor.cls):
        return found
    getter = only(attribute(ctx, value(descriptor), "__get__"))
    owners = (source_class(ctx, cls) for cls in ancestors(ctx, atom.cls))
    own = any(info is not None and name in info.members for info in owners)
    if not own or not isinstance(getter, Function):
        return found
    from kvlint.interpret.functions import return_value, returned_with

    given = return_value(ctx, getter)
    if given.known or getter.node.returns is not None:
        return given
    return returned_with(ctx, getter, bound(getter.node, [value(atom)], {}, 1))


def _delegated(ctx: Context, atom: Instance, name: str, own: Value) -> Value:
    """What `__getattr__` hands on: `return getattr(self._pool, name)` as the whole of it."""
    if atom.cls not in ctx.delegates:
        ctx.delegates[atom.cls] = _delegate(ctx, atom.cls)
    inner = ctx.delegates[atom.cls]
    if inner is None or inner == name or name.startswith("__"):
        return UNKNOWN
    return attribute(ctx, attribute(ctx, own, inner), name)


def _delegate(ctx: Context, cls: str) -> str | None:
    for base in ancestors(ctx, cls):
        info = source_class(ctx, base)
        for member in info.members.get("__getattr__", ()) if info is not None else ():
            return _asked_instead(member)
    return None


def _asked_instead(function: ast.stmt) -> str | None:
    """The attribute of self whose attributes a `__getattr__` returns."""
    if not isinstance(function, ast.FunctionDef) or len(function.args.args) != 2:
        return None
    first, second = (argument.arg for argument in function.args.args)
    returned = bindings_in(function).returned
    match returned:
        case [
            ast.Call(
                func=ast.Name("getattr"),
                args=[ast.Attribute(ast.Name(owner), inner), ast.Name(asked)],
            )
        ] if (owner, asked) == (first, second):
            return inner
    return None


def _bound(found: Value, own: Value) -> Value:
    if found.atoms is None:
        return found
    atoms = frozenset(
        Function(atom.module, atom.node, atom.cls, own)
        if isinstance(atom, Function) and atom.self_value is None and atom.cls is not None
        else atom
        for atom in found.atoms
    )
    return Value(atoms, found.evidence)


def _with_steps(found: Value, base: Value) -> Value:
    """The steps that led to the object come before those that led to its attribute."""
    steps = tuple(dict.fromkeys((*base.evidence, *found.evidence)))
    return Value(found.atoms, steps[:MAX_EVIDENCE])


def _sub_pools(ctx: Context, atom: Instance, name: str, base: Value) -> Value | None:
    """The sub-pool that an attribute of a pool holds, as any class the instance can be has it."""
    if not is_pool_class(ctx, atom.cls):
        return None
    classes = [atom.cls] if atom.exact else sorted(ctx.view.subclasses(atom.cls))
    if PLATFORMS not in atom.cls:
        classes = [cls for cls in classes if PLATFORMS not in cls]
    own = atom.cls if ctx.view.sub_pool_classes(atom.cls, name) else None
    held: list[Atom] = []
    listed: list[Atom] = []
    for cls in classes if name in ctx.sub_pool_names() else ():
        owner = (own or cls, name)
        held += [Instance(sub, owner=owner) for sub in _held_by(ctx, cls, name)]
        listed += [Instance(sub, owner=owner) for sub in _held_by(ctx, cls, f"{name}[]")]
    parent = atom.cls.rpartition(".")[2]
    if held:
        names = ", ".join(
            sorted({a.cls.rpartition(".")[2] for a in held if isinstance(a, Instance)})
        )
        step = Evidence(f"`{parent}.{name}` holds {names}")
        return Value(frozenset(held), base.evidence).because(step)
    if listed:
        step = Evidence(f"`{parent}.{name}` lists sub-pools")
        return value(Elements(Value(frozenset(listed), base.evidence).because(step)))
    return None


def _held_by(ctx: Context, cls: str, name: str) -> list[str]:
    return sorted(ctx.view.sub_pool_classes(cls, name))


def _of_pool(ctx: Context, atom: Instance, name: str, own: Value) -> Value:
    if name in RAW_BUFFERS:
        return value(Buffer(own, name, raw=True, tensor=False), evidence=own.evidence)
    for base in ancestors(ctx, atom.cls):
        holder = ctx.holders.get(base, {}).get(name)
        if holder is not None and holder.form in ("attribute", "property"):
            return holder_value(ctx, holder)
    return value(PoolMethod(own, name))


def _held(ctx: Context, cls: str, name: str) -> Value:
    """An attribute that only the catalogue's holders know."""
    for base in ancestors(ctx, cls):
        holder = ctx.holders.get(base, {}).get(name)
        if holder is not None:
            found = holder_value(ctx, holder)
            return value(HolderCall(found)) if holder.form == "method" else found
    return UNKNOWN


def _of_class(ctx: Context, atom: ClassObject, name: str, base: Value) -> Value:
    if name == "__name__":
        return value(Constant(atom.cls.rpartition(".")[2])) if atom.exact else UNKNOWN
    for cls in ancestors(ctx, atom.cls):
        info = source_class(ctx, cls)
        if info is not None and name in info.members:
            found = instance_attribute(ctx, cls, name)
            if found is not None and not name.startswith("_") and _is_enum(ctx, atom.cls):
                member = Instance(atom.cls, exact=True, held=(("value", found),))
                return value(member, evidence=found.evidence)
            return found if found is not None else UNKNOWN
    if is_pool_class(ctx, atom.cls) or (
        is_contract_class(ctx, atom.cls) and _is_method(ctx, atom.cls, name)
    ):
        own = value(Instance(atom.cls, exact=atom.exact), evidence=base.evidence)
        method = ctx.view.accessor(atom.cls, name).method
        plain = method is not None and not (method.is_static or method.is_class)
        return value(PoolMethod(own, name, unbound=plain))
    return UNKNOWN


def _is_enum(ctx: Context, cls: str) -> bool:
    return any(base.startswith("enum.") for base in ancestors(ctx, cls))


def _of_super(ctx: Context, atom: Super, name: str) -> Value:
    own = next(iter(atom.self_value.atoms or ()), None)
    start = own.cls if isinstance(own, (Instance, ClassObject)) else atom.cls.qualname
    order = ancestors(ctx, start)
    if atom.cls.qualname not in order:
        return UNKNOWN
    for base in order[order.index(atom.cls.qualname) + 1 :]:
        info = source_class(ctx, base)
        if info is not None and name in info.members:
            found = instance_attribute(ctx, base, name)
            return _bound(found, atom.self_value) if found is not None else UNKNOWN
        if is_pool_class(ctx, base):
            return value(PoolMethod(value(Instance(base, exact=True)), name))
    return UNKNOWN


def iterated(ctx: Context, known: Value) -> Value:
    """What iterating over the value gives; an object of the project by its `__iter__`."""
    if isinstance(only(known), Instance):
        return element_of(method_result(ctx, without_none(known), "__iter__"))
    return element_of(known)


def subscripted(ctx: Context, known: Value, index: int | str | None) -> Value:
    """What subscripting gives: of a NamedTuple or a TypedDict its field, of another object of the
    project what its `__getitem__` returns."""
    atom = only(known)
    if not isinstance(atom, Instance):
        return item_of(known, index)
    info = source_class(ctx, atom.cls)
    if info is None:
        return UNKNOWN
    bases = {base.rpartition(".")[2] for base in info.bases}
    if "TypedDict" in bases:
        return attribute(ctx, known, index) if isinstance(index, str) else UNKNOWN
    if "NamedTuple" in bases:
        fields = [name for name, member in info.members.items() if _is_field(member[0])]
        there = isinstance(index, int) and -len(fields) <= index < len(fields)
        return attribute(ctx, known, fields[int(index or 0)]) if there else UNKNOWN
    return method_result(ctx, without_none(known), "__getitem__")


def entered(ctx: Context, manager: Value, asynchronous: bool) -> Value:
    """What `with manager as x` binds: the yield of a context manager function, `__enter__`."""
    atom = only(manager)
    if isinstance(atom, Elements):
        return atom.element
    if isinstance(atom, Function):
        return UNKNOWN
    return method_result(ctx, manager, "__aenter__" if asynchronous else "__enter__")


def _is_field(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AnnAssign)


def call_result(ctx: Context, called: Value) -> Value:
    """What calling the value gives, where its arguments do not matter."""
    from kvlint.interpret.functions import return_value

    if called.atoms is None:
        return UNKNOWN
    parts: list[Value] = []
    for atom in called.atoms:
        if isinstance(atom, ClassObject):
            parts.append(value(Instance(atom.cls, exact=atom.exact)))
        elif isinstance(atom, Function):
            parts.append(named_parts(atom, return_value(ctx, atom)))
        elif isinstance(atom, HolderCall):
            parts.append(atom.result)
        elif isinstance(atom, Partial):
            parts.append(call_result(ctx, atom.called))
        elif isinstance(atom, PoolMethod):
            parts.append(_accessor_result(ctx, atom))
        elif isinstance(atom, External) and atom.name in ctx.view.catalogue.functions:
            parts.append(parts_of(ctx.view.catalogue.functions[atom.name].arity, atom.name))
        elif isinstance(atom, Instance):
            parts.append(method_result(ctx, value(atom), "__call__"))
        elif not isinstance(atom, Nothing):
            return UNKNOWN
    return join(parts) if parts else UNKNOWN


def method_result(ctx: Context, base: Value, name: str) -> Value:
    return call_result(ctx, attribute(ctx, base, name)) if base.known else UNKNOWN


def _accessor_result(ctx: Context, method: PoolMethod) -> Value:
    """Views that the getters of a pool hand out, and what SGLang's holders say of the method."""
    if method.name in ("get_key_buffer", "get_value_buffer"):
        return value(Buffer(method.pool, method.name, raw=False), evidence=method.pool.evidence)
    if method.name == "get_kv_buffer":
        view = Buffer(method.pool, method.name, raw=False)
        pair = value(view, evidence=method.pool.evidence)
        agreed = "get_kv_buffer" if result_length(ctx, method) == 2 else ""
        return value(Items((pair, pair), agreed), evidence=method.pool.evidence)
    for atom in method.pool.atoms or ():
        if not isinstance(atom, Instance):
            continue
        for base in ancestors(ctx, atom.cls):
            holder = ctx.holders.get(base, {}).get(method.name)
            if holder is not None and holder.form == "method":
                return holder_value(ctx, holder)
    return parts_of(result_length(ctx, method), method.name, method.pool)


def parts_of(length: int, made_by: str, pool: Value = UNKNOWN) -> Value:
    """A result of which nothing but its number of parts is known."""
    if not length:
        return UNKNOWN
    return value(Items((UNKNOWN,) * length, made_by), evidence=pool.evidence)


def named_parts(called: Function, found: Value) -> Value:
    """The result of a function of SGLang's own source, with its number of parts."""
    if not called.module.name.startswith("sglang."):
        return found
    items = only(found)
    if isinstance(items, Items):
        return Value(frozenset([replace(items, made_by=called.node.name)]), found.evidence)
    if found.known or called.node.decorator_list:
        return found
    return parts_of(max(0, result_arity(called.node)), called.node.name)


def result_length(ctx: Context, method: PoolMethod) -> int:
    """The number of parts that the method gives on every class of a closed set; 0 where they
    differ or some class does not say."""
    lengths: set[int] = set()
    for atom in method.pool.atoms or ():
        if not isinstance(atom, Instance) or not (atom.exact or ctx.view.concrete(atom.cls)):
            return 0
        classes = {atom.cls} if atom.exact else ctx.view.concrete_subclasses(atom.cls)
        for cls in classes:
            if PLATFORMS in cls and PLATFORMS not in atom.cls:
                continue
            accessor = ctx.view.accessor(cls, method.name)
            if accessor.kind in ("works", "conditional"):
                lengths.add(ctx.view.arity(cls, method.name))
    return lengths.pop() if len(lengths) == 1 else 0
