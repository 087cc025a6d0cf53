"""Is a name imported from SGLang that this release does not have where it is looked for?"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvlint.catalogue.embed import embedded_versions, load_embedded
from kvlint.catalogue.model import Catalogue
from kvlint.checks.asked import Asked, found_at
from kvlint.findings import Evidence, Finding, Fix
from kvlint.fixing.places import Change, make_fix
from kvlint.interpret.names import last_name
from kvlint.source.index import Module

WHOLE = "sglang.srt.mem_cache"
UNTOLD = ("*",)
_HANDLED = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
_HANDLED_ATTRIBUTES = frozenset(("AttributeError", "Exception", "BaseException"))
_PROBES = ("version", "Version", "hasattr", "find_spec", "has_")


@dataclass(frozen=True, slots=True)
class Place:
    """A node with its statement, and the conditions and handlers around it."""

    node: ast.AST
    statement: ast.stmt
    around: tuple[ast.AST, ...]


def check(asked: Asked) -> Iterator[Finding]:
    if "sglang" not in asked.module.source.text or asked.module.name.startswith("sglang."):
        return
    modules = _modules_by_name(asked.module.tree)
    for place in _places(asked.module.tree):
        if isinstance(place.node, ast.ImportFrom):
            yield from _imported(asked, place, place.node)
        elif isinstance(place.node, ast.Import):
            yield from _module_imported(asked, place, place.node)
        elif isinstance(place.node, ast.Attribute) and isinstance(place.node.ctx, ast.Load):
            yield from _named(asked, place, place.node, modules)


def _imported(asked: Asked, place: Place, node: ast.ImportFrom) -> Iterator[Finding]:
    module = node.module or ""
    if node.level or not module.startswith("sglang.") or _is_handled(place, _HANDLED):
        return
    missing = [alias for alias in node.names if _is_missing(asked, module, alias.name)]
    homes = [_home(asked.view.catalogue, alias.name) for alias in missing]
    whole = len(missing) == len(node.names) and len(set(homes)) == 1 and homes[0] is not None
    fix = _fix(asked.module, node, homes[0]) if whole and homes[0] is not None else None
    mild = any(
        isinstance(one, ast.If) and "TYPE_CHECKING" in ast.dump(one.test) for one in place.around
    )
    for alias, home in zip(missing, homes, strict=True):
        for rule in asked.rules:
            yield found_at(
                asked,
                rule,
                node,
                place.statement,
                f"`{alias.name}` is not in `{module}`{_went(home)}",
                at_most="warning" if mild else "error",
                evidence=_evidence(asked, module, alias.name),
                raises=f"ImportError: cannot import name '{alias.name}' from '{module}'",
                remedy=_remedy(asked, alias.name, home, rule.remedy),
                fix=fix,
                accessor=alias.name,
            )


def _module_imported(asked: Asked, place: Place, node: ast.Import) -> Iterator[Finding]:
    """`import sglang.srt.mem_cache.module`, where the release has no such module."""
    for alias in node.names:
        package, _, name = alias.name.rpartition(".")
        if package != WHOLE or _is_handled(place, _HANDLED):
            continue
        if not _is_missing(asked, package, name) or not _was_there(alias.name):
            continue
        for rule in asked.rules:
            yield found_at(
                asked,
                rule,
                node,
                place.statement,
                f"`{alias.name}` is no module of this release",
                evidence=_evidence(asked, package, name),
                raises=f"ModuleNotFoundError: No module named '{alias.name}'",
                accessor=name,
            )


def _named(
    asked: Asked, place: Place, node: ast.Attribute, modules: dict[str, str]
) -> Iterator[Finding]:
    """`memory_pool.Name`, where `memory_pool` is one of SGLang's modules."""
    text = ast.unparse(node.value)
    module = modules.get(text)
    if module is None or _is_handled(place, _HANDLED_ATTRIBUTES):
        return
    if not _is_missing(asked, module, node.attr) or _set_on(asked.module, node):
        return
    home = _home(asked.view.catalogue, node.attr)
    for rule in asked.rules:
        yield found_at(
            asked,
            rule,
            node,
            place.statement,
            f"`{node.attr}` is not in `{module}`{_went(home)}",
            evidence=_evidence(asked, module, node.attr),
            raises=f"AttributeError: module '{module}' has no attribute '{node.attr}'",
            remedy=_remedy(asked, node.attr, home, rule.remedy),
            accessor=node.attr,
        )


def _set_on(module: Module, node: ast.Attribute) -> bool:
    return f".{node.attr} =" in module.source.text


def _modules_by_name(tree: ast.Module) -> dict[str, str]:
    """Names, and dotted names, that stand for modules of SGLang in the whole file."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("sglang."):
                    found[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names if node.module.startswith("sglang") else ():
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.pop(node.id, None)
    return found


def _is_missing(asked: Asked, module: str, name: str) -> bool:
    """Whether the release for certain lacks a name in a module."""
    catalogue = asked.view.catalogue
    names = catalogue.modules.get(module)
    if name == "*" or not catalogue.modules:
        return False
    own = asked.ctx.project.module(module)
    if own is not None and (name in own.bindings or own.star_imports):
        return False
    if names is not None:
        there = name in names or names == UNTOLD or f"{module}.{name}" in catalogue.modules
        return not there and not _is_package(catalogue, f"{module}.{name}")
    if module == WHOLE:
        # A package without names of its own: what is imported from it are modules.
        inner = f"{WHOLE}.{name}"
        gone = inner not in catalogue.modules and not _is_package(catalogue, inner)
        return gone and _was_there(inner)
    if not module.startswith(f"{WHOLE}."):
        return False
    return not _is_package(catalogue, module) and _was_there(module)


def _is_package(catalogue: Catalogue, name: str) -> bool:
    return any(module.startswith(f"{name}.") for module in catalogue.modules)


def _was_there(module: str) -> bool:
    """Whether another release has the module: one that none has may be a compiled one."""
    return any(module in load_embedded(version).modules for version in embedded_versions())


def _home(catalogue: Catalogue, name: str) -> str | None:
    """The module that defines the name in this release, where just one does."""
    homes = {own.module for own in catalogue.classes.values() if own.name == name}
    homes |= {
        qualname.rpartition(".")[0]
        for qualname in catalogue.functions
        if qualname.rpartition(".")[2] == name
    }
    return homes.pop() if len(homes) == 1 else None


def _went(home: str | None) -> str:
    return f": it is in `{home}` now" if home is not None else ""


def _remedy(asked: Asked, name: str, home: str | None, remedy: str) -> str:
    if home is not None:
        return f"Import it from `{home}`."
    offered = [own.name for own in asked.view.catalogue.classes.values()]
    close = difflib.get_close_matches(name, offered, 1, 0.8)
    return f"Did you mean `{close[0]}`? {remedy}" if close else remedy


def _evidence(asked: Asked, module: str, name: str) -> Sequence[Evidence]:
    having = [
        version
        for version in embedded_versions()
        if name in load_embedded(version).modules.get(module, ())
    ]
    if not having:
        return (Evidence(f"`{module}` of this release binds no such name"),)
    return (Evidence(f"SGLang {having[-1]} has it there, this release has not"),)


def _fix(module: Module, node: ast.ImportFrom, home: str) -> Fix | None:
    """The new path in the place of the old one."""
    source = module.source
    start = source.offset(node.lineno, node.col_offset)
    old = node.module or ""
    at = source.text.find(old, start)
    head = source.text[start:at]
    if at < 0 or head.split() != ["from"]:
        return None
    return make_fix(source, f"Import from {home}", [Change(at, at + len(old), home)])


def _is_handled(place: Place, exceptions: frozenset[str]) -> bool:
    return any(_handles(one, exceptions) for one in place.around)


def _handles(node: ast.AST, exceptions: frozenset[str]) -> bool:
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            if any(kind is None or last_name(kind) in exceptions for kind in kinds):
                return True
    if isinstance(node, (ast.With, ast.AsyncWith)):
        names = {ast.unparse(item.context_expr).partition("(")[0] for item in node.items}
        return any(name.endswith(("suppress", "raises", "assertRaises")) for name in names)
    if isinstance(node, (ast.If, ast.IfExp)):
        return any(word in ast.unparse(node.test) for word in _PROBES)
    return False


def _places(tree: ast.Module) -> Iterator[Place]:
    """Every import and attribute, with the statements around it, innermost last."""
    waiting: list[tuple[ast.AST, ast.stmt | None, tuple[ast.AST, ...]]] = [(tree, None, ())]
    while waiting:
        node, statement, around = waiting.pop()
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Attribute)) and statement is not None:
            yield Place(node, statement, around)
        if isinstance(node, (ast.Try, ast.If, ast.IfExp, ast.With, ast.AsyncWith)):
            around = (*around, node)
        before: tuple[ast.AST, ...] = ()
        for child in ast.iter_child_nodes(node):
            waiting.append((child, statement, (*around, *before)))
            if isinstance(child, ast.Try) and not isinstance(node, ast.Module):
                # `try: import new; return` and behind it the old place: what it falls back to.
                before = (*before, child)
