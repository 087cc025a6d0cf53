"""Every class derived from KVCache in a tree, with the bases and mixins that it is made of."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
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


Known = dict[str, tuple[ast.ClassDef, Module, tuple[str, ...]]]
"""Class statements by qualified name, with their modules and bases."""


def find_pool_classes(program: Program) -> PoolClasses:
    """Read the classes of the pool modules, then those bases of theirs that lie elsewhere."""
    known = classes_in(program, modules_leading_to(program, KVCACHE, ".mem_cache."))
    pools = derived_from(known, {name for name in known if _is_root(known, name)})
    wanted = with_bases(program, pools, known)
    found = PoolClasses()
    for qualname in sorted(wanted):
        node, module, bases = known[qualname]
        found.nodes[qualname] = (node, module)
        found.facts[qualname] = own_facts(
            node, qualname, bases, path=module.path, is_pool=qualname in pools
        )
    return found


def classes_in(program: Program, modules: Iterable[Module]) -> Known:
    known: Known = {}
    for module in modules:
        for qualname, node in _classes_of(module):
            known[qualname] = (node, module, _bases(program, module, node))
    return known


def modules_leading_to(program: Program, root: str, within: str) -> list[Module]:
    """Modules with a class statement that, by short names, may lead to a root class; and those
    that define a class of its name, where `within` is part of their own."""
    names, queue = {root}, [root]
    modules = {
        name
        for name, module in program.modules.items()
        if within in f"{name}." and f"\nclass {root}".encode() in module.data
    }
    while queue:
        for name, module in program.bases.get(queue.pop(), ()):
            modules.add(module)
            if name not in names:
                names.add(name)
                queue.append(name)
    return [program.modules[name] for name in sorted(modules)]


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


def derived_from(known: Known, roots: set[str]) -> set[str]:
    """The roots and every class that the statements derive from them."""
    found = set(roots)
    grown = True
    while grown:
        more = {name for name, (_, _, bases) in known.items() if found.intersection(bases)}
        grown = not more <= found
        found |= more
    return found


def _is_root(known: Known, qualname: str) -> bool:
    """KVCache of `mem_cache.memory_pool`; others of that name are other classes."""
    return qualname.rpartition(".")[2] == KVCACHE and ".mem_cache." in known[qualname][1].name


def with_bases(program: Program, pools: set[str], known: Known) -> set[str]:
    """The classes and their bases, as far as the program holds them; bases that lie elsewhere are
    read into `known`."""
    wanted: set[str] = set()
    queue = list(pools)
    while queue:
        qualname = queue.pop()
        if qualname in wanted or not _load(program, qualname, known):
            continue
        wanted.add(qualname)
        queue.extend(known[qualname][2])
    return wanted


def _load(program: Program, qualname: str, known: Known) -> bool:
    if qualname in known:
        return True
    module = program.modules.get(qualname.rpartition(".")[0])
    if module is None:
        return False
    for name, node in _classes_of(module):
        known.setdefault(name, (node, module, _bases(program, module, node)))
    return qualname in known
