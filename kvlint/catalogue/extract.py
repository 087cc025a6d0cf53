"""Read the catalogue of an SGLang tree. Nothing of it is imported."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kvlint import __version__
from kvlint.catalogue.bodies import raised, scan
from kvlint.catalogue.contracts import contract_classes
from kvlint.catalogue.embed import dump, embedded_with, fingerprint, parse
from kvlint.catalogue.held import Evaluator
from kvlint.catalogue.holders import find_holders
from kvlint.catalogue.model import Catalogue, PoolClass
from kvlint.catalogue.module_facts import module_functions, module_names
from kvlint.catalogue.pool_classes import PoolClasses, find_pool_classes
from kvlint.catalogue.program import Module, Program, read_program
from kvlint.catalogue.resolve import View
from kvlint.catalogue.sub_pools import with_sub_pools
from kvlint.catalogue.tree import (
    UNKNOWN_VERSION,
    CatalogueError,
    NoPoolsError,
    package_folder,
    pool_files,
    tree_version,
)
from kvlint.source.kept import read_sealed, write_sealed
from kvlint.source.reading import read_regular

# One pattern for each word: a pattern that begins with plain text is searched ten times faster.
_OUTSIDE = tuple(
    re.compile(rf"{word}\w*(?:\[[^\]\n]*\]|\(\))?\.(\w+)[ \t]*=(?!=)")
    for word in ("pool", "Pool", "kv_cache", "kvcache", "backend", "allocator", "storage", "host")
)
_OUTSIDE_CALLS = tuple(
    re.compile(rf"{word}\w*(?:\[[^\]\n]*\]|\(\))?\.(_\w+)\(")
    for word in ("pool", "kv_cache", "kvcache")
)
_EXPORTED = ("Pool", "KVCache", "HiCache", "Backend", "Batch", "Runner", "Storage", "KVWriteLoc")
_SETATTR = re.compile(r"setattr\(\s*[\w.]*(?:pool|kv_?cache)\w*,\s*[\"'](\w+)")
_CHOICES = re.compile(rb"^ATTENTION_BACKEND_CHOICES[^=\n]*=[ \t]*(\[[^\]]*\])", re.M)


def extract_tree(
    path: Path,
    version: str | None = None,
    sources: Mapping[Path, bytes] | None = None,
    cache: Path | None = None,
) -> Catalogue:
    """The catalogue of the tree in `path`: the `sglang` package, the folder that holds it, or a
    checkout. `sources`: contents that have been read already. `cache`: a folder that keeps what
    was read of trees that are no embedded release. Raises CatalogueError.

    Classes in SGLang's tests are left out: they are no part of what a release offers.
    """
    package = package_folder(path)
    files = pool_files(package, sources)
    digest = fingerprint(files)
    catalogue = embedded_with(digest)
    if catalogue is not None:
        catalogue = _with_messages(catalogue, files)
    else:
        catalogue = _cached(cache, digest) or _read_anew(path, package, files, cache, digest)
    shown = version or tree_version(package)
    return replace(catalogue, version=shown, source=str(path))


def _read_anew(
    path: Path, package: Path, files: dict[str, bytes], cache: Path | None, digest: str
) -> Catalogue:
    program = read_program(files)
    catalogue = _derived(program, _pool_classes(program, path), package)
    if cache is not None:
        # A cache that cannot be written costs time, nothing else.
        with contextlib.suppress(OSError):
            data = dump(catalogue, digest, texts=True)
            write_sealed(cache.parent, _cache_file(cache, digest), data)
    return catalogue


def _cache_file(cache: Path, digest: str) -> Path:
    return cache / f"catalogue-{__version__}-{digest}.json"


def _cached(cache: Path | None, digest: str) -> Catalogue | None:
    if cache is None:
        return None
    data = read_sealed(cache.parent, _cache_file(cache, digest))
    try:
        return parse(data) if data is not None else None
    except (ValueError, LookupError, TypeError, AttributeError, CatalogueError):
        return None  # of another kvlint: it is read anew


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
        raise NoPoolsError(f"{path} holds no class KVCache: its layout is not known to kvlint")
    return classes


def _derived(program: Program, classes: PoolClasses, package: Path) -> Catalogue:
    bare = Catalogue(UNKNOWN_VERSION, classes.facts)
    facts = with_sub_pools(Evaluator(program, classes, View(bare)))
    holders = find_holders(program, facts)
    contracts = contract_classes(program, facts, package)
    return replace(
        bare,
        classes={**contracts, **facts},
        exports=_exports(program, {**contracts, **facts}),
        holders=holders,
        functions=module_functions(program),
        modules=module_names(package, {**contracts, **facts}),
        outside_attributes=_found(program, (*_OUTSIDE, _SETATTR)),
        outside_calls=_found(program, _OUTSIDE_CALLS),
        backends=_backends(package),
    )


def _with_messages(known: Catalogue, files: Mapping[str, bytes]) -> Catalogue:
    """The tree is an embedded release to the byte: what is not embedded, the messages of its
    guards, is read from just those methods."""
    modules: dict[str, Module] = {}
    facts = {}
    for qualname, own in known.classes.items():
        methods = dict(own.methods)
        for name, method in own.methods.items():
            if method.kind in ("guard", "abstract") and method.has_message and method.line:
                module = modules.setdefault(own.path, Module(own.module, own.path, files[own.path]))
                methods[name] = replace(method, message=_message_at(module, method.line))
        facts[qualname] = replace(own, methods=methods)
    return replace(known, classes=facts)


def _message_at(module: Module, line: int) -> str | None:
    function = module.function_at(line - 1)
    return raised(scan(function.node.body)).message if function else None


def _exports(program: Program, facts: Mapping[str, PoolClass]) -> dict[str, dict[str, str]]:
    """Classes that a module passes on: imported at its left margin."""
    names = {own.name for own in facts.values() if own.is_contract}
    found: dict[str, dict[str, str]] = {}
    for module in program.modules.values():
        passed = {
            name: program.canonical(target)
            for name, target in module.exports(_EXPORTED).items()
            if target.rpartition(".")[2] in names
        }
        passed = {name: target for name, target in passed.items() if target in facts}
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
            match = _CHOICES.search(read_regular(place))
            listed = ast.literal_eval(match[1].decode()) if match else None
        except (OSError, ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if listed is not None:
            return tuple(name for name in listed if isinstance(name, str))
    return ()
