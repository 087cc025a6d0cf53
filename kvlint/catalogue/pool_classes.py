"""Every class derived from KVCache in a tree, with the bases and mixins that it is made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvlint.catalogue.bodies import dotted
from kvlint.catalogue.class_facts import own_facts
from kvlint.catalogue.model import PoolClass
from kvlint.catalogue.program import Function, FunctionNode, Module, Program
from kvlint.catalogue.resolve import KVCACHE


@dataclass
class PoolClasses:
    """Facts and source of the classes found, by qualified name."""

    facts: dict[str, PoolClass] = field(default_factory=dict)
    nodes: dict[str, tuple[ast.ClassDef, Module]] = field(default_factory=dict)

    functions: dict[str, dict[str, Function]] = field(default_factory=dict)

    def method(self, qualname: str, name: str) -> Function | None:
        """The method that the class's own body defines (the last of that name)."""
        if qualname not in self.functions and qualname in self.nodes:
            node, module = self.nodes[qualname]
            self.functions[qualname] = {
                statement.name: Function(statement, module, qualname)
                for statement in node.body
                if isinstance(statement, FunctionNode)
            }
        return self.functions.get(qualname, {}).get(name)


def find_pool_classes(program: Program) -> PoolClasses:
    """Read the classes of the pool modules, then those bases of theirs that lie elsewhere."""
    known: dict[str, tuple[ast.ClassDef, Module, tuple[str, ...]]] = {}
    for module in _pool_modules(program):
        for qualname, node in _classes_of(module):
            known[qualname] = (node, module, _bases(program, module, node))
    pools = _derived(known)
    wanted = _with_bases(program, pools, known)
    found = PoolClasses()
    for qualname in sorted(wanted):
        node, module, bases = known[qualname]
        found.nodes[qualname] = (node, module)
        found.facts[qualname] = own_facts(
            node, qualname, bases, path=module.path, is_pool=qualname in pools
        )
    return found


def _pool_modules(program: Program) -> list[Module]:
    """Modules with a class statement that, by short names, may lead to KVCache."""
    names, queue = {KVCACHE}, [KVCACHE]
    modules = {name for name, module in program.modules.items() if _defines_root(module)}
    while queue:
        for name, module in program.bases.get(queue.pop(), ()):
            modules.add(module)
            if name not in names:
                names.add(name)
                queue.append(name)
    return [program.modules[name] for name in sorted(modules)]


def _defines_root(module: Module) -> bool:
    return b"\nclass KVCache" in module.data and module.defines(KVCACHE)


def _classes_of(module: Module) -> Iterator[tuple[str, ast.ClassDef]]:
    yield from _classes_in(module.tree.body, module.name)


def _classes_in(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            qualname = f"{prefix}.{statement.name}"
            yield qualname, statement
            yield from _classes_in(statement.body, qualname)
        elif isinstance(statement, FunctionNode):
            yield from _classes_in(statement.body, f"{prefix}.{statement.name}")
        elif isinstance(statement, (ast.If, ast.Try)):
            yield from _classes_in([*statement.body, *statement.orelse], prefix)
            for handler in getattr(statement, "handlers", ()):
                yield from _classes_in(handler.body, prefix)


def _bases(program: Program, module: Module, node: ast.ClassDef) -> tuple[str, ...]:
    found = []
    for base in node.bases:
        text = dotted(base.value if isinstance(base, ast.Subscript) else base)
        if text:
            # A base that the module neither defines nor imports keeps the name it has there.
            name = program.resolve(module, text)
            own = f"{module.name}.{text}"
            found.append(text if name == own and not module.defines(text) else name)
    return tuple(found)


def _derived(known: dict[str, tuple[ast.ClassDef, Module, tuple[str, ...]]]) -> set[str]:
    roots = {name for name in known if name.rpartition(".")[2] == KVCACHE and _is_root(known, name)}
    pools = set(roots)
    grown = True
    while grown:
        more = {name for name, (_, _, bases) in known.items() if pools.intersection(bases)}
        grown = not more <= pools
        pools |= more
    return pools


def _is_root(known: dict[str, tuple[ast.ClassDef, Module, tuple[str, ...]]], qualname: str) -> bool:
    """KVCache of `mem_cache.memory_pool`; others of that name are other classes."""
    return ".mem_cache." in known[qualname][1].name


def _with_bases(
    program: Program,
    pools: set[str],
    known: dict[str, tuple[ast.ClassDef, Module, tuple[str, ...]]],
) -> set[str]:
    wanted: set[str] = set()
    queue = list(pools)
    while queue:
        qualname = queue.pop()
        if qualname in wanted or not _load(program, qualname, known):
            continue
        wanted.add(qualname)
        queue.extend(known[qualname][2])
    return wanted


def _load(
    program: Program,
    qualname: str,
    known: dict[str, tuple[ast.ClassDef, Module, tuple[str, ...]]],
) -> bool:
    if qualname in known:
        return True
    module = program.modules.get(qualname.rpartition(".")[0])
    if module is None:
        return False
    for name, node in _classes_of(module):
        known.setdefault(name, (node, module, _bases(program, module, node)))
    return qualname in known
