"""The folder `.kvlint_cache`: what kvlint itself has written, and nothing that only looks like it.

Each file is sealed: its head is a digest of its body and of the folder's own mark, whose inode and
time of change no checkout and no copy can give. So what a repository brings along is never read as
a result. A folder that is a link, or another user's, is not used at all.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from kvlint.source.reading import MAX_KEPT_BYTES, read_regular
from kvlint.source.writing import is_own_folder, put, put_new

FOLDER = ".kvlint_cache"
RESTS, CATALOGUES = "rests", "catalogues"
_MARK = "CACHEDIR.TAG"


def prepare(home: Path) -> None:
    """Make the folder, and keep it out of git and of backups. Raises OSError."""
    if not os.path.lexists(home / _MARK):
        home.mkdir(parents=True, exist_ok=True)
        put(home / ".gitignore", b"*\n")
        with suppress(FileExistsError):  # another kvlint's, at the same moment: its mark holds
            put_new(home / _MARK, b"Signature: 8a477f597d28d172789f06886806bc55\n")
        _seal.cache_clear()


def problem_with(home: Path) -> str:
    """Why a folder that stands in a checked repository is not used; an empty text where it is."""
    for place in (home, home / RESTS, home / CATALOGUES):
        if os.path.lexists(place) and not is_own_folder(place):
            return "is a link" if place.is_symlink() else "is no folder of yours"
    return ""


def read_sealed(home: Path, path: Path) -> bytes | None:
    """The body of a file below `home`; None where it is missing, damaged or not kvlint's own."""
    try:
        if not is_own_folder(path.parent):
            return None
        head, _, body = read_regular(path, MAX_KEPT_BYTES).partition(b"\n")
        return body if head == _sealed(home, body) else None
    except OSError:
        return None


def write_sealed(home: Path, path: Path, body: bytes) -> None:
    """Raises OSError."""
    prepare(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_own_folder(path.parent):
        put(path, _sealed(home, body) + b"\n" + body)


def _sealed(home: Path, body: bytes) -> bytes:
    return hashlib.sha256(_seal(home) + body).hexdigest().encode()


@lru_cache(maxsize=16)
def _seal(home: Path) -> bytes:
    """Raises OSError."""
    status = (home / _MARK).lstat()
    return f"{status.st_dev} {status.st_ino} {status.st_ctime_ns}\n".encode()
