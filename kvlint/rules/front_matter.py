"""The TOML between two `+++` lines at the head of a rule file, and where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from kvlint.source.loading import LoadError, load_toml


class RuleError(ValueError):
    """A rule file that does not load. The text starts with the file and, where known, the line."""


class FrontMatter:
    """The TOML at the head of a rule file. Each `take` takes a key out; what is left is unknown."""

    def __init__(self, path: Path, text: str) -> None:
        """Raises RuleError."""
        if not text.startswith("+++\n") or "\n+++\n" not in text[4:]:
            raise RuleError(f"{path}:1: front matter between two +++ lines is missing")
        self.path = path
        self.text, _, self.body = text[4:].partition("\n+++\n")
        try:
            self._data: dict[str, Any] = load_toml(self.text)
        except LoadError as error:
            place = f"{path}:{error.line + 1}"
            raise RuleError(f"{place}: is not valid TOML: {error.reason}") from error

    def error(self, key: str, message: str) -> RuleError:
        """An error at the line of a key; at the first one where the key is not there."""
        found = re.search(rf"^\s*\[?\s*[\"']?{re.escape(key)}\b", self.text, re.M)
        line = self.text.count("\n", 0, found.end()) + 2 if found else 1
        return RuleError(f"{self.path}:{line}: {message}")

    def take_text(self, key: str, default: str | None = None) -> str:
        value = self._data.pop(key, default)
        if not isinstance(value, str) or not (value or default == ""):
            raise self.error(key, f"{key} is missing or no text")
        return value

    def take_optional(self, key: str) -> str | None:
        return self.take_text(key) if key in self._data else None

    def take_choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        value, known = self.take_text(key, default), tuple(choices)
        if value not in known:
            raise self.error(key, f"{key} {value!r} is none of {', '.join(known)}")
        return value

    def take_flag(self, key: str) -> bool:
        value = self._data.pop(key, False)
        if not isinstance(value, bool):
            raise self.error(key, f"{key} must be true or false")
        return value

    def take_table(self, key: str, known: Collection[str]) -> Mapping[str, Any]:
        value = self._data.pop(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"{key} is no table")
        for name in value:
            if name not in known:
                listed = f"known: {', '.join(known)}" if known else "none are known here"
                raise self.error(name, f"{key}: unknown key {name!r}; {listed}")
        return value

    def end(self) -> None:
        """Raises RuleError for a key that nobody took."""
        for key in self._data:
            raise self.error(key, f"unknown key {key!r}")
