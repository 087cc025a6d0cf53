"""The embedded releases: catalogues as JSON, facts only.

`python -m kvlint.catalogue.embed TREE...` reads SGLang trees and writes one file for each under
`kvlint/catalogue/embedded/`. No source and no text of SGLang goes in, apart from the messages of
the three published records.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.version import Version

from kvlint.catalogue.model import (
    Catalogue,
    Holder,
    Method,
    Parameter,
    ParameterKind,
    PoolClass,
    SuperCall,
)
from kvlint.catalogue.tree import CatalogueError

FOLDER = Path(__file__).parent / "embedded"
FORMAT = 2
_KINDS: tuple[ParameterKind, ...] = (
    "positional-only",
    "positional",
    "var-positional",
    "keyword-only",
    "var-keyword",
)
_RECORDED_MESSAGES = frozenset(
    (
        "Use get_key_buffer instead.",
        "MHATokenToKOnlyPool: use set_index_k_buffer on the parent MiniMaxSparseKVPool — "
        "this pool does not store V",
        "NoOpMHATokenToKVPool.set_kv_buffer was called. This pool is only valid in prefill-only "
        "modes (e.g. --is-embedding, scoring) with the FA backend's fa_skip_kv_cache path active; "
        "the attention backend must never write to it. Check that the workload truly performs no "
        "decode and that the FA backend's fa_skip_kv_cache preconditions are met.",
    )
)
_FLAGS = ("wrapped", "has_message", "is_property", "is_static", "is_class", "passes_self")
_NAMES = ("assigns", "self_calls", "always_calls", "maybe_assigns")
_CALLS = ("super_calls", "always_super_calls")


def fingerprint(files: Mapping[str, bytes]) -> str:
    """A digest of the files a catalogue is read from: path in the tree -> content."""
    digest = hashlib.blake2b(digest_size=16)
    for path, data in sorted(files.items()):
        digest.update(f"{path}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def dump(catalogue: Catalogue, digest: str, *, texts: bool = False) -> bytes:
    """The file of a release: the same facts give the same bytes. One class a line. `texts` keeps
    every message, for a cache that never leaves the machine."""
    classes = ",\n".join(
        f"{_json(name)}:{_json(_class_facts(own, texts))}"
        for name, own in sorted(catalogue.classes.items())
    )
    functions = ",\n".join(
        f"{_json(name)}:{_json(_method_facts(function, texts))}"
        for name, function in sorted(catalogue.functions.items())
    )
    holders = ",\n".join(
        _json([h.owner, h.name, h.form, list(h.classes), h.value_class]) for h in catalogue.holders
    )
    head = {"format": FORMAT, "version": catalogue.version, "fingerprint": digest}
    return (
        f"{_json(head)[:-1]},\n"
        f'"backends":{_json(catalogue.backends)},\n'
        f'"outside_attributes":{_json(catalogue.outside_attributes)},\n'
        f'"outside_calls":{_json(catalogue.outside_calls)},\n'
        f'"exports":{_json(catalogue.exports)},\n'
        f'"modules":{_json(catalogue.modules)},\n'
        f'"functions":{{\n{functions}\n}},\n'
        f'"holders":[\n{holders}\n],\n"classes":{{\n{classes}\n}}}}\n'
    ).encode()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _class_facts(own: PoolClass, texts: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "bases": own.bases,
        "class_attributes": own.class_attributes,
        "declared_attributes": own.declared_attributes,
        "dynamic": own.dynamic,
        "mixin": not own.is_pool,
        "sub_pools": own.sub_pools,
        "family": own.family,
        "constant_flags": own.constant_flags,
        "path": own.path,
        "line": own.line,
        "methods": [_method_facts(method, texts) for method in own.methods.values()],
    }
    return {name: value for name, value in facts.items() if value}


def _method_facts(method: Method, texts: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": method.name,
        "kind": None if method.kind == "works" else method.kind,
        "parameters": [_parameter_facts(parameter) for parameter in method.parameters],
        "exception": method.exception,
        "message": method.message if texts or method.message in _RECORDED_MESSAGES else None,
        "returns": method.returns,
        "line": method.line,
        "arity": method.arity,
        "alias": _call_facts(method.alias) if method.alias else None,
    }
    facts.update((name, getattr(method, name)) for name in (*_FLAGS, *_NAMES))
    facts.update((name, [_call_facts(c) for c in getattr(method, name)]) for name in _CALLS)
    return {name: value for name, value in facts.items() if value}


def _parameter_facts(parameter: Parameter) -> list[Any]:
    kind = _KINDS.index(parameter.kind)
    return [
        parameter.name,
        kind,
        int(parameter.has_default),
        parameter.annotation,
        *([parameter.default] if parameter.default is not None else []),
    ]


def _call_facts(call: SuperCall) -> list[str | None]:
    return [call.method, call.after, call.explicit]


def parse(data: bytes) -> Catalogue:
    """The catalogue of an embedded file. Raises CatalogueError for another format."""
    facts = json.loads(data)
    if facts.get("format") != FORMAT:
        raise CatalogueError(f"an embedded release has format {facts.get('format')!r}")
    return Catalogue(
        version=facts["version"],
        classes={name: _class(name, own) for name, own in facts["classes"].items()},
        exports=facts["exports"],
        holders=tuple(
            Holder(owner, name, form, tuple(classes), value_class)
            for owner, name, form, classes, value_class in facts["holders"]
        ),
        outside_attributes=tuple(facts["outside_attributes"]),
        outside_calls=tuple(facts["outside_calls"]),
        functions={name: _method(own) for name, own in facts["functions"].items()},
        modules={name: tuple(names) for name, names in facts["modules"].items()},
        backends=tuple(facts["backends"]),
        source="embedded",
    )


def _class(qualname: str, facts: dict[str, Any]) -> PoolClass:
    return PoolClass(
        qualname=qualname,
        bases=tuple(facts.get("bases", ())),
        methods={method["name"]: _method(method) for method in facts.get("methods", ())},
        class_attributes=tuple(facts.get("class_attributes", ())),
        declared_attributes=tuple(facts.get("declared_attributes", ())),
        dynamic=facts.get("dynamic", False),
        is_pool=not facts.get("mixin", False),
        sub_pools={name: tuple(held) for name, held in facts.get("sub_pools", {}).items()},
        family=facts.get("family"),
        constant_flags=facts.get("constant_flags", {}),
        path=facts.get("path", ""),
        line=facts.get("line"),
    )


def _method(facts: dict[str, Any]) -> Method:
    rest: dict[str, Any] = {name: True for name in _FLAGS if name in facts}
    rest.update((name, tuple(facts[name])) for name in _NAMES if name in facts)
    rest.update(
        (name, tuple(SuperCall(*call) for call in facts[name])) for name in _CALLS if name in facts
    )
    return Method(
        name=facts["name"],
        kind=facts.get("kind", "works"),
        parameters=tuple(
            Parameter(name, _KINDS[kind], bool(has_default), annotation, *default)
            for name, kind, has_default, annotation, *default in facts.get("parameters", ())
        ),
        exception=facts.get("exception"),
        message=facts.get("message"),
        returns=facts.get("returns"),
        line=facts.get("line"),
        arity=facts.get("arity", 0),
        alias=SuperCall(*facts["alias"]) if "alias" in facts else None,
        **rest,
    )


def embedded_versions() -> tuple[str, ...]:
    """The embedded releases, oldest first."""
    return tuple(sorted((path.stem for path in FOLDER.glob("*.json")), key=Version))


@lru_cache(maxsize=4)
def load_embedded(version: str) -> Catalogue:
    """One embedded release. Raises CatalogueError when it is not embedded."""
    try:
        catalogue = parse((FOLDER / f"{version}.json").read_bytes())
    except FileNotFoundError as error:
        known = ", ".join(embedded_versions())
        raise CatalogueError(f"SGLang {version} is not embedded; embedded are {known}") from error
    return replace(catalogue, release=version)


def embedded_with(digest: str) -> Catalogue | None:
    """The embedded release that was read from just these files."""
    wanted = f'"fingerprint":"{digest}"'.encode()
    for path in sorted(FOLDER.glob("*.json")):
        with path.open("rb") as handle:
            if wanted in handle.readline():
                return load_embedded(path.stem)
    return None


def main(arguments: list[str] | None = None) -> int:
    """Write the embedded file of each tree named on the command line."""
    import argparse

    from kvlint.catalogue.extract import read_tree

    parser = argparse.ArgumentParser(prog="python -m kvlint.catalogue.embed")
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder to write to")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    for tree in options.trees:
        try:
            catalogue, digest = read_tree(tree)
        except CatalogueError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        target = options.output / f"{catalogue.version}.json"
        target.write_bytes(dump(catalogue, digest))
        pools = sum(own.is_pool for own in catalogue.classes.values())
        print(f"{target}: {pools} pool classes, {len(catalogue.holders)} holders")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
