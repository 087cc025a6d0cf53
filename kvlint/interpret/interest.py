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
from kvlint.interpret.slicing import FunctionNode, bindings_in, is_plain
from kvlint.source.index import Assigned, Module
from kvlint.source.text import SourceFile

ROOT = "KVCache"
HANDING_ON = frozenset(
    "append add cast copy deepcopy deque dict enumerate extend field filter frozenset getattr "
    "insert iter list map max min next nullcontext partial proxy ref replace reversed set sorted "
    "super tuple update zip".split()
)


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


def speaks(words: Vocabulary, source: SourceFile) -> bool:
    """Whether a text names a word of the vocabulary at all."""
    text = source.text
    if not any(word in text for word in (*words.words, *words.probes, *words.owned)):
        return False
    return bool(_spoken(words, source)) or any(probe in text for probe in words.probes)


def _spoken(words: Vocabulary, source: SourceFile) -> set[str]:
    """The words of the vocabulary that a text names, owned ones beside the name of their owner."""
    found = set(words.words & source.words)
    for owner, names in words.owned.items():
        if owner in source.words:
            found |= names & source.words
    return found


@dataclass(frozen=True)
class Interest:
    """What of a module can matter: the lines that name a word, sorted, and the words: those of the
    vocabulary and the attributes, functions and globals that they lead to."""

    lines: list[int]
    words: frozenset[str]


def interest(words: Vocabulary, module: Module) -> Interest:
    """Follow the vocabulary's words through a module until they lead to nothing new."""
    text = module.source.text
    known = _spoken(words, module.source)
    lines = {n for probe in words.probes if probe in text for n in _lines(module, probe)}
    if known:
        known |= _renamed(module, known)
    functions = list(_functions(module.tree.body))
    asked: dict[FunctionNode, Given] = {}
    top = list(_globals(module)) if known else []
    new = known
    while new:
        lines |= {n for word in sorted(new) for n in _lines(module, word)}
        ordered = sorted(lines)
        for function in functions:
            if function not in asked and touches(ordered, function):
                asked[function] = _given(function)
        found = {name for each in asked.values() for name in each.bearing(known)}
        found |= {name for name, used in top if used & known}
        new = (found & module.source.words) - known
        known = known | new
    return Interest(sorted(lines), frozenset(known))


def _lines(module: Module, word: str) -> Iterator[int]:
    """Lines that hold the word, or a longer one: a line too many costs time, never a finding."""
    text, starts = module.source.text, module.source.line_starts
    at = text.find(word)
    while at >= 0:
        line = bisect_left(starts, at + 1)
        yield line
        at = text.find(word, starts[line] if line < len(starts) else len(text))


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


@dataclass(frozen=True)
class Given:
    """The words behind what a function binds: locals, attributes of self, and its own result."""

    local: tuple[tuple[str, frozenset[str]], ...]
    attributes: tuple[tuple[str, frozenset[str]], ...]
    name: str
    result: frozenset[str]

    def bearing(self, known: Set[str]) -> Iterator[str]:
        """Attributes of self, and the function itself, that known words lead to."""
        local = set(known)
        size = -1
        while size != len(local):
            size = len(local)
            local |= {name for name, used in self.local if name not in local and used & local}
        for attribute, used in self.attributes:
            if used & local:
                yield attribute
        if self.result & local:
            yield self.name


def _given(function: FunctionNode) -> Given:
    bindings = bindings_in(function)
    arguments = function.args
    local = [
        (argument.arg, frozenset(words_in(argument.annotation)))
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if argument.annotation is not None
    ]
    local += [(name, _words(values)) for name, values in bindings.names.items()]
    attributes = [(name, _words(values)) for name, values in bindings.stores.items()]
    for name, annotated in bindings.annotated.items():
        attributes.append((name, frozenset(words_in(annotated.annotation))))
    if function.returns is not None:
        result = frozenset(words_in(function.returns))
    else:
        result = _words(bindings.returned)
    return Given(tuple(local), tuple(attributes), function.name, result)


def _words(values: Iterable[ast.expr]) -> frozenset[str]:
    return frozenset(word for value in values for word in bearing_words(value))


def _globals(module: Module) -> Iterator[tuple[str, frozenset[str]]]:
    for name, bindings in module.bindings.items():
        for binding in bindings:
            if isinstance(binding, Assigned):
                parts = [part for part in (binding.value, binding.annotation) if part is not None]
                yield name, frozenset(word for part in parts for word in words_in(part))
            elif isinstance(binding, ast.ClassDef):
                yield name, frozenset(word for base in binding.bases for word in words_in(base))
                yield from _class_level(binding)


def _class_level(node: ast.ClassDef) -> Iterator[tuple[str, frozenset[str]]]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, frozenset(words_in(statement.annotation))
        elif isinstance(statement, ast.Assign):
            used = frozenset(words_in(statement.value))
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, used


def bearing_words(node: ast.expr) -> Iterator[str]:
    """Words that can give an expression its value: of a call those of the function, and of its
    arguments where the function hands one of them on."""
    if is_plain(node):
        return
    if isinstance(node, ast.Call):
        yield from words_in(node.func)
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else (node.func.id if isinstance(node.func, ast.Name) else "")
        )
        if name in HANDING_ON:
            for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from words_in(argument)
    elif isinstance(node, ast.Subscript):
        yield from bearing_words(node.value)
    else:
        yield from words_in(node)


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
