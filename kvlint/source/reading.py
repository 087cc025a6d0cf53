"""Reads regular files whole, and nothing else: no device, pipe or socket that a checked repository
puts in a file's place can block a run or never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 10 * 1024 * 1024
"""The most that is read of a file to check, of settings, rules and the like."""
MAX_KEPT_BYTES = 256 * 1024 * 1024
"""The most that is read of what kvlint itself has written: caches, baselines."""
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # the open of a pipe would wait for its other end
)


def open_regular(path: str | Path) -> tuple[int, os.stat_result]:
    """A descriptor of a regular file, and its state. Raises OSError for anything else."""
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            is_folder = stat.S_ISDIR(status.st_mode)
            number = errno.EISDIR if is_folder else errno.EINVAL
            reason = os.strerror(errno.EISDIR) if is_folder else "is no regular file"
            raise OSError(number, reason, str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status


def read_regular(path: str | Path, limit: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file. Raises OSError, also for a file of more than `limit` bytes."""
    descriptor, status = open_regular(path)
    with open(descriptor, "rb", buffering=0) as handle:  # noqa: PTH123 - a descriptor
        if status.st_size <= limit:
            data = bytearray()
            while len(data) <= limit and (part := handle.read(limit + 1 - len(data))):
                data += part
            if len(data) <= limit:
                return bytes(data)
    raise OSError(errno.EFBIG, f"is larger than {limit >> 20} MB", str(path))


def read_text(path: str | Path, errors: str = "strict") -> str:
    """The same as UTF-8 text, every line end as a line feed. Raises OSError, UnicodeDecodeError."""
    text = read_regular(path).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")
