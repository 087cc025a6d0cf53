"""Run as a program by `source.writing`: overwrites a file whose inode has to stay.

Arguments: the file, how many bytes the new content has, the SHA-256 of the old. The new content
comes through standard input; the file is not touched before all of it is there. Imports nothing
of kvlint, so that it also runs isolated from where kvlint is installed.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from pathlib import Path

FAILED = 1
CHANGED = 3


def main(arguments: list[str]) -> int:
    target, size, digest = Path(arguments[0]), int(arguments[1]), arguments[2]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    new = sys.stdin.buffer.read()
    if len(new) != size:
        return FAILED  # the one who sends it is gone
    try:
        return _overwrite(target, new, digest)
    except OSError as error:
        print(error.strerror or error)
        return FAILED


def _overwrite(target: Path, new: bytes, digest: str) -> int:
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(target, flags), "r+b") as handle:
        old = handle.read()
        if hashlib.sha256(old).hexdigest() != digest:
            return CHANGED
        backup = _back_up(target, old)
        try:
            _fill(handle.fileno(), new)
        except OSError:
            _fill(handle.fileno(), old)
            backup.unlink()
            raise
        backup.unlink()
    return 0


def _back_up(target: Path, old: bytes) -> Path:
    """Write the old bytes beside the file, readable for its owner alone. A backup that lies there
    already is some earlier run's, and stays."""
    name = f".{target.name[:180]}.{os.urandom(4).hex()}.kvlint-backup"
    backup = target.with_name(name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(backup, flags, 0o600)
    with os.fdopen(descriptor, "wb") as copy:
        copy.write(old)
        copy.flush()
        os.fsync(copy.fileno())
    return backup


def _fill(descriptor: int, content: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
