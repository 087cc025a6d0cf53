"""What each release accepts as server arguments: `releases/*.json`, made by `extract`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

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


@cache
def facts_for(version: str) -> LaunchFacts:
    """Facts of a release, else those of the nearest older one, else of the oldest."""
    known = embedded_versions()
    try:
        wanted = Version(version)
    except InvalidVersion:
        return _read(known[-1])
    older = [name for name in known if Version(name) <= wanted]
    return _read(older[-1] if older else known[0])


@cache
def _read(version: str) -> LaunchFacts:
    data = json.loads((RELEASES / f"{version}.json").read_text(encoding="utf-8"))
    noop = data["noop_pool"]
    return LaunchFacts(
        version=data["version"],
        attention_backends=tuple(data["attention_backends"]),
        backend_options=frozenset(data["backend_options"]),
        noop_pool=NoopPoolFacts(**{**noop, "prefill_backends": tuple(noop["prefill_backends"])}),
        diffusion_backends=frozenset(data["diffusion_backends"]),
        options={name: (field, kind) for name, (field, kind) in data["options"].items()},
    )


@cache
def releases_with_backend(name: str) -> tuple[str, ...]:
    """The embedded releases in which an attention backend of that name is a valid choice."""
    return tuple(v for v in embedded_versions() if name in _read(v).attention_backends)
