"""What `kvlint pools` shows, as plain data: the matrix, one class, the difference of releases."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from kvlint.catalogue.families import family_of
from kvlint.catalogue.model import Method, Parameter, PoolClass
from kvlint.catalogue.resolve import ResolvedAccessor, View

SCHEMA = 1
MATRIX_ACCESSORS = (
    "get_key_buffer",
    "get_value_buffer",
    "get_kv_buffer",
    "set_kv_buffer",
    "move_kv_cache",
    "get_cpu_copy",
    "load_cpu_copy",
    "get_contiguous_buf_infos",
)
"""The accessors of the table: what backends, HiCache and disaggregation ask every pool for."""


@dataclass(frozen=True, slots=True)
class Row:
    """One concrete pool class of the matrix: accessor -> kind."""

    name: str
    cells: tuple[str, ...]


def matrix(view: View) -> list[Row]:
    """The concrete pool classes by name, with the kinds of MATRIX_ACCESSORS."""
    rows = [
        Row(
            view.catalogue.classes[qualname].name,
            tuple(view.accessor(qualname, name).kind for name in MATRIX_ACCESSORS),
        )
        for qualname in view.pools()
        if view.concrete(qualname)
    ]
    return sorted(rows, key=lambda row: row.name)


def abstract_pools(view: View) -> list[str]:
    names = (name for name in view.pools() if not view.concrete(name))
    return sorted(view.catalogue.classes[name].name for name in names)


def find_class(view: View, text: str) -> PoolClass | None:
    """The class of that short or qualified name."""
    own = view.catalogue.classes.get(text)
    if own is not None:
        return own
    matches = [own for own in view.catalogue.classes.values() if own.name == text]
    return matches[0] if matches else None


def close_names(view: View, text: str) -> list[str]:
    """Names of classes that a misspelt one may mean, nearest first."""
    names = {own.name.lower(): own.name for own in view.catalogue.classes.values()}
    near = difflib.get_close_matches(text.lower(), names, n=3, cutoff=0.5)
    return [names[name] for name in near]


def methods_of(view: View, qualname: str) -> list[str]:
    """Public methods and properties along the MRO, accessors of KV first."""
    accessors = view.accessor_names()
    names = {
        name for own in view.known_mro(qualname) for name in own.methods if not name.startswith("_")
    }
    return sorted(names, key=lambda name: (name not in accessors, name))


def signature(parameters: tuple[Parameter, ...]) -> str:
    """The parameters as they are written, without annotations; a default is shown as `=...`."""
    parts: list[str] = []
    starred = False
    for parameter in parameters:
        if parameter.kind == "keyword-only" and not starred:
            parts.append("*")
            starred = True
        prefix = {"var-positional": "*", "var-keyword": "**"}.get(parameter.kind, "")
        starred = starred or parameter.kind == "var-positional"
        parts.append(f"{prefix}{parameter.name}{'=...' if parameter.has_default else ''}")
    return f"({', '.join(parts)})"


def class_json(view: View, qualname: str) -> dict[str, object]:
    """Everything that is known about one class."""
    own = view.catalogue.classes[qualname]
    return {
        "name": own.name,
        "qualname": qualname,
        "path": own.path,
        "line": own.line,
        "concrete": view.concrete(qualname),
        "family": family_of(view, qualname),
        "mro": list(view.mro(qualname)),
        "accessors": {
            name: _accessor_json(view.accessor(qualname, name))
            for name in methods_of(view, qualname)
        },
        "sub_pools": {name: list(held) for name, held in view.sub_pools(qualname).items()},
        "parents": [
            {"class": parent, "attribute": name}
            for parent, name in sorted(view.parents_of(qualname))
        ],
    }


def _accessor_json(found: ResolvedAccessor) -> dict[str, object]:
    return {
        "kind": found.kind,
        "defining_class": found.defining_class,
        "exception": found.exception,
        "message": found.message,
        "has_message": found.has_message,
        "guarded_by": found.guarded_by,
        "property": found.is_property,
        "parameters": [
            {"name": one.name, "kind": one.kind, "has_default": one.has_default}
            for one in found.parameters
        ],
    }


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two releases. `what`: "class", "guard", "method", "parameters" or
    "attribute"; `how`: "added", "removed" or "changed"."""

    what: str
    how: str
    name: str
    detail: str = ""


def difference(old: View, new: View) -> list[Change]:
    """What a person reads before an upgrade: classes, guards, methods and parameters."""
    before = {own.qualname: own for own in old.catalogue.classes.values() if own.is_pool}
    after = {own.qualname: own for own in new.catalogue.classes.values() if own.is_pool}
    return [
        *_class_changes(before, after),
        *_guard_changes(old, new, sorted(before.keys() & after.keys())),
        *_method_changes(before, after),
    ]


def _class_changes(before: dict[str, PoolClass], after: dict[str, PoolClass]) -> Iterator[Change]:
    for qualname in sorted(after.keys() - before.keys()):
        bases = ", ".join(base.rpartition(".")[2] for base in after[qualname].bases)
        yield Change("class", "added", after[qualname].name, f"derived from {bases}")
    for qualname in sorted(before.keys() - after.keys()):
        moved = [other for other in after.values() if other.name == before[qualname].name]
        detail = f"now in {moved[0].module}" if moved else ""
        yield Change("class", "removed", before[qualname].name, detail)


def _guard_changes(old: View, new: View, common: list[str]) -> Iterator[Change]:
    """Guards that an instance of a class has now and had not, or the reverse; of classes that
    share a guard, the one that it comes from and those that had no such base before."""
    seen: set[tuple[str, str | None]] = set()
    for qualname in sorted(common, key=lambda name: (len(new.mro(name)), name)):
        short = new.catalogue.classes[qualname].name
        for name in sorted({*methods_of(old, qualname), *methods_of(new, qualname)}):
            was, now = old.accessor(qualname, name), new.accessor(qualname, name)
            if (was.kind == "guard") == (now.kind == "guard"):
                continue
            source = (now if now.kind == "guard" else was).guarded_by
            if (name, source) in seen:
                continue
            seen.add((name, source))
            yield Change("guard", _how(now), f"{short}.{name}", _guard_detail(was, now))


def _how(now: ResolvedAccessor) -> str:
    return "added" if now.kind == "guard" else "removed"


def _guard_detail(was: ResolvedAccessor, now: ResolvedAccessor) -> str:
    if now.kind == "guard":
        before = "was absent" if was.kind == "absent" else "worked"
        return f"raises {now.exception or 'an exception'}; {before}"
    return "absent now" if now.kind == "absent" else "works now"


def _method_changes(before: dict[str, PoolClass], after: dict[str, PoolClass]) -> Iterator[Change]:
    common = before.keys() & after.keys()
    for qualname in sorted(common, key=lambda name: after[name].name):
        was, now = _public(before[qualname]), _public(after[qualname])
        short = after[qualname].name
        for name in sorted(now.keys() - was.keys()):
            yield Change("method", "added", f"{short}.{name}", _shape(now[name]))
        for name in sorted(was.keys() - now.keys()):
            yield Change("method", "removed", f"{short}.{name}", _shape(was[name]))
        for name in sorted(was.keys() & now.keys()):
            old, new = was[name].parameters, now[name].parameters
            if _plain(old) != _plain(new):
                detail = _parameter_change(old, new)
                yield Change("parameters", "changed", f"{short}.{name}", detail)


def _public(own: PoolClass) -> dict[str, Method]:
    return {
        name: method
        for name, method in own.methods.items()
        if name == "__init__" or not name.startswith("_")
    }


def _shape(method: Method) -> str:
    return "a property" if method.is_property else signature(method.parameters)


def _plain(parameters: tuple[Parameter, ...]) -> list[tuple[str, str, bool]]:
    return [(one.name, one.kind, one.has_default) for one in parameters]


def _parameter_change(was: tuple[Parameter, ...], now: tuple[Parameter, ...]) -> str:
    old, new = {one.name: one for one in was}, {one.name: one for one in now}
    parts = [f"+{name}{'=...' if new[name].has_default else ''}" for name in new if name not in old]
    parts += [f"-{name}" for name in old if name not in new]
    common = [name for name in old if name in new]
    parts += [
        f"{name}: {_form(old[name])} -> {_form(new[name])}"
        for name in common
        if _form(old[name]) != _form(new[name])
    ]
    if common != [name for name in new if name in old]:
        parts.append("another order")
    return ", ".join(parts)


def _form(parameter: Parameter) -> str:
    return f"{parameter.kind}{', optional' if parameter.has_default else ', required'}"
