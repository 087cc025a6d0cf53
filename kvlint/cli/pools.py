"""`kvlint pools`: the tables and texts for people, and the same as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Literal

from kvlint.catalogue.choose import CatalogueError, Choice, choose
from kvlint.catalogue.embed import embedded_versions
from kvlint.catalogue.resolve import View
from kvlint.catalogue.tables import (
    MATRIX_ACCESSORS,
    SCHEMA,
    Change,
    abstract_pools,
    class_json,
    close_names,
    difference,
    find_class,
    matrix,
    methods_of,
    signature,
)
from kvlint.output.style import on_one_line
from kvlint.project.settings import SettingsFinder

_CELLS = {"works": "yes", "guard": "GUARD", "conditional": "partly", "absent": "-"}
_LEGEND = "yes: works   GUARD: only raises   partly: raises for some arguments   -: no such method"
_HEADINGS = {"class": "Classes", "guard": "Guards", "method": "Methods", "parameters": "Parameters"}
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_WIDTH = 100


def show_pools(
    name: str | None,
    sglang: str | None,
    diff: tuple[str, str] | None,
    output_format: Literal["text", "json"] = "text",
) -> int:
    """Print the matrix, one class, or what changed. The exit code: 0, or 2 for a class or release
    that is not known."""
    try:
        if diff is not None:
            old, new = map(_exactly, diff)
            return _show_difference(old, new, output_format)
        choice = _choice(sglang)
    except CatalogueError as error:
        print(f"kvlint: error: {on_one_line(str(error))}", file=sys.stderr)
        return 2
    view = View(choice.catalogue)
    if name is None:
        return _show_matrix(view, choice, output_format)
    own = find_class(view, name)
    if own is None:
        near = close_names(view, name)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        version = choice.catalogue.version
        print(f"kvlint: error: SGLang {version} has no pool class {name}{hint}", file=sys.stderr)
        return 2
    return _show_class(view, own.qualname, choice, output_format)


def _exactly(wanted: str) -> Choice:
    """The very release that is named: a neighbour of it differs from others in other ways.

    Raises CatalogueError.
    """
    found = choose(wanted, None, [], None)
    if not found.exact:
        known = ", ".join(embedded_versions())
        raise CatalogueError(f"SGLang {wanted} is not known; known: {known}")
    return found


def _choice(sglang: str | None) -> Choice:
    """The release asked for, else as a check of the working folder would choose it.

    Raises CatalogueError and SettingsError.
    """
    settings = SettingsFinder().at(Path.cwd())
    try:
        return choose(sglang, settings.sglang, [], settings.root)
    except CatalogueError as error:
        if sglang is None and settings.sglang is not None:
            raise CatalogueError(f"{settings.place('sglang')}: {error}") from error
        raise


def _show_matrix(view: View, choice: Choice, output_format: str) -> int:
    if output_format == "json":
        classes = [class_json(view, qualname) for qualname in view.pools()]
        _print_json({"reason": choice.reason, "classes": classes}, choice.catalogue.version)
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    table.add_column("class", no_wrap=True, vertical="bottom")
    for accessor in MATRIX_ACCESSORS:
        table.add_column(_heading(accessor), no_wrap=True)
    rows = matrix(view)
    for row in rows:
        cells = (f"[red]{_CELLS[c]}[/]" if c == "guard" else _CELLS[c] for c in row.cells)
        table.add_row(row.name, *cells)
    console = Console(highlight=False, width=_width())
    print(f"{on_one_line(choice.reason)}: {len(rows)} concrete pool classes\n")
    console.print(table)
    print(_wrap(f"\n{_LEGEND}", 0))
    print(_wrap(f"abstract: {', '.join(abstract_pools(view))}", 10))
    print(_wrap(f"columns:  {', '.join(MATRIX_ACCESSORS)}", 10))
    return 0


def _heading(accessor: str) -> str:
    """Two short words, one above the other: `get` over `key`."""
    words = accessor.removesuffix("_buffer").removesuffix("_copy").removesuffix("_cache")
    if words == "get_contiguous_buf_infos":
        return "buf\ninfos"
    first, _, second = words.partition("_")
    return f"{first}\n{second}"


def _show_class(view: View, qualname: str, choice: Choice, output_format: str) -> int:
    facts = class_json(view, qualname)
    if output_format == "json":
        _print_json({"reason": choice.reason, "class": facts}, choice.catalogue.version)
        return 0
    kind = "" if facts["concrete"] else ", abstract"
    family = f", {facts['family']}" if facts["family"] else ""
    print(f"{facts['name']} ({on_one_line(choice.reason)}){kind}{family}")
    print(f"  {qualname}, {facts['path']}:{facts['line']}")
    print(f"  MRO: {_wrap(' > '.join(_short(base) for base in view.mro(qualname)), 7)}")
    _print_methods(view, qualname)
    sub_pools = view.sub_pools(qualname)
    if sub_pools:
        print("\nSub-pools")
        for name, held in sub_pools.items():
            print(f"  {name}: {_wrap(', '.join(_short(one) for one in held), 4)}")
    parents = sorted(view.parents_of(qualname))
    if parents:
        print("\nParents")
        for parent, attribute in parents:
            print(f"  {_short(parent)}.{attribute}")
    return 0


def _print_methods(view: View, qualname: str) -> None:
    names = methods_of(view, qualname)
    found = {name: view.accessor(qualname, name) for name in names}
    guards = [name for name in names if found[name].kind == "guard"]
    if guards:
        print("\nGuards")
    for name in guards:
        one = found[name]
        text = f": {one.message}" if one.message else ""
        print(_wrap(f"  {name} raises {one.exception or 'an exception'}{text}", 6))
        print(f"      by {_from(one.guarded_by)}")
    print("\nMethods and properties")
    for name in names:
        one = found[name]
        if one.kind == "guard":
            continue
        shown = name if one.is_property else f"{name}{signature(one.parameters)}"
        note = "  partly raises" if one.kind == "conditional" else ""
        own = one.defining_class == qualname
        source = "" if own else f"  from {_short(one.defining_class or '')}"
        print(_wrap(f"  {shown}{source}{note}", 6))


def _from(guarded_by: str | None) -> str:
    """`Class.method` of a qualified method."""
    return ".".join((guarded_by or "").rsplit(".", 2)[-2:])


def _short(qualname: str) -> str:
    return qualname.rpartition(".")[2]


def _width() -> int:
    """The terminal's width up to 100 columns; 100 where the output is piped."""
    return min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH


def _wrap(text: str, indent: int) -> str:
    lines = textwrap.wrap(
        text,
        _width(),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )
    return "\n".join(lines) if lines else text


def _show_difference(old: Choice, new: Choice, output_format: str) -> int:
    changes = difference(View(old.catalogue), View(new.catalogue))
    versions = {"old": old.catalogue.version, "new": new.catalogue.version}
    if output_format == "json":
        listed = [
            {"what": one.what, "how": one.how, "name": one.name, "detail": one.detail}
            for one in changes
        ]
        _print_json({**versions, "changes": listed}, new.catalogue.version)
        return 0
    print(f"SGLang {versions['old']} -> {versions['new']}: pools")
    for what, heading in _HEADINGS.items():
        group = [change for change in changes if change.what == what]
        if group:
            print(f"\n{heading}: {_counted(group)}")
        for change in group:
            sep = "" if change.detail.startswith("(") or not change.detail else ": "
            print(_wrap(f"  {_SIGNS[change.how]} {change.name}{sep}{change.detail}", 6))
    if not changes:
        print("no difference")
    return 0


def _counted(changes: list[Change]) -> str:
    counts = {how: sum(one.how == how for one in changes) for how in _SIGNS}
    return ", ".join(f"{count} {how}" for how, count in counts.items() if count)


def _print_json(document: dict[str, object], version: str) -> None:
    print(json.dumps({"schema": SCHEMA, "sglang": version, **document}, indent=2))
