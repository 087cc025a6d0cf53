"""TOML and JSON texts as Python's values, and where and why a text is none.

Whatever a text holds, it is loaded or a LoadError says what is wrong: numbers of thousands of
digits and thousands of open brackets, on which the readers give up in ways of their own, too.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_MOST_PARTS = 100
_KEY_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_KEY_PART}[ \t]*\.[ \t]*){{{_MOST_PARTS}}}", re.M)
"""Python's reader keeps each beginning of a dotted key: 40 kB of one take gigabytes."""


class LoadError(ValueError):
    """`line` counts from 1; `reason` is for people."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def load_toml(text: str) -> dict[str, Any]:
    """Raises LoadError."""
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.end()) + 1
        raise LoadError(line, f"a key of more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LoadError(*_place_and_reason(error, text)) from error
    except ValueError as error:
        raise LoadError(_line_of_long_number(text), _shortened(error)) from error
    except RecursionError as error:
        raise LoadError(_line_of_deepest(text), "is nested too deeply") from error


def load_json(data: bytes | str) -> Any:
    """Raises LoadError."""
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise LoadError(error.lineno, error.msg) from error
    except UnicodeDecodeError as error:
        raise LoadError(error.object[: error.start].count(b"\n") + 1, "no valid UTF-8") from error
    except ValueError as error:
        raise LoadError(_line_of_long_number(_as_text(data)), _shortened(error)) from error
    except RecursionError as error:
        raise LoadError(_line_of_deepest(_as_text(data)), "is nested too deeply") from error


def _as_text(data: bytes | str) -> str:
    return data if isinstance(data, str) else data.decode("utf-8", "replace")


def _place_and_reason(error: ValueError, text: str) -> tuple[int, str]:
    """TOML's readers write both into one sentence."""
    found = _PLACE.search(str(error))
    if found is None:
        return 1, str(error)
    reason = str(error)[: found.start()]
    if found.group(1) is None:
        return text.count("\n") + 1, f"{reason} at the end"
    return int(found.group(1)), f"{reason} (column {found.group(2)})"


def _line_of_long_number(text: str) -> int:
    found = re.search(r"[0-9_]{600}", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _shortened(error: ValueError) -> str:
    return str(error).partition(";")[0]


def _line_of_deepest(text: str) -> int:
    depth, deepest, line, at = 0, 0, 1, 1
    for character in text:
        if character in "[{":
            depth += 1
            if depth > deepest:
                deepest, at = depth, line
        elif character in "]}":
            depth -= 1
        elif character == "\n":
            line += 1
    return at
