"""Version numbers and specifiers that somebody wrote: of any length, and not always ones."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet
from packaging.version import Version

_LONGEST = 200
"""Characters. Python refuses to read numbers of thousands of digits, in words about integers."""


def version_of(text: str) -> Version | None:
    """The version that a text is, None where it is none."""
    try:
        return Version(text) if len(text) <= _LONGEST else None
    except ValueError:
        return None


def specifiers_of(text: str) -> SpecifierSet | None:
    """The specifiers that a text is, None where it is none."""
    try:
        return SpecifierSet(text) if len(text) <= _LONGEST else None
    except ValueError:
        return None
