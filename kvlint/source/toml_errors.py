"""Where a TOML text is wrong, and why: its readers write both into one sentence."""

from __future__ import annotations

import re

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def place_and_reason(error: ValueError, text: str) -> tuple[int, str]:
    """The line (from 1) of the error and what is wrong there."""
    found = _PLACE.search(str(error))
    if found is None:
        return 1, str(error)
    reason = str(error)[: found.start()]
    if found.group(1) is None:
        return text.count("\n") + 1, f"{reason} at the end"
    return int(found.group(1)), f"{reason} (column {found.group(2)})"
