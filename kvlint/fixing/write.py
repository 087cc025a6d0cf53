"""Writes a fixed file so that whoever reads it, at any moment, gets the old bytes or the new.

Usually the new bytes go to a file beside it that then takes its name. A rename would part the
file from its other hard links, or give it to another owner; there a process of its own writes in
place: it has all the new bytes before it begins and is in a session of its own, so that killing
kvlint does not stop it halfway. Should the machine stop meanwhile, the old bytes lie beside the
file under the name `.NAME.kvlint-backup`.

No library does this: those that rename give up the links and the owner, and none asks whether the
file is still the one that was read. Between that question and the rename a moment remains in which
another program's write is lost; file systems have no way to close it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from kvlint.fixing import write_in_place

_KEPT_BY_THE_SYSTEM = "security."
"""Extended attributes with this prefix come from the system's own rules."""


class WriteError(Exception):
    """The file cannot be written; it is as it was. The text says why."""


class ChangedOnDisk(WriteError):
    """The file is no longer what was read, and was left alone."""


def write_atomically(path: Path, old: bytes, new: bytes) -> None:
    """Replace the content `old` of a file by `new`.

    A symbolic link is followed. The file's mode, owner, extended attributes and hard links stay.
    Raises ChangedOnDisk where the file does not hold `old`, WriteError where it cannot be written.
    """
    try:
        target = path.resolve(strict=True)
        status = _check(target, old)
        if status.st_nlink > 1 or not _replace(target, status, old, new):
            _write_in_place(target, old, new)
    except FileNotFoundError as error:
        raise ChangedOnDisk("has been removed since it was read") from error
    except OSError as error:
        raise WriteError(f"cannot be written: {error.strerror or error}") from error
    except RuntimeError as error:  # resolve() of a loop of links, before Python 3.13
        raise WriteError(f"cannot be written: {error}") from error


def _check(target: Path, old: bytes) -> os.stat_result:
    with target.open("rb") as handle:
        status = os.fstat(handle.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise WriteError("is no regular file")
        if handle.read() != old:
            raise ChangedOnDisk("has changed since it was read")
    writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    if not status.st_mode & writable or not os.access(target, os.W_OK):
        raise WriteError("is read-only")  # a rename would get past that
    return status


def _replace(target: Path, status: os.stat_result, old: bytes, new: bytes) -> bool:
    """Write beside the file and rename; False where the new file cannot be made its equal."""
    descriptor, name = tempfile.mkstemp(".tmp", ".kvlint-", target.parent)
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(new)
            handle.flush()
            if not _take_after(handle.fileno(), target, status):
                beside.unlink()
                return False
            os.fsync(handle.fileno())
        _check(target, old)
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    return True


def _take_after(descriptor: int, target: Path, status: os.stat_result) -> bool:
    """Give the file the owner, extended attributes and mode of `target`."""
    if sys.platform == "win32":
        return True
    try:
        if (status.st_uid, status.st_gid) != _owner(descriptor):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        if sys.platform == "linux":
            _copy_attributes(descriptor, target)
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    except OSError:
        return False
    return True


def _owner(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_uid, status.st_gid


def _copy_attributes(descriptor: int, target: Path) -> None:
    if sys.platform != "linux":
        return
    for name in os.listxattr(target):
        if not name.startswith(_KEPT_BY_THE_SYSTEM):
            os.setxattr(descriptor, name, os.getxattr(target, name))


def _write_in_place(target: Path, old: bytes, new: bytes) -> None:
    command = [
        *(sys.executable, "-I", "-S", write_in_place.__file__),
        *(str(target), str(len(new)), hashlib.sha256(old).hexdigest()),
    ]
    # Not subprocess.run: it would kill the writer when ctrl-C comes.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as writer:
        message, _ = writer.communicate(new)
    if writer.returncode == write_in_place.CHANGED:
        raise ChangedOnDisk("has changed since it was read")
    if writer.returncode:
        reason = message.decode("utf-8", "replace").strip()
        raise WriteError(f"cannot be written: {reason or 'its writer ended early'}")
