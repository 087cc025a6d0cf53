"""A release that serves beside a tree of SGLang's which is checked, but is not that tree.

A fork without `KVCache`, a vendored copy, files that are laid over an installation: what such a
tree defines itself is never judged by the facts of another release.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kvlint.catalogue.model import Catalogue


def without_modules_of(catalogue: Catalogue, roots: Iterable[Path]) -> Catalogue:
    """The catalogue without the modules that lie under one of the roots, the folders that hold a
    package `sglang`: their classes, and what is known of ways to pools in them. A class that is
    left and has one of theirs for a base then has a base of which nothing is known."""
    places = tuple(roots)
    if not places:
        return catalogue
    gone = {module for module in _modules(catalogue) if _lies_in(module, places)}
    classes = {name: own for name, own in catalogue.classes.items() if own.module not in gone}
    lost = catalogue.classes.keys() - classes.keys()
    return replace(
        catalogue,
        classes=classes,
        exports={name: held for name, held in catalogue.exports.items() if name not in gone},
        holders=tuple(
            holder
            for holder in catalogue.holders
            if not _of_module(holder.owner, gone) and lost.isdisjoint(holder.classes)
        ),
        source=f"{catalogue.source} without {', '.join(map(str, places))}",
        partial=True,
    )


def _modules(catalogue: Catalogue) -> set[str]:
    """Modules of classes, exports and holders; a holder's owner may be a class or a module."""
    owners = {holder.owner for holder in catalogue.holders}
    return {
        *(own.module for own in catalogue.classes.values()),
        *catalogue.exports,
        *owners,
        *(owner.rpartition(".")[0] for owner in owners),
    }


def _of_module(owner: str, modules: set[str]) -> bool:
    return owner in modules or owner.rpartition(".")[0] in modules


def _lies_in(module: str, roots: Iterable[Path]) -> bool:
    inside = module.replace(".", os.sep)
    return any(
        os.path.isfile(root / f"{inside}.py") or os.path.isfile(root / inside / "__init__.py")
        for root in roots
    )
