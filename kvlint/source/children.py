"""Child processes of `check`: Python alone, in a folder and an environment of its own.

Without that a `typing.py` in the folder that kvlint is started in would run in each of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_NEEDED = ("SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
"""What Python needs of the environment on Windows, and where scratch files go."""


def isolated(arguments: Sequence[str]) -> list[str]:
    """The command that runs this Python, reading no PYTHON* variable and no folder but its own."""
    return [sys.executable, "-I", *arguments]


def surroundings() -> dict[str, Any]:
    """The keyword arguments of `subprocess` for such a command."""
    environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    return {"env": environment, "cwd": Path(sys.executable).anchor}


def run_isolated(
    arguments: Sequence[str], data: bytes, seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run Python so, with `data` on its standard input.

    Raises OSError, and subprocess.TimeoutExpired after so many seconds.
    """
    return subprocess.run(
        isolated(arguments), input=data, capture_output=True, timeout=seconds, **surroundings()
    )
