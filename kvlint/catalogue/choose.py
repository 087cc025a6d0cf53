"""Which SGLang release a check is made against, and why."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from kvlint.catalogue.embed import embedded_versions, load_embedded
from kvlint.catalogue.model import Catalogue
from kvlint.catalogue.overlap import without_modules_of
from kvlint.catalogue.tree import CatalogueError, NoPoolsError, contains_sglang, package_folder
from kvlint.catalogue.versions import specifiers_of, version_of

__all__ = ["CatalogueError", "Choice", "choose"]


@dataclass(frozen=True)
class Choice:
    """The catalogue, and where it comes from, as a sentence for people. Not `exact`: the release
    that was named is not known, and this one serves in its place. `wanted` is the version that was
    asked for, which says more of server arguments than the release that serves. `tree`: the package
    `sglang` whose own source decides what its servers accept."""

    catalogue: Catalogue
    reason: str
    exact: bool = True
    wanted: str = ""
    tree: Path | None = None


@dataclass(frozen=True)
class _Wish:
    """A release someone names: an exact version, or a specifier such as `>=0.5.16`."""

    text: str
    source: str


def choose(
    explicit: str | None,
    configured: str | None,
    checked: Sequence[Path],
    project: Path | None,
    base: Path | None = None,
    cache: Path | None = None,
) -> Choice:
    """Choose by the first that says something: `explicit` (--sglang VERSION|PATH), `configured`
    ([tool.kvlint] sglang; a relative path counts from `base`, the folder of the settings file),
    a checked path that contains SGLang, the installed distribution (of the project's `.venv`, then
    of this interpreter; looked up, not imported), the dependency that `project` declares, the
    newest embedded release. `cache`: a folder for what is read of trees.

    Raises CatalogueError: no such path, no SGLang in it, or text that is no version.
    """
    if explicit is not None:
        return _named(explicit, "given with --sglang", None, cache)
    if configured is not None:
        return _named(configured, "set in [tool.kvlint]", base or project, cache)
    tree = _checked_tree(checked)
    if tree is None:
        return _outside(project)
    package = package_folder(tree)
    try:
        catalogue = _extracted(tree, cache)
    except NoPoolsError:
        return _beside(_outside(project), package)
    return Choice(catalogue, f"SGLang {catalogue.version}, the checked tree itself", tree=package)


def _outside(project: Path | None) -> Choice:
    """The release that the surroundings of what is checked give."""
    wish = _installed(project) or _declared(project)
    if wish is not None:
        return _release(wish)
    newest = embedded_versions()[-1]
    reason = f"SGLang {newest}, the newest release that kvlint knows"
    return Choice(load_embedded(newest), reason)


def _beside(serving: Choice, package: Path) -> Choice:
    """A release for a checked tree that has no pools: they are the release's, the rest its own."""
    reason = f"{serving.reason}; the checked tree has no KVCache of its own"
    kept = without_modules_of(serving.catalogue, [package.parent])
    return Choice(kept, reason, serving.exact, serving.wanted, package)


def _named(text: str, source: str, base: Path | None, cache: Path | None) -> Choice:
    path = Path(text).expanduser()
    if base is not None and not path.is_absolute():
        path = base / path
    if version_of(text) is None:
        if os.path.exists(path) or "/" in text or "\\" in text:
            catalogue = _extracted(path, cache)
            reason = f"SGLang {catalogue.version} in {path}, {source}"
            return Choice(catalogue, reason, tree=package_folder(path))
        raise CatalogueError(
            f"{text!r} ({source}) is neither a version such as {embedded_versions()[-1]} "
            "nor the path of an SGLang tree"
        )
    return _release(_Wish(text, source))


def _extracted(path: Path, cache: Path | None) -> Catalogue:
    # Most runs use an embedded release, and do not pay for importing what reads trees.
    from kvlint.catalogue.extract import extract_tree

    return extract_tree(path, cache=cache)


def _checked_tree(checked: Sequence[Path]) -> Path | None:
    """The checked folder that holds SGLang, or the tree a checked folder or file lies in."""
    for path in checked:
        if os.path.isdir(path) and contains_sglang(path):
            return path
    for path in checked:
        for folder in path.absolute().parents:
            if folder.name == "sglang" and contains_sglang(folder):
                return folder
    return None


def _installed(project: Path | None) -> _Wish | None:
    if project is not None:
        places = [str(place) for place in project.glob(".venv/lib/python*/site-packages")]
        places += [str(place) for place in project.glob(".venv/Lib/site-packages")]
        found = _version_in(places) if places else ""
        if found:
            return _Wish(found, "installed in the project's .venv")
    found = _version_in(sys.path)
    return _Wish(found, "installed beside kvlint") if found else None


def _version_in(folders: Sequence[str]) -> str:
    """The version that the metadata of an installed SGLang give; empty where there is none, or
    they are broken: an installation cut short says nothing."""
    from importlib import metadata

    for distribution in metadata.distributions(name="sglang", path=list(folders)):
        try:
            version = distribution.version
        except (KeyError, TypeError, ValueError, OSError):
            continue
        if isinstance(version, str) and version.strip():
            return version.strip()
    return ""


def _release(wish: _Wish) -> Choice:
    version, how = _embedded_for(wish.text)
    asked = wish.text if len(wish.text) <= 60 else f"{wish.text[:57]}..."
    reason = f"SGLang {version}, {how} {asked}, {wish.source}" if how else ""
    reason = reason or f"SGLang {version}, {wish.source}"
    return Choice(load_embedded(version), reason, exact=not how, wanted=wish.text)


def _embedded_for(text: str) -> tuple[str, str]:
    """The embedded release that serves for a version, and in words how it differs from it.

    `0.0.0.dev9596+g29b7f22d8` is what a build from a clone without tags calls itself: it says
    nothing of its age, and people build what is newest.
    """
    wanted = _version(text)
    if not any(wanted.release):
        return embedded_versions()[-1], "the newest release that kvlint knows, for"
    known = [(Version(version), version) for version in embedded_versions()]
    exact = [name for version, name in known if version == wanted or _same_build(version, wanted)]
    if exact:
        return exact[0], ""
    older = [name for version, name in known if version < wanted]
    if not older:
        return known[0][1], "the oldest release that kvlint knows, newer than"
    if older[-1] == known[-1][1]:
        return older[-1], "the newest release that kvlint knows, older than"
    return older[-1], "the nearest older release that kvlint knows, for"


def _same_build(version: Version, wanted: Version) -> bool:
    """`0.5.16+cu129` is a build of 0.5.16."""
    return wanted.local is not None and version == Version(wanted.public)


def _version(text: str) -> Version:
    """The version that a wish asks for: of a specifier the newest embedded one it allows, else
    the bound that it names."""
    version = version_of(text)
    if version is not None:
        return version
    specifiers = specifiers_of(text)
    if specifiers is None:
        return Version("0")  # as a clone's own number: it names no release
    allowed = [name for name in embedded_versions() if specifiers.contains(name, prereleases=True)]
    if allowed:
        return Version(allowed[-1])
    bounds = [_bound(one.version) for one in specifiers]
    return max(bounds, default=Version(embedded_versions()[-1]))


def _bound(text: str) -> Version:
    """`===` compares texts, which need not be versions."""
    return version_of(text.removesuffix(".*")) or Version("0")


def _declared(project: Path | None) -> _Wish | None:
    """The project's declared dependency. One without a bound says nothing about a release."""
    if project is None:
        return None
    from kvlint.catalogue.declared import requirements

    for name, requirement in requirements(project):
        specifier = requirement.specifier
        exact = [one.version for one in specifier if one.operator == "=="]
        text = exact[0] if len(exact) == 1 and "*" not in exact[0] else str(specifier)
        if text:
            return _Wish(text, f"declared in {name}")
    return None
