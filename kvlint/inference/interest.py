"""Which functions of SGLang's own modules can use a pool of which anything is certain.

SGLang has some two million lines, and nearly all of its uses of pools are of "any pool", about
which no rule speaks. A function can only matter if it names a pool class, a sub-pool, or something
that holds one of a known class. That is read off the words of its text before anything is inferred.
Modules of other projects are always walked as a whole.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from kvlint.catalogue.resolve import View
from kvlint.inference.slicing import FunctionNode, bindings_in
from kvlint.source.index import Assigned, Module

ROOT = "KVCache"


@dataclass(frozen=True)
class Vocabulary:
    """Words that lead to pools of known classes in one catalogue.

    `words` do everywhere. `owned` do in a module that names the class that owns them. `probes` are
    accessors as a `hasattr` asks for them, in quotes.
    """

    words: frozenset[str]
    owned: dict[str, frozenset[str]]
    probes: tuple[str, ...]


def vocabulary(view: View) -> Vocabulary:
    """The words of a catalogue."""
    words = {
        cls.name for cls in view.catalogue.classes.values() if cls.name != ROOT and cls.is_pool
    }
    for qualname in view.pools():
        words |= {attribute.removesuffix("[]") for attribute in view.sub_pools(qualname)}
    owned: dict[str, set[str]] = {}
    for holder in view.catalogue.holders:
        if any(not cls.endswith(f".{ROOT}") for cls in holder.classes):
            if holder.form == "function":
                words.add(holder.name)
            else:
                owned.setdefault(holder.owner.rpartition(".")[2], set()).add(holder.name)
    probes = [f"{quote}{name}{quote}" for name in sorted(_guarded(view)) for quote in "\"'"]
    return Vocabulary(
        frozenset(words),
        {owner: frozenset(names) for owner, names in owned.items()},
        tuple(probes),
    )


def _guarded(view: View) -> frozenset[str]:
    return frozenset(
        name
        for qualname in view.pools()
        for name, method in view.catalogue.classes[qualname].methods.items()
        if method.kind in ("guard", "abstract")
    )


def speaks(words: Vocabulary, text: str) -> bool:
    """Whether a text names a word of the vocabulary at all."""
    spoken = set(re.findall(r"\w+", text))
    if not words.words.isdisjoint(spoken) or any(probe in text for probe in words.probes):
        return True
    return any(owner in spoken and names & spoken for owner, names in words.owned.items())


def lines_of_interest(words: Vocabulary, module: Module) -> list[int]:
    """The lines that name a word of the vocabulary, or a name of the module that such words lead
    to: an attribute, a function or a global. Sorted."""
    text = module.source.text
    spoken = set(re.findall(r"\w+", text))
    known = set(words.words & spoken)
    for owner, names in words.owned.items():
        if owner in spoken:
            known |= names & spoken
    lines: set[int] = set()
    for probe in words.probes:
        if probe in text:
            lines |= set(_lines(module, re.escape(probe)))
    if known:
        known |= _renamed(module, known)
    functions = list(_functions(module.tree.body))
    asked: set[FunctionNode] = set()
    new = known
    while new:
        lines |= {n for word in sorted(new) for n in _lines(module, rf"\b{word}\b")}
        ordered = sorted(lines)
        reached = [f for f in functions if f not in asked and touches(ordered, f)]
        asked |= set(reached)
        found = {name for f in asked for name in _given(f, known)} | set(_globals(module, known))
        new = (found & spoken) - known
        known = known | new
    return sorted(lines)


def _lines(module: Module, pattern: str) -> Iterator[int]:
    starts = module.source.line_starts
    for match in re.finditer(pattern, module.source.text):
        yield bisect_left(starts, match.start() + 1)


def touches(lines: list[int], node: ast.AST) -> bool:
    """Whether one of the sorted lines lies within a node."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
    position = bisect_left(lines, first)
    return position < len(lines) and lines[position] <= last


def _functions(body: Iterable[ast.stmt]) -> Iterator[FunctionNode]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body)
        elif isinstance(statement, (ast.If, ast.Try)):
            yield from _functions(statement.body)
            yield from _functions(statement.orelse)


def _given(function: FunctionNode, known: Set[str]) -> Iterator[str]:
    """Attributes of self, and the function itself, that words lead to in a function."""
    bindings = bindings_in(function)
    local = set(known)
    arguments = function.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if argument.annotation is not None and local & set(words_in(argument.annotation)):
            local.add(argument.arg)
    changed = True
    while changed:
        changed = False
        for name, values in bindings.names.items():
            if name not in local and any(local & set(words_in(value)) for value in values):
                local.add(name)
                changed = True
    for attribute, values in bindings.stores.items():
        if any(local & set(words_in(value)) for value in values):
            yield attribute
    for attribute, annotated in bindings.annotated.items():
        if local & set(words_in(annotated.annotation)):
            yield attribute
    results = [function.returns] if function.returns is not None else bindings.returned
    if any(local & set(words_in(result)) for result in results):
        yield function.name


def _globals(module: Module, known: Set[str]) -> Iterator[str]:
    for name, bindings in module.bindings.items():
        for binding in bindings:
            if isinstance(binding, Assigned):
                for part in (binding.value, binding.annotation):
                    if part is not None and known & set(words_in(part)):
                        yield name
            elif isinstance(binding, ast.ClassDef):
                if any(known & set(words_in(base)) for base in binding.bases):
                    yield name
                yield from _class_level(binding, known)


def _class_level(node: ast.ClassDef, known: Set[str]) -> Iterator[str]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if known & set(words_in(statement.annotation)):
                yield statement.target.id
        elif isinstance(statement, ast.Assign) and known & set(words_in(statement.value)):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id


def _renamed(module: Module, known: Set[str]) -> set[str]:
    """Names bound by imports under another name than the word's own."""
    found = set()
    for name, bindings in module.bindings.items():
        for binding in bindings:
            if getattr(binding, "name", None) in known:
                found.add(name)
    return found


def words_in(node: ast.AST) -> Iterator[str]:
    """Names, attributes and quoted words of an expression."""
    stack: list[object] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, list):
            stack.extend(current)
        elif isinstance(current, ast.Name):
            yield current.id
        elif isinstance(current, ast.Constant):
            if isinstance(current.value, str) and len(current.value) < 200:
                yield from re.findall(r"\w+", current.value)
        elif isinstance(current, ast.AST):
            if isinstance(current, ast.Attribute):
                yield current.attr
            stack.extend(getattr(current, name, None) for name in current._fields)
