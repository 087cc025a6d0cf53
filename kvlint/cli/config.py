"""`kvlint config`: the settings that hold for a path."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from kvlint.output.style import on_one_line
from kvlint.project.files import absolute
from kvlint.project.groups import rules_of
from kvlint.project.settings import SettingsFinder, schema, shown

NOTHING_THERE = 3


def show_schema() -> int:
    print(json.dumps(schema(), indent=2))
    return 0


def show_settings(path: Path, output_format: str) -> int:
    """Each key with its value and origin. A wrong key or code is an error here too."""
    place = absolute(path)
    if not os.path.exists(place):
        print(f"kvlint: error: {on_one_line(str(path))}: no such file or folder", file=sys.stderr)
        return NOTHING_THERE
    settings = SettingsFinder().at(place if os.path.isdir(place) else place.parent)
    rules_of(settings)
    values = shown(settings)
    if output_format == "json":
        data = {key: {"value": value, "from": origin} for key, value, origin in values}
        print(json.dumps(data, indent=2))
        return 0
    for key, value, origin in values:
        print(
            f"{key} = {'(unset)' if value is None else json.dumps(value)}  # {on_one_line(origin)}"
        )
    return 0
