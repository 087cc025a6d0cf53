"""What each release accepts as server arguments: `releases/*.json`, made by `extract`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from packaging.version import Version

from kvlint.catalogue.versions import version_of

RELEASES = Path(__file__).parent / "releases"
NOOP_FLAG = "prefill_only_disable_kv_cache"


@dataclass(frozen=True, slots=True)
class NoopPoolFacts:
    """What a release demands before it allocates `NoOpMHATokenToKVPool`.

    `requires` maps a field to the one value it must have, `refuses` to the values it must not
    have, `at_most` to the largest it may have; `defaults` are those of the fields named in them.
    Releases that leave early for `model_path` "dummy" do not check them there.
    """

    prefill_backends: tuple[str, ...]
    requires: Mapping[str, Any]
    refuses: Mapping[str, list[Any]]
    at_most: Mapping[str, int]
    defaults: Mapping[str, Any]
    checked_for_dummy_models: bool


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """The server arguments of one release. `options` maps `--name` to (field, kind), kind being
    `flag`, `switch` (has a `--no-` form), `value` or `values`."""

    version: str
    attention_backends: tuple[str, ...]
    backend_options: frozenset[str]
    noop_pool: NoopPoolFacts
    diffusion_backends: frozenset[str]
    options: Mapping[str, tuple[str, str]]
    elsewhere: frozenset[str] = frozenset()
    """Attention backends of only one of the two releases that serve for one between them."""
    shown: str = ""
    """The release or releases, as a message names them."""
    certain: bool = True
    """Not for a release that is newer than all that are known."""

    def accepts(self, backend: str) -> bool:
        """Whether an attention backend may be a valid choice."""
        return backend in self.attention_backends or backend in self.elsewhere

    def option(self, name: str) -> tuple[str, str] | None:
        """Field and kind of an option as argparse reads it: in full, or the start of only one."""
        if name in self.options:
            return self.options[name]
        found = {tuple(self.options[option]) for option in self.options if option.startswith(name)}
        return found.pop() if len(found) == 1 and len(name) > 2 else None  # type: ignore[return-value]

    def option_name(self, field: str) -> str:
        """The option that sets a field, as SGLang's own messages write it."""
        return "--" + field.replace("_", "-")

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(field for field, _ in self.options.values())


@cache
def embedded_versions() -> tuple[str, ...]:
    """The releases that kvlint has facts of, oldest first."""
    return tuple(sorted((path.stem for path in RELEASES.glob("*.json")), key=Version))


@dataclass(frozen=True, slots=True)
class LaunchRelease:
    """Whose server arguments a configuration is judged by: a version's, or those of the tree that
    holds the package `sglang`, which is then what says them."""

    version: str
    tree: Path | None = None

    def facts(self) -> LaunchFacts:
        """Read when a configuration is met: most files have none."""
        if self.tree is not None:
            from kvlint.launch.trees import facts_of_tree

            own = facts_of_tree(self.tree, self.version)
            if own is not None:
                return own
        return facts_for(self.version)


@cache
def facts_for(version: str) -> LaunchFacts:
    """Facts of a release; between two that are known what both say; else those of the nearest."""
    known = embedded_versions()
    wanted = version_of(version)
    if wanted is None or not any(wanted.release):
        return replace(_read(known[-1]), certain=False)
    older = [name for name in known if Version(name) <= wanted]
    newer = [name for name in known if Version(name) > wanted]
    if not older:
        return _read(known[0])
    exact = Version(older[-1]) == Version(wanted.public)
    if exact or wanted.is_postrelease or not newer:
        return replace(_read(older[-1]), certain=exact or bool(newer))
    return _between(_read(older[-1]), _read(newer[0]))


def _between(older: LaunchFacts, newer: LaunchFacts) -> LaunchFacts:
    """What is certain of a release between the two: what both demand, and refuse alike."""
    first, second = older.attention_backends, newer.attention_backends
    return LaunchFacts(
        version=older.version,
        attention_backends=tuple(name for name in first if name in second),
        backend_options=older.backend_options & newer.backend_options,
        noop_pool=_demanded_by_both(older.noop_pool, newer.noop_pool),
        diffusion_backends=older.diffusion_backends | newer.diffusion_backends,
        options={**newer.options, **older.options},
        elsewhere=frozenset(first) ^ frozenset(second),
        shown=f"{older.version} and {newer.version}",
    )


def _demanded_by_both(older: NoopPoolFacts, newer: NoopPoolFacts) -> NoopPoolFacts:
    more = (name for name in newer.prefill_backends if name not in older.prefill_backends)
    return NoopPoolFacts(
        prefill_backends=(*older.prefill_backends, *more),
        requires={k: v for k, v in older.requires.items() if newer.requires.get(k, ...) == v},
        refuses={
            name: [value for value in values if value in newer.refuses[name]]
            for name, values in older.refuses.items()
            if name in newer.refuses
        },
        at_most={
            name: max(largest, newer.at_most[name])
            for name, largest in older.at_most.items()
            if name in newer.at_most
        },
        defaults={k: v for k, v in older.defaults.items() if newer.defaults.get(k, ...) == v},
        checked_for_dummy_models=(
            older.checked_for_dummy_models and newer.checked_for_dummy_models
        ),
    )


@cache
def _read(version: str) -> LaunchFacts:
    return from_data(json.loads((RELEASES / f"{version}.json").read_text(encoding="utf-8")))


def embedded_with(digest: str) -> LaunchFacts | None:
    """The facts of the release whose argument files have this fingerprint."""
    wanted = f'"fingerprint": "{digest}"'
    for version in embedded_versions():
        with (RELEASES / f"{version}.json").open(encoding="utf-8") as lines:
            if any(wanted in line for _, line in zip(range(3), lines, strict=False)):
                return _read(version)
    return None


def from_data(data: Mapping[str, Any]) -> LaunchFacts:
    """Facts as they are stored."""
    noop = data["noop_pool"]
    return LaunchFacts(
        version=data["version"],
        attention_backends=tuple(data["attention_backends"]),
        backend_options=frozenset(data["backend_options"]),
        noop_pool=NoopPoolFacts(**{**noop, "prefill_backends": tuple(noop["prefill_backends"])}),
        diffusion_backends=frozenset(data["diffusion_backends"]),
        options={name: (field, kind) for name, (field, kind) in data["options"].items()},
        shown=data["version"],
    )


@cache
def releases_with_backend(name: str) -> tuple[str, ...]:
    """The embedded releases in which an attention backend of that name is a valid choice."""
    return tuple(v for v in embedded_versions() if name in _read(v).attention_backends)
