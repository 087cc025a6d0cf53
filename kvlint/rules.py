"""Reads rules/*.md: TOML front matter for the machine, prose for people.

A rule with a missing part does not load; the error names the file and the part.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from kvlint.findings import Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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


class RuleError(ValueError):
    """A rule file that does not load. The text starts with the file."""


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
    packaged = Path(__file__).parent / "rules_data"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "rules"


@cache
def builtin_rules() -> tuple[Rule, ...]:
    """The rules that come with kvlint, by code."""
    return load_rules([rules_folder()])


def load_rules(places: Iterable[Path]) -> tuple[Rule, ...]:
    """Load rule files, or all `*.md` of folders. Raises RuleError."""
    rules: dict[str, Rule] = {}
    for place in places:
        if not place.exists():
            raise RuleError(f"{place}: no such rule file or folder")
        files = (
            sorted(place.glob("KV*.md"))
            if place == rules_folder()
            else (sorted(place.glob("*.md")) if place.is_dir() else [place])
        )
        for path in files:
            rule = parse_rule(path, _read(path))
            for other in rules.values():
                if rule.code == other.code or rule.name == other.name:
                    raise RuleError(f"{path}: {rule.code} {rule.name} is taken by {other.path}")
            rules[rule.code] = rule
    return tuple(rules[code] for code in sorted(rules))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}: {error}") from error


def parse_rule(path: Path, text: str) -> Rule:
    """Read one rule file. Raises RuleError."""
    if not text.startswith("+++\n") or "\n+++\n" not in text[4:]:
        raise RuleError(f"{path}:1: front matter between two +++ lines is missing")
    front, _, body = text[4:].partition("\n+++\n")
    try:
        data = tomllib.loads(front)
    except tomllib.TOMLDecodeError as error:
        raise RuleError(f"{path}: front matter: {error}") from error

    def text_of(key: str, default: str | None = None) -> str:
        value = data.pop(key, default)
        if not isinstance(value, str) or not value:
            raise RuleError(f"{path}: front matter: {key} is missing or no text")
        return value

    code, name = text_of("code"), text_of("name")
    if not _CODE.fullmatch(code) or not _NAME.fullmatch(name):
        raise RuleError(f"{path}: {code} {name}: want a code as KV101 and a name-in-kebab-case")
    severity = text_of("severity")
    if severity not in ("error", "warning", "hint"):
        raise RuleError(f"{path}: severity {severity!r} is none of error, warning, hint")
    try:
        versions = SpecifierSet(text_of("sglang"))
    except InvalidSpecifier as error:
        raise RuleError(f"{path}: sglang: {error}") from error
    sections = _sections(path, body)
    message = data.pop("message", None)
    if message is not None:
        try:
            re.compile(message)
        except (re.error, TypeError) as error:
            raise RuleError(f"{path}: message is no regular expression: {error}") from error
    rule = Rule(
        code=code,
        name=name,
        summary=text_of("summary"),
        severity=severity,  # type: ignore[arg-type]
        check=text_of("check"),
        versions=versions,
        sections=sections,
        example=_example(path, sections["Example"]),
        path=path,
        remedy=data.pop("remedy", ""),
        pedantic=data.pop("pedantic", False),
        exception=data.pop("exception", None),
        message=message,
        record=data.pop("record", None),
        fixable=text_of("fixable", "none"),
        parameters=data.pop("parameters", {}),
        probe=data.pop("probe", {}),
    )
    if data:
        raise RuleError(f"{path}: front matter: unknown key {sorted(data)[0]}")
    return rule


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
