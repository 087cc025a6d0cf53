"""`[tool.kvlint]` of pyproject.toml, or kvlint.toml, -> Settings.

The closest file up the folders wins as a whole; files are not merged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from kvlint.errors import UsageError
from kvlint.project.ignores import check_pattern
from kvlint.source.boundary import Boundary
from kvlint.source.loading import LoadError, load_toml
from kvlint.source.reading import read_text

SETTINGS_FILE = "kvlint.toml"
OutputFormat = Literal["text", "concise", "json", "sarif", "github", "gitlab", "junit"]
OUTPUT_FORMATS: tuple[OutputFormat, ...] = (
    "text",
    "concise",
    "json",
    "sarif",
    "github",
    "gitlab",
    "junit",
)
DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".kvlint_cache",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "__pypackages__",
    "node_modules",
    "site-packages",
    "venv",
)
_PATTERNS = ("exclude", "extend-exclude", "per-file-ignores")
_STRINGS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_TEXT = {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the settings: its JSON schema (without the description) and default."""

    name: str
    schema: Mapping[str, Any]
    default: Any
    description: str


KEYS = (
    Key("select", _STRINGS, ["ALL"], "Rules to ask: codes, prefixes of codes, names, or ALL."),
    Key("ignore", _STRINGS, [], "Rules not to ask. The more specific of select and ignore wins."),
    Key(
        "per-file-ignores",
        {"type": "object", "additionalProperties": _STRINGS},
        {},
        "Pattern of files, as in .gitignore, to the rules that are not reported in them.",
    ),
    Key(
        "exclude",
        _STRINGS,
        list(DEFAULT_EXCLUDE),
        "Patterns of files and folders to leave out, as in .gitignore. Replaces the default.",
    ),
    Key("extend-exclude", _STRINGS, [], "Further patterns to leave out, on top of exclude."),
    Key("sglang", _TEXT, None, "SGLang release to check against: a version, or a path of a tree."),
    Key("extend-rules", _STRINGS, [], "Rule files of your own, or folders of them."),
    Key("baseline", _TEXT, None, "File of known findings that are not reported."),
    Key(
        "output-format",
        {"type": "string", "enum": list(OUTPUT_FORMATS)},
        "text",
        "How findings are written.",
    ),
    Key(
        "require-reason",
        {"type": "boolean"},
        False,
        "Report suppression comments that give no reason.",
    ),
)
_BY_NAME = {key.name: key for key in KEYS}


class SettingsError(UsageError):
    """Settings that cannot be used. The text starts with the file and line."""


@dataclass(frozen=True)
class Settings:
    """The settings that hold for a folder.

    `root` is the folder that patterns and relative paths count from; `file` is None where no
    settings file was found. `lines` gives the line of each key that the file sets.
    """

    root: Path
    file: Path | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    sglang: str | None = None
    extend_rules: tuple[Path, ...] = ()
    baseline: Path | None = None
    output_format: OutputFormat = "text"
    require_reason: bool = False
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The keys as the file gives them."""
    lines: Mapping[str, int] = field(default_factory=dict, hash=False)

    def place(self, key: str) -> str:
        """`file:line` of a key, for messages."""
        return f"{self.file}:{self.lines.get(key, 1)}"


class SettingsFinder:
    """Finds the settings that hold for a folder, reading each file once."""

    def __init__(self) -> None:
        self._found: dict[Path, Settings | None] = {}

    def at(self, folder: Path) -> Settings:
        """Settings for the files that stand directly in `folder` (absolute).

        Raises SettingsError.
        """
        return self._closest(folder) or Settings(root=folder)

    def _closest(self, folder: Path) -> Settings | None:
        if folder not in self._found:
            parent = folder.parent
            self._found[folder] = read_folder(folder) or (
                self._closest(parent) if parent != folder else None
            )
        return self._found[folder]


def read_folder(folder: Path) -> Settings | None:
    """The settings that stand in this very folder, if any. Raises SettingsError."""
    own = folder / SETTINGS_FILE
    if os.path.isfile(own):
        text = _read(own)
        return parse(own, text, _load(own, text))
    project = folder / "pyproject.toml"
    if not os.path.isfile(project):
        return None
    text = _read(project)
    if "kvlint" not in text:
        return None
    tools = _load(project, text).get("tool", {})
    if not isinstance(tools, dict):
        raise SettingsError(f"{project}:{line_of(text, 'tool')}: tool is no table")
    table = tools.get("kvlint")
    if table is None:
        return None
    return parse(project, text, table)


def _read(path: Path) -> str:
    if Boundary([path.parent]).leads_out(path):
        raise SettingsError(f"{path}:1: is a link that leads out of the repository")
    try:
        return read_text(path)
    except OSError as error:
        raise SettingsError(f"{path}:1: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SettingsError(f"{path}:{line}: is not valid UTF-8") from error


def _load(path: Path, text: str) -> dict[str, Any]:
    try:
        return load_toml(text)
    except LoadError as error:
        raise SettingsError(f"{path}:{error.line}: is not valid TOML: {error.reason}") from error


def parse(path: Path, text: str, table: object) -> Settings:
    """Make Settings of one file's table. Raises SettingsError."""
    if not isinstance(table, dict):
        raise SettingsError(f"{path}:1: [tool.kvlint] is no table")
    lines = {key: line_of(text, key) for key in table}
    for key, value in table.items():
        _check_key(path, lines[key], key, value)
    root = path.parent
    baseline = table.get("baseline")
    return Settings(
        root=root,
        file=path,
        select=_strings(table, "select") if "select" in table else None,
        ignore=_strings(table, "ignore"),
        per_file_ignores=tuple(
            (pattern, tuple(codes)) for pattern, codes in table.get("per-file-ignores", {}).items()
        ),
        exclude=_strings(table, "exclude") if "exclude" in table else None,
        extend_exclude=_strings(table, "extend-exclude"),
        sglang=_sglang(root, table.get("sglang")),
        extend_rules=tuple(root / place for place in _strings(table, "extend-rules")),
        baseline=root / baseline if baseline else None,
        output_format=cast(OutputFormat, table.get("output-format", "text")),
        require_reason=table.get("require-reason", False),
        values=table,
        lines=lines,
    )


def _check_key(path: Path, line: int, key: str, value: object) -> None:
    known = _BY_NAME.get(key)
    if known is None:
        from kvlint.rules.selection import nearest

        hint = nearest(key.replace("_", "-"), _BY_NAME)
        more = f", did you mean {hint}?" if hint else f"; known: {', '.join(_BY_NAME)}"
        raise SettingsError(f"{path}:{line}: unknown key {key!r}{more}")
    wanted = _unfit(known.schema, value)
    if wanted:
        raise SettingsError(f"{path}:{line}: {key} must be {wanted}, not {_toml(value)}")
    for text in _texts(value):
        problem = "holds a NUL character" if "\0" in text else ""
        if key in _PATTERNS:
            problem = problem or check_pattern(text)
        if problem:
            raise SettingsError(f"{path}:{line}: {key}: {_toml(text)} {problem}")


def _texts(value: object) -> Iterable[str]:
    """The texts of a value that fits: patterns and codes."""
    if isinstance(value, str):
        return (value,)
    return (item for item in value) if isinstance(value, (list, dict)) else ()


def _unfit(schema: Mapping[str, Any], value: object) -> str:
    """What the value should be, or an empty string where it fits."""
    kind = schema["type"]
    if kind == "boolean":
        return "" if isinstance(value, bool) else "true or false"
    if kind == "array":
        return "" if _is_strings(value) else "a list of texts"
    if kind == "object":
        fits = isinstance(value, dict) and all(map(_is_strings, value.values()))
        return "" if fits else "a table of patterns, each with a list of rules"
    if "enum" in schema:
        return "" if value in schema["enum"] else "one of " + ", ".join(schema["enum"])
    return "" if isinstance(value, str) and value else "a text"


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _strings(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(table.get(key, ()))


def _sglang(root: Path, value: str | None) -> str | None:
    """A version as it is; a path made absolute, so that it holds from every working folder."""
    if value is None or re.match(r"v?\d+(\.|$)", value):
        return value
    return str(root / value)


def line_of(text: str, key: str, value: str | None = None) -> int:
    """Line (from 1) where `key` of the settings is set, or where `value` stands in it.

    TOML's readers give no positions; the keys of kvlint are few and plain enough to look for.
    """
    head = re.search(r"^[ \t]*\[\s*tool\s*\.\s*[\"']?kvlint[\"']?\s*[\].]", text, re.M)
    start = head.start() if head else 0
    quoted = rf"[\"']?{re.escape(key)}[\"']?"
    found = re.compile(rf"^[ \t]*(?:{quoted}\s*[=.]|\[[^\]\n]*\b{quoted}\s*\])", re.M).search(
        text, start
    )
    place = found.start() if found else start
    if value is not None:
        place = max(place, text.find(f'"{value}"', place), text.find(f"'{value}'", place))
    while text[place : place + 1] in (" ", "\t"):
        place += 1
    return text.count("\n", 0, place) + 1


def _toml(value: object) -> str:
    import json

    return json.dumps(value, default=str)


def shown(settings: Settings) -> list[tuple[str, Any, str]]:
    """(key, value, where it comes from) of every key."""
    return [
        (key.name, settings.values[key.name], settings.place(key.name))
        if key.name in settings.values
        else (key.name, key.default, "default")
        for key in KEYS
    ]


def schema() -> dict[str, Any]:
    """JSON schema of kvlint.toml, and of the table [tool.kvlint], for editors."""
    properties = {}
    for key in KEYS:
        properties[key.name] = {**key.schema, "description": key.description}
        if key.default is not None:
            properties[key.name]["default"] = key.default
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "kvlint",
        "description": "Settings of kvlint: kvlint.toml, or [tool.kvlint] in pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
