"""Read the catalogue of an SGLang tree. Nothing of it is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kvlint.catalogue.embed import embedded_with, fingerprint
from kvlint.catalogue.holders import find_holders
from kvlint.catalogue.model import Catalogue
from kvlint.catalogue.pool_classes import PoolClasses, find_pool_classes
from kvlint.catalogue.program import Program, read_program
from kvlint.catalogue.resolve import View
from kvlint.catalogue.sub_pools import with_sub_pools
from kvlint.catalogue.tree import (
    UNKNOWN_VERSION,
    CatalogueError,
    package_folder,
    pool_files,
    tree_version,
)
from kvlint.catalogue.values import Evaluator

# One pattern for each word: a pattern that begins with plain text is searched ten times faster.
_OUTSIDE = tuple(
    re.compile(rf"{word}\w*(?:\[[^\]\n]*\]|\(\))?\.(\w+)[ \t]*=(?!=)")
    for word in ("pool", "Pool", "kv_cache", "kvcache")
)
_OUTSIDE_CALLS = tuple(
    re.compile(rf"{word}\w*(?:\[[^\]\n]*\]|\(\))?\.(_\w+)\(")
    for word in ("pool", "kv_cache", "kvcache")
)
_SETATTR = re.compile(r"setattr\(\s*[\w.]*(?:pool|kv_?cache)\w*,\s*[\"'](\w+)")
_CHOICES = re.compile(rb"^ATTENTION_BACKEND_CHOICES[^=\n]*=[ \t]*(\[[^\]]*\])", re.M)


def extract_tree(
    path: Path,
    version: str | None = None,
    sources: Mapping[Path, bytes] | None = None,
) -> Catalogue:
    """The catalogue of the tree in `path`: the `sglang` package, the folder that holds it, or a
    checkout. `sources`: contents that have been read already. Raises CatalogueError.

    Classes in SGLang's tests are left out: they are no part of what a release offers.
    """
    package = package_folder(path)
    files = pool_files(package, sources)
    program = read_program(files)
    classes = _pool_classes(program, path)
    known = embedded_with(fingerprint(files))
    catalogue = _derived(program, classes, package) if known is None else _as_known(classes, known)
    return replace(catalogue, version=version or tree_version(package), source=str(path))


def read_tree(path: Path) -> tuple[Catalogue, str]:
    """The catalogue of a tree, all of it read anew, and the digest of the files it stands in."""
    package = package_folder(path)
    files = pool_files(package)
    program = read_program(files)
    catalogue = _derived(program, _pool_classes(program, path), package)
    return replace(catalogue, version=tree_version(package)), fingerprint(files)


def _pool_classes(program: Program, path: Path) -> PoolClasses:
    classes = find_pool_classes(program)
    if not any(own.is_pool for own in classes.facts.values()):
        raise CatalogueError(f"{path} holds no class KVCache: its layout is not known to kvlint")
    return classes


def _derived(program: Program, classes: PoolClasses, package: Path) -> Catalogue:
    bare = Catalogue(UNKNOWN_VERSION, classes.facts)
    facts = with_sub_pools(Evaluator(program, classes, View(bare)))
    return replace(
        bare,
        classes=facts,
        exports=_exports(program, classes),
        holders=find_holders(program, facts),
        outside_attributes=_found(program, (*_OUTSIDE, _SETATTR)),
        outside_calls=_found(program, _OUTSIDE_CALLS),
        backends=_backends(package),
    )


def _as_known(classes: PoolClasses, known: Catalogue) -> Catalogue:
    """The tree is an embedded release to the byte: only the guards' messages, which are not
    embedded, have to be read from it."""
    facts = {
        name: replace(own, sub_pools=known.classes[name].sub_pools)
        for name, own in classes.facts.items()
    }
    return replace(known, classes=facts)


def _exports(program: Program, classes: PoolClasses) -> dict[str, dict[str, str]]:
    """Pool classes that a module passes on: imported at its left margin."""
    names = {own.name for own in classes.facts.values() if own.is_pool}
    found: dict[str, dict[str, str]] = {}
    for module in program.modules.values():
        passed = {
            name: program.canonical(target)
            for name, target in module.exports(("Pool", "KVCache")).items()
            if target.rpartition(".")[2] in names
        }
        passed = {name: target for name, target in passed.items() if target in classes.facts}
        if passed:
            found[module.name] = dict(sorted(passed.items()))
    return dict(sorted(found.items()))


def _found(program: Program, patterns: tuple[re.Pattern[str], ...]) -> tuple[str, ...]:
    """What the patterns find in all modules: uses of something that is named like a pool."""
    found: set[str] = set()
    for module in program.modules.values():
        for pattern in patterns:
            found.update(match[1] for match in pattern.finditer(module.text))
    return tuple(sorted(found))


def _backends(package: Path) -> tuple[str, ...]:
    """The literal list of choices of --attention-backend, wherever a release keeps it."""
    places = [
        package / "srt" / "server_args.py",
        *sorted((package / "srt").glob("arg_groups/*.py")),
    ]
    for place in places:
        try:
            match = _CHOICES.search(place.read_bytes())
        except OSError:
            continue
        if match:
            listed = ast.literal_eval(match[1].decode())
            return tuple(name for name in listed if isinstance(name, str))
    return ()
