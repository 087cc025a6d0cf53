"""What ends a command before it has done its work."""

from __future__ import annotations

import os


class UsageError(ValueError):
    """The command line, the settings or a file that they name cannot be used: exit 2.

    The text is for people; where a file is to blame it starts with the file and line.
    """


def running_is_forbidden() -> bool:
    """Whether the surroundings forbid to execute anything: `kvlint run`, `--confirm`. The action
    sets KVLINT_NO_RUN, since it checks the pull requests of strangers."""
    return bool(os.environ.get("KVLINT_NO_RUN"))
