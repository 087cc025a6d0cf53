"""What ends a command before it has done its work."""

from __future__ import annotations


class UsageError(ValueError):
    """The command line, the settings or a file that they name cannot be used: exit 2.

    The text is for people; where a file is to blame it starts with the file and line.
    """
