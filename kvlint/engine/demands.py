"""`python -m kvlint.engine.demands TREE...`: read the demands of SGLang releases and embed them."""

from __future__ import annotations

import argparse
import ast
import gc
from collections.abc import Iterator
from pathlib import Path

from kvlint.catalogue.binding import shape_of
from kvlint.catalogue.demands import FOLDER, Demand, dump
from kvlint.catalogue.embed import load_embedded
from kvlint.catalogue.model import Family
from kvlint.catalogue.tree import is_test_file, package_folder, tree_version
from kvlint.engine.analysis import Request, make_context, recorded
from kvlint.interpret.classes import is_contract_class
from kvlint.interpret.context import Context
from kvlint.interpret.pool_sets import pool_set
from kvlint.interpret.uses import Use
from kvlint.interpret.values import ClassObject, Instance, without_none
from kvlint.source.index import Module, ParseError
from kvlint.source.reading import read_text
from kvlint.source.text import SourceError

NAMED: tuple[tuple[str, Family], ...] = (
    ("allocator", "allocator"),
    ("mem_pool_host", "host"),
    ("host_pool", "host"),
    ("storage_backend", "storage"),
    ("attn_backend", "backend"),
    ("req_to_token_pool", "requests"),
)
"""How SGLang calls what it holds of a family, where nothing says of which class it is."""
_WORDS = ("pool", "Pool", "allocator", "backend", "kvcache", "KVCache")


def read_demands(tree: Path) -> list[Demand]:
    """Every call shape, the first place of each, in the order of the files."""
    package = package_folder(tree)
    catalogue = load_embedded(tree_version(package))
    files = [path for path in sorted(package.joinpath("srt").rglob("*.py")) if _matters(path)]
    context = make_context(Request(tuple(files), (package.parent,), (), catalogue))
    found: dict[tuple[object, ...], Demand] = {}
    for path in files:
        try:
            module = context.project.module_at(path)
        except (SourceError, ParseError):
            continue
        relative = path.relative_to(package.parent).as_posix()
        if is_test_file(relative):
            continue
        for demand in _demands_in(context, module, relative):
            key = (demand.method, demand.shape, demand.receivers, demand.within, demand.by_name)
            found.setdefault(key, demand)
    return sorted(found.values(), key=lambda one: (one.method, one.path, one.line))


def _matters(path: Path) -> bool:
    text = read_text(path, "replace")
    return any(word in text for word in _WORDS)


def _demands_in(context: Context, module: Module, relative: str) -> Iterator[Demand]:
    seen: set[ast.AST] = set()
    for use in recorded(context, module, whole=True):
        if use.call is None or use.kind not in ("access", "construct"):
            continue
        seen.add(use.call)
        receivers = _receivers(context, module, use)
        if receivers and not use.through_super:
            shape = use.shape
            within = use.cls or "" if use.kind == "construct" else ""
            yield Demand(use.name, shape, receivers, relative, use.call.lineno, within)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and node not in seen:
            yield from _by_name(context, node, relative)


def _receivers(
    context: Context, module: Module, use: Use
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: list[tuple[str, tuple[str, ...]]] = []
    for atom in without_none(use.value).atoms or ():
        if isinstance(atom, ClassObject) and use.kind == "construct":
            found.append((atom.cls, ()))
        elif isinstance(atom, Instance) and is_contract_class(context, atom.cls):
            if context.view.family([atom.cls]) == "holder":
                return ()
            if not atom.exact:
                found.append((atom.cls, tuple(sorted(atom.minus))))
        else:
            return ()
    known = use.kind == "construct" or pool_set(context, use.value, module, True, True)
    return tuple(sorted(found)) if known else ()


def _by_name(context: Context, node: ast.Call, relative: str) -> Iterator[Demand]:
    """A call on something that is named like one of a family, which has the method."""
    function = node.func
    if not isinstance(function, ast.Attribute):
        return
    receiver = function.value
    name = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")
    for word, family in NAMED:
        if name.endswith(word):
            roots = _roots(context, family, function.attr)
            if roots:
                receivers = tuple((root, ()) for root in roots)
                shape = shape_of(node)
                yield Demand(function.attr, shape, receivers, relative, node.lineno, by_name=True)
            return


def _roots(context: Context, family: Family, method: str) -> list[str]:
    """The classes of a family that bring a method first."""
    view = context.view
    return sorted(
        qualname
        for qualname, own in view.catalogue.classes.items()
        if own.family == family
        and method in own.methods
        and not any(method in base.methods for base in list(view.known_mro(qualname))[1:])
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kvlint.engine.demands")
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder to write to")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    gc.disable()
    for tree in options.trees:
        demands = read_demands(tree)
        target = options.output / f"{tree_version(package_folder(tree))}.json"
        target.write_bytes(dump(demands))
        print(f"{target}: {len(demands)} demands")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
