"""Holders: the attributes, properties, methods and functions by which code comes by a pool.

Read from annotations and assignments with line patterns, because the files that hold pools are
three hundred and parsing them would take seconds. A pattern that misses a holder makes kvlint
silent there, never wrong: what a holder gives is the class that SGLang's own annotation names, or
any pool at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kvlint.catalogue.model import Holder, HolderForm, PoolClass
from kvlint.catalogue.program import Module, Program

_ANNOTATED = re.compile(r"[ \t]+(?:self\.)?(\w+)[ \t]*:[ \t]*([^=#({]*[^=#,({]*)(?:=.*|#.*)?$")
_RETURNS = re.compile(r".*\)[ \t]*->[ \t]*([^:]*):[ \t]*(?:#.*)?$")
_PARAMETER = re.compile(r"(\w+)[ \t]*:[ \t]*([^,=():]+)")
_TAKEN_OVER = re.compile(
    r"[ \t]+self\.(\w+)[ \t]*=[ \t]*[\w.()]*"
    r"(?:\.token_to_kv_pool|\.get_kvcache\(\)|\._kvcache|\bget_token_to_kv_pool\(\))[ \t]*(?:#.*)?$"
)
_TAKEN_OVER_WORDS = (".token_to_kv_pool", ".get_kvcache()", "._kvcache", "get_token_to_kv_pool()")
_ASSIGNED = re.compile(r"[ \t]+self\.(\w+)[ \t]*=(?!=)[ \t]*(?!None\b)")
_RETURN_ATTRIBUTE = re.compile(r"[ \t]+return self\.(\w+)[ \t]*$")
_RETURN_OF_CALL = re.compile(r"^[ \t]+return (\w+)\(\)\.(\w+)[ \t]*$", re.M)
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_WRAPPERS = frozenset(("Optional", "Union", "typing", "None", "ClassVar", "Final"))
_ROUNDS = 2

Owners = dict[str, str]
Key = tuple[str, str, HolderForm]


def find_holders(program: Program, pools: dict[str, PoolClass]) -> tuple[Holder, ...]:
    """The holders of pools, then those of objects that hold pools (`model_runner: ModelRunner`,
    two steps at most), then what subclasses inherit."""
    names = {own.name: own.qualname for own in pools.values() if own.is_pool}
    found: dict[Key, Holder] = {}
    root = next(name for name in names.values() if name.endswith(".KVCache"))
    for module in program.modules.values():
        _keep_all(found, _holders_of(program, module, names), pools)
    for module in program.modules.values():
        _keep_all(found, _taken_over(module, root, found), pools)
    for module in program.modules.values():
        _widen(module, root, found)
        _keep_all(found, _returned(module, root, found), pools)
    _add_inherited(program, found)
    for _ in range(_ROUNDS):
        owners = {key[0].rpartition(".")[2]: key[0] for key in found if key[2] != "function"}
        for module in program.modules.values():
            on_the_way = (
                replace(holder, classes=(), value_class=holder.classes[0])
                for holder in _holders_of(program, module, owners)
                if len(holder.classes) == 1
            )
            _keep_all(found, on_the_way, pools)
    return tuple(found[key] for key in sorted(found))


def _keep_all(
    found: dict[Key, Holder], holders: Iterable[Holder], pools: dict[str, PoolClass]
) -> None:
    for holder in list(holders):
        if holder.owner not in pools:
            _keep(found, holder)


def _keep(found: dict[Key, Holder], holder: Holder) -> None:
    """The first word on a holder stands; one that names classes joins with another that does."""
    key = (holder.owner, holder.name, holder.form)
    known = found.get(key)
    if known is None:
        found[key] = holder
    elif known.classes and holder.classes:
        classes = tuple(sorted({*known.classes, *holder.classes}))
        found[key] = replace(known, classes=classes)


def _holders_of(program: Program, module: Module, names: Owners) -> Iterator[Holder]:
    """Holders whose annotation names one of the classes (`names`: short -> qualified)."""
    words = [name for name in names if name.lstrip("_") in module.capitalised]
    numbers = sorted({number for word in words for number in module.lines_with(word)})
    numbers = [number for number in numbers if ":" in module.lines[number]]
    if not numbers:
        return
    here = {word: names[word] for word in words if program.resolve(module, word) == names[word]}
    for number in numbers if here else ():
        line = module.lines[number]
        if match := _RETURNS.match(line):
            yield from _annotated_function(module, number, _classes_in(match[1], here))
        elif (match := _ANNOTATED.match(line)) and (classes := _classes_in(match[2], here)):
            owner = _attribute_owner(module, number)
            if owner is not None:
                yield Holder(owner, match[1], "attribute", classes)
        yield from _assigned_parameters(module, number, here)


def _classes_in(annotation: str, here: Owners) -> tuple[str, ...]:
    """The classes of `X`, `Optional[X]`, `X | None`; none where another type may be meant too."""
    words = [word.rpartition(".")[2] for word in _WORD.findall(annotation)]
    if any(word not in here and word not in _WRAPPERS for word in words):
        return ()
    return tuple(sorted({here[word] for word in words if word in here}))


def _attribute_owner(module: Module, number: int) -> str | None:
    """The class that gets the attribute which a line assigns: by `self.x` in one of its methods,
    or in its body."""
    line = module.lines[number]
    indent = len(line) - len(line.lstrip())
    if not line.lstrip().startswith("self."):
        return module.class_around(number, indent)
    start = module.definition_before(number)
    return None if start is None else _method_owner(module, start)


def _method_owner(module: Module, start: int) -> str | None:
    line = module.lines[start]
    return module.class_around(start, len(line) - len(line.lstrip()))


def _annotated_function(module: Module, number: int, classes: tuple[str, ...]) -> Iterator[Holder]:
    start = module.definition_before(number) if classes else None
    if start is None:
        return
    owner = _method_owner(module, start)
    name = _function_name(module, start)
    if owner is not None:
        form: HolderForm = "property" if _is_property(module, start) else "method"
        yield Holder(owner, name, form, classes)
    elif not module.lines[start][:1].isspace():
        yield Holder(module.name, name, "function", classes)
        yield from _returned_attribute(module, start, classes)


def _function_name(module: Module, start: int) -> str:
    return module.lines[start].partition("def ")[2].partition("(")[0].strip()


def _returned_attribute(module: Module, start: int, classes: tuple[str, ...]) -> Iterator[Holder]:
    """`def get() -> Pool: return other().attribute`, where `other` is annotated with a class of
    this module's imports: that class holds the attribute."""
    end = min(start + 12, len(module.lines))
    match = _RETURN_OF_CALL.search("\n".join(module.lines[start:end]))
    if match is None:
        return
    inner = re.search(rf"^def {match[1]}\(\)[ \t]*->[ \t]*(\w+):", module.text, re.M)
    if inner and inner[1] in module.imports:
        yield Holder(module.imports[inner[1]], match[2], "attribute", classes)


def _is_property(module: Module, start: int) -> bool:
    while start and module.lines[start - 1].lstrip().startswith("@"):
        start -= 1
        if "property" in module.lines[start]:
            return True
    return False


def _assigned_parameters(module: Module, number: int, here: Owners) -> Iterator[Holder]:
    """`self.x = x`, where the line annotates the parameter `x`."""
    for match in _PARAMETER.finditer(module.lines[number]):
        classes = _classes_in(match[2].strip(), here)
        start = module.definition_before(number) if classes else None
        owner = None if start is None else _method_owner(module, start)
        if start is None or owner is None or not module.in_header(start, number):
            continue
        assigned = re.compile(rf"[ \t]+self\.(\w+)[ \t]*=[ \t]*{match[1]}[ \t]*(?:#.*)?$")
        for line in module.body_at(start):
            if found := assigned.match(line):
                yield Holder(owner, found[1], "attribute", classes)


def _taken_over(module: Module, root: str, found: dict[Key, Holder]) -> Iterator[Holder]:
    """Attributes that take over what another holder gives: any pool."""
    for number in _lines_with_any(module, _TAKEN_OVER_WORDS):
        match = _TAKEN_OVER.match(module.lines[number])
        owner = _attribute_owner(module, number) if match else None
        if match and owner is not None and (owner, match[1], "attribute") not in found:
            yield Holder(owner, match[1], "attribute", (root,))


def _widen(module: Module, root: str, found: dict[Key, Holder]) -> None:
    """Where a class also assigns the attribute without saying of which class the value is, it may
    be any pool: an annotation on one branch says nothing about the other."""
    held = {key for key in found if key[0].startswith(f"{module.name}.") and key[2] == "attribute"}
    for name in sorted({key[1] for key in held}):
        for number in module.lines_with(f"self.{name}"):
            match = _ASSIGNED.match(module.lines[number])
            if match is None or match[1] != name:
                continue
            key = (_attribute_owner(module, number) or "", name, "attribute")
            if key in held and not _from_annotated(module, number):
                found[key] = replace(found[key], classes=(root,))


def _from_annotated(module: Module, number: int) -> bool:
    """Whether the line assigns an annotated parameter: its class has been counted."""
    value = module.lines[number].partition("=")[2].split("#")[0].strip()
    start = module.definition_before(number)
    if start is None or not value.isidentifier():
        return False
    return re.search(rf"\b{value}[ \t]*:", module.header_at(start)) is not None


def _returned(module: Module, root: str, found: dict[Key, Holder]) -> Iterator[Holder]:
    """Methods and properties that return an attribute which holds a pool."""
    held = {key[1] for key in found if key[0].startswith(f"{module.name}.")}
    for number in _lines_with_any(module, (*(f"return self.{name}" for name in held),)):
        match = _RETURN_ATTRIBUTE.match(module.lines[number])
        start = module.definition_before(number) if match else None
        owner = None if start is None else _method_owner(module, start)
        known = match and found.get((owner or "", match[1], "attribute"))
        if start is None or not known:
            continue
        form: HolderForm = "property" if _is_property(module, start) else "method"
        name = _function_name(module, start)
        if (owner, name, form) not in found:
            yield Holder(owner or "", name, form, known.classes)


def _lines_with_any(module: Module, words: tuple[str, ...]) -> list[int]:
    return sorted({number for word in words for number in module.lines_with(word)})


def _add_inherited(program: Program, found: dict[Key, Holder]) -> None:
    """What a class holds its subclasses hold, unless they say otherwise."""
    queue = sorted({owner for owner, _, form in found if form != "function"})
    seen: set[str] = set()
    while queue:
        owner = queue.pop(0)
        own = [holder for holder in found.values() if holder.owner == owner]
        for name, home in program.bases.get(owner.rpartition(".")[2], ()):
            module = program.modules[home]
            child = f"{home}.{name}"
            if child == owner or program.resolve(module, owner.rpartition(".")[2]) != owner:
                continue
            for holder in own:
                if not any(k[0] == child and k[1] == holder.name for k in found):
                    _keep(found, replace(holder, owner=child))
            if child not in seen:
                seen.add(child)
                queue.append(child)
