"""Classes beside the pools that hand KV about: allocators, host pools, storage backends, the maps
from requests to tokens, attention backends; and the attributes of what holds pools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

from kvlint.catalogue.class_facts import own_facts
from kvlint.catalogue.model import Catalogue, Family, PoolClass
from kvlint.catalogue.pool_classes import (
    Known,
    classes_in,
    derived_from,
    modules_leading_to,
    with_bases,
)
from kvlint.catalogue.program import Program
from kvlint.catalogue.resolve import View
from kvlint.catalogue.signatures import without_annotations
from kvlint.source.reading import read_text

ROOTS: tuple[tuple[str, Family], ...] = (
    ("BaseTokenToKVPoolAllocator", "allocator"),
    ("HostKVCache", "host"),
    ("HiCacheStorage", "storage"),
    ("ReqToTokenPool", "requests"),
    ("MambaPool", "requests"),
    ("AttentionBackend", "backend"),
    ("KVWriteLoc", "value"),
)
HOLDERS: tuple[tuple[str, str], ...] = (
    ("ForwardBatch", r"(?:\b\w*batch|\bret)"),
    ("ScheduleBatch", r"\b\w*batch"),
    ("ModelRunner", r"\b\w*runner"),
    ("Scheduler", r"\b\w*scheduler"),
    ("TpModelWorker", r"\b\w*worker"),
)
"""Classes that hold pools among much else, and how variables that hold them are called: what the
release assigns on such a variable is an attribute as well."""
_SRT = "sglang.srt."


def contract_classes(
    program: Program, pools: Mapping[str, PoolClass], package: Path
) -> dict[str, PoolClass]:
    """The facts of the classes of every other family, and of the bases they are made of."""
    found: dict[str, PoolClass] = {}
    for root, family in ROOTS:
        known = _known(program, root)
        members = derived_from(known, {name for name in known if _is(name, root)})
        for qualname in sorted(with_bases(program, members, known)):
            if qualname in pools or (qualname in found and qualname not in members):
                continue
            node, module, bases = known[qualname]
            own = own_facts(node, qualname, bases, path=module.path, is_pool=False)
            family_of = family if qualname in members else None
            found[qualname] = replace(without_private(own), family=family_of)
    texts = [_text(path) for path in sorted((package / "srt").rglob("*.py"))]
    for name, variables in HOLDERS:
        found.update(_holder(program, name, pools, _assigned_outside(texts, variables)))
    return found


def without_private(own: PoolClass) -> PoolClass:
    """The class without its private methods, whose names and whose attributes count as there:
    others call what is public, and a release is read from its file at every start."""
    private = {name for name in own.methods if name.startswith("_") and not name.endswith("__")}
    names = dict.fromkeys(own.class_attributes)
    for name in sorted(private):
        method = own.methods[name]
        names.update(dict.fromkeys((name, *method.assigns, *method.maybe_assigns)))
    methods = {
        name: replace(method, parameters=without_annotations(method.parameters), returns=None)
        for name, method in own.methods.items()
        if name not in private
    }
    return replace(own, methods=methods, class_attributes=tuple(names))


def _known(program: Program, root: str) -> Known:
    modules = modules_leading_to(program, root, _SRT)
    return classes_in(program, [one for one in modules if one.name.startswith(_SRT)])


def _is(qualname: str, name: str) -> bool:
    return qualname.rpartition(".")[2] == name and qualname.startswith(_SRT)


def _holder(
    program: Program, name: str, pools: Mapping[str, PoolClass], outside: Set[str]
) -> dict[str, PoolClass]:
    """One flat class with all that an instance has: its methods, what any of them assigns, and
    what is assigned from outside. None where a base is not understood."""
    known = _known(program, name)
    roots = {qualname for qualname in known if _is(qualname, name)}
    found: dict[str, PoolClass] = {}
    for qualname in sorted(roots):
        own = {
            base: own_facts(node, base, bases)
            for base in with_bases(program, {qualname}, known)
            for node, _, bases in [known[base]]
        }
        view = View(Catalogue("", own))
        if not view.is_certain(qualname) or qualname in pools:
            continue
        names = set(outside)
        for part in view.known_mro(qualname):
            names |= {*part.methods, *part.class_attributes, *part.declared_attributes}
            for method in part.methods.values():
                names |= {*method.assigns, *method.maybe_assigns}
        node, module, _ = known[qualname]
        found[qualname] = PoolClass(
            qualname,
            (),
            class_attributes=tuple(sorted(names)),
            is_pool=False,
            family="holder",
            path=module.path,
            line=node.lineno,
        )
    return found


def _text(path: Path) -> str:
    try:
        return read_text(path, "replace")
    except OSError:
        return ""


def _assigned_outside(texts: Sequence[str], variables: str) -> set[str]:
    """Attributes that a module of the release assigns on such a variable, and that one reads: what
    is only ever stored nobody can count on."""
    assigned = re.compile(rf"{variables}\.(\w+)(?:[ \t]*:[^=\n]+)?[ \t]*=(?!=)")
    by_name = re.compile(rf"setattr\([ \t\n]*{variables},[ \t\n]*[\"'](\w+)")
    read = re.compile(rf"{variables}\.(\w+)\b(?![ \t]*(?::[^=\n]+)?=(?!=))")
    asked = re.compile(rf"(?:getattr|hasattr)\([ \t\n]*(?:\w+\.)*{variables},[ \t\n]*[\"'](\w+)")
    stored = {name for text in texts for one in (assigned, by_name) for name in one.findall(text)}
    used = {name for text in texts for one in (read, asked) for name in one.findall(text)}
    return stored & used
