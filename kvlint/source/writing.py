"""Writes a whole file, so that whoever reads it gets the old content or the new."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Make `data` the content of a file, which is made, with its folders, where it is not there.

    A link is followed, the mode of the file stays. What is no regular file (`/dev/stdout`, a pipe)
    is written to as it is. Raises OSError; the file is then as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        path.write_bytes(data)
        return
    if mode is not None and not os.access(target, os.W_OK):  # a rename would get past that
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    beside = target.with_name(f".kvlint-{os.getpid()}.tmp")
    try:
        _write_new(beside, data)
        if mode is not None:
            beside.chmod(stat.S_IMODE(mode))
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _write_new(path: Path, data: bytes) -> None:
    """Not by `tempfile`: a file of its making would be closed to all but its owner."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
