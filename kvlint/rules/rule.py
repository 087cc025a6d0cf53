"""Reads rules/*.md: TOML front matter for the machine, prose for people.

A rule with a missing part does not load; the error names the file and the part.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, cast

from packaging.specifiers import SpecifierSet

from kvlint.catalogue.versions import specifiers_of
from kvlint.findings import Severity
from kvlint.rules.front_matter import FrontMatter, RuleError
from kvlint.source.boundary import Boundary
from kvlint.source.reading import read_text

__all__ = ["Rule", "RuleError", "builtin_rules", "load_rules", "parse_rule", "rules_folder"]

HEADINGS = (
    "What it does",
    "Why is this bad",
    "Example",
    "Fix safety",
    "Known limits",
    "References",
)
_FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```[ \t]*$", re.M | re.S)
_CODE = re.compile(r"[A-Z]{2,}[0-9]{3}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


CHECKS: Mapping[str, tuple[str, ...]] = {
    "absent_accessor": (),
    "assumed_type": ("by",),
    "call_arguments": (),
    "capability_probe": (),
    "constructor_arguments": (),
    "dead_dispatch": (),
    "guarded_accessor": ("accessors", "classes", "family", "rest"),
    "missing_implementation": (),
    "moved_name": (),
    "override": (),
    "raw_buffer_write": (),
    "replaced_class": (),
    "result_arity": (),
    "sub_pool_reference": (),
    "sub_pool_write": (),
}
"""The questions that a rule can ask, each with the parameters it takes."""
OWN_CHECKS = ("builtin", "launch")
"""Questions that only kvlint's own rules ask: they go by the rule's code."""
OWN_CODES = "KV"
FIXABLE = ("none", "sometimes", "always")
FAMILIES = ("single-kv", "k-only", "no-op", "composite")
PROBE_KINDS = ("guard", "facts", "fix", "necessity", "writer", "launch")


@dataclass(frozen=True, slots=True)
class Example:
    language: str
    bad: str
    good: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `check` names the module in `kvlint/checks/` that asks its question and
    `parameters` is what that module is told. `versions` are the SGLang releases it holds for."""

    code: str
    name: str
    summary: str
    severity: Severity
    check: str
    versions: SpecifierSet
    sections: Mapping[str, str]
    example: Example
    path: Path
    remedy: str = ""
    pedantic: bool = False
    exception: str | None = None
    message: str | None = None
    """Regular expression that the message of SGLang's exception matches."""
    record: str | None = None
    fixable: str = "none"
    """"none", "sometimes" or "always"."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    probe: Mapping[str, Any] = field(default_factory=dict)

    def holds_for(self, version: str) -> bool:
        return self.versions.contains(version, prereleases=True)


def rules_folder() -> Path:
    """Where the rules that come with kvlint are: package data when installed from a wheel, the
    `rules/` folder in a checkout."""
    package = Path(__file__).parent.parent
    packaged = package / "rules_data"
    return packaged if packaged.is_dir() else package.parent / "rules"


@cache
def builtin_rules() -> tuple[Rule, ...]:
    """The rules that come with kvlint, by code."""
    return load_rules([rules_folder()])


def load_rules(places: Iterable[Path]) -> tuple[Rule, ...]:
    """Load rule files, or all `*.md` of folders. Raises RuleError."""
    rules: dict[str, Rule] = {}
    for place in places:
        is_own = place == rules_folder()
        for path in _files(place, "KV*.md" if is_own else "*.md"):
            rule = parse_rule(path, _read(path))
            if not is_own:
                _check_foreign(rule)
            for other in rules.values():
                if rule.code == other.code or rule.name == other.name:
                    raise RuleError(f"{path}: {rule.code} {rule.name} is taken by {other.path}")
            rules[rule.code] = rule
    return tuple(rules[code] for code in sorted(rules))


def _files(place: Path, pattern: str) -> list[Path]:
    if os.path.isfile(place):
        return [place]
    try:
        found = sorted(path for path in place.iterdir() if fnmatchcase(path.name, pattern))
    except FileNotFoundError as error:
        raise RuleError(f"{place}: no such rule file or folder") from error
    except OSError as error:
        raise RuleError(f"{place}: cannot be read: {error.strerror or error}") from error
    if not found:
        raise RuleError(f"{place}: holds no rule files ({pattern})")
    return found


def _read(path: Path) -> str:
    if Boundary([path.parent]).leads_out(path):
        raise RuleError(f"{path}: is a link that leads out of its repository")
    try:
        return read_text(path)
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise RuleError(f"{path}:{line}: is not valid UTF-8") from error


def _check_foreign(rule: Rule) -> None:
    """What kvlint keeps to itself: the codes KVnnn, and checks that go by them."""
    front = FrontMatter(rule.path, _read(rule.path))
    if rule.code.rstrip("0123456789") == OWN_CODES:
        raise front.error("code", f"code {rule.code}: KV is for kvlint's own, take other letters")
    if rule.check in OWN_CHECKS:
        raise front.error("check", f"check {rule.check!r} serves kvlint's own rules only")


def parse_rule(path: Path, text: str) -> Rule:
    """Read one rule file. Raises RuleError."""
    front = FrontMatter(path, text)
    code, name = front.take_text("code"), front.take_text("name")
    if not _CODE.fullmatch(code) or not _NAME.fullmatch(name):
        raise front.error("code", f"{code} {name}: want a code as KV101 and a name-in-kebab-case")
    check = front.take_choice("check", (*CHECKS, *OWN_CHECKS))
    sections = _sections(path, front.body)
    rule = Rule(
        code=code,
        name=name,
        summary=front.take_text("summary"),
        severity=cast(Severity, front.take_choice("severity", ("error", "warning", "hint"))),
        check=check,
        versions=_versions(front),
        sections=sections,
        example=_example(path, sections["Example"]),
        path=path,
        remedy=front.take_text("remedy", ""),
        pedantic=front.take_flag("pedantic"),
        exception=front.take_optional("exception"),
        message=_message(front),
        record=front.take_optional("record"),
        fixable=front.take_choice("fixable", FIXABLE, "none"),
        parameters=_parameters(front, check),
        probe=_probe(front),
    )
    front.end()
    return rule


def _versions(front: FrontMatter) -> SpecifierSet:
    text = front.take_text("sglang")
    found = specifiers_of(text)
    if found is None:
        raise front.error("sglang", f"sglang: Invalid specifier: {text[:60]!r}")
    return found


def _message(front: FrontMatter) -> str | None:
    message = front.take_optional("message")
    try:
        re.compile(message or "")
    except re.error as error:
        raise front.error("message", f"message is no regular expression: {error}") from error
    return message


def _parameters(front: FrontMatter, check: str) -> Mapping[str, Any]:
    parameters = front.take_table("parameters", CHECKS.get(check, ()))
    for key, value in parameters.items():
        if key in ("accessors", "classes") and not _is_texts(value):
            raise front.error(key, f"parameters: {key} must be a list of texts")
        if key == "by" and value not in ("flag", "other"):
            raise front.error(key, "parameters: by must be flag or other")
        if key == "rest" and not isinstance(value, bool):
            raise front.error(key, "parameters: rest must be true or false")
        if key == "family" and value not in FAMILIES:
            raise front.error(key, f"parameters: family must be one of {', '.join(FAMILIES)}")
    return parameters


def _probe(front: FrontMatter) -> Mapping[str, Any]:
    probe = front.take_table("probe", ("pool", "misuse", "kind"))
    for key in ("pool", "misuse"):
        if not isinstance(probe.get(key, ""), str):
            raise front.error(key, f"probe: {key} must be a text")
    kinds = probe.get("kind", [])
    if not _is_texts(kinds) or not set(kinds) <= set(PROBE_KINDS):
        raise front.error("kind", f"probe: kind must be a list of {', '.join(PROBE_KINDS)}")
    return probe


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _sections(path: Path, body: str) -> dict[str, str]:
    parts = re.split(r"^## (.+?)[ \t]*$", body, flags=re.M)
    sections = {parts[i].strip("? "): parts[i + 1].strip() for i in range(1, len(parts), 2)}
    for heading in HEADINGS:
        if not sections.get(heading):
            raise RuleError(f"{path}: the section '## {heading}' is missing or empty")
    return sections


def _example(path: Path, section: str) -> Example:
    fences = _FENCE.findall(section)
    if len(fences) < 2:
        raise RuleError(f"{path}: '## Example' needs two fenced blocks, bad then good")
    (language, bad), (_, good) = fences[0], fences[1]
    return Example(language, bad, good)
