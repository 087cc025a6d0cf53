"""All writing of kvlint: whoever reads a file, at any moment, gets the old bytes or the new.

New bytes go to a file beside the old one that then takes its name. It has a name that nobody can
guess and is made where nothing was (O_EXCL), so no link that lies ready is ever followed; what a
killed run left of such files is removed by the next one that writes in the folder.

A rename would part a file from its other hard links, or give it to another owner; there a process
of its own writes in place: it has all the new bytes before it begins and is in a session of its
own, so that killing kvlint does not stop it halfway. Only there can a reader meet a file half
written. Should the machine stop meanwhile, the old bytes lie beside the file under a name that
ends in `.kvlint-backup`.

No library does this: those that rename give up the links and the owner, and none asks whether the
file is still the one that was read. Between that question and the rename a moment remains in which
another program's write is lost; file systems have no way to close it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import subprocess
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from kvlint.source import write_in_place
from kvlint.source.boundary import Boundary
from kvlint.source.children import isolated, surroundings
from kvlint.source.reading import open_regular

_SCRATCH = re.compile(r"\.kvlint-(\d+)-[0-9a-f]{16}\.tmp")
_KEPT_BY_THE_SYSTEM = "security."
"""Extended attributes with this prefix come from the system's own rules."""


class WriteError(Exception):
    """The file cannot be written; it is as it was. The text says why."""


class ChangedOnDisk(WriteError):
    """The file is no longer what was read, and was left alone."""


def write_whole(path: Path, data: bytes) -> None:
    """Make `data` the content of a file, which is made, with its folders, where it is not there.

    A link is followed where it stays in its repository, the mode of the file stays. What is no
    regular file (`/dev/stdout`, a pipe) is written to as it is. Raises OSError; the file is then
    as it was.
    """
    place = Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps `..`
    if Boundary([Path.cwd(), place.parent]).leads_out(place):
        raise OSError(errno.ELOOP, "a link on its way leads out of the repository", str(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    target = Path(os.path.realpath(place))
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        _write_through(path, data)
        return
    if mode is not None and not os.access(target, os.W_OK):  # a rename would get past that
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    put(target, data, mode)


def _write_through(path: Path, data: bytes) -> None:
    """Into a pipe or device, as long as somebody reads it: to open one that nobody does would wait
    for ever."""
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(data)


def put(target: Path, data: bytes, mode: int | None = None) -> None:
    """Give `target`, be it there or not, new content by a rename; a link there is replaced, never
    followed. Its folder must exist. Raises OSError."""
    beside = _scratch(target.parent)
    try:
        with os.fdopen(_open_new(beside), "wb") as handle:
            handle.write(data)
            handle.flush()
            if mode is not None:
                beside.chmod(stat.S_IMODE(mode))
            os.fsync(handle.fileno())
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def put_new(target: Path, data: bytes) -> None:
    """Make a file that is not there yet. Raises OSError, FileExistsError where it is."""
    with os.fdopen(_open_new(target), "wb") as handle:
        handle.write(data)


def is_own_folder(folder: Path) -> bool:
    """Whether a folder is one, no link to one, and belongs to whoever runs kvlint."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _is_ours(status)


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


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _is_ours(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _scratch(folder: Path) -> Path:
    """A name for new bytes in a folder, which is first rid of what killed runs left there."""
    _remove_left_overs(folder)
    return folder / f".kvlint-{os.getpid()}-{secrets.token_hex(8)}.tmp"


def _open_new(path: Path, mode: int = 0o666) -> int:
    """Not by `tempfile`: a file of its making is closed to all but its owner."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, mode)


@lru_cache(maxsize=4096)
def _remove_left_overs(folder: Path) -> None:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = _SCRATCH.fullmatch(entry.name)
            if name is None or _is_alive(int(name[1])):
                continue
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and _is_ours(status):
                os.unlink(entry.path)  # noqa: PTH108 - an entry of os.scandir


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _check(target: Path, old: bytes) -> os.stat_result:
    descriptor, status = open_regular(target)
    with os.fdopen(descriptor, "rb") as handle:
        if handle.read(len(old) + 1) != old:
            raise ChangedOnDisk("has changed since it was read")
    writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    if not status.st_mode & writable or not os.access(target, os.W_OK):
        raise WriteError("is read-only")  # a rename would get past that
    return status


def _replace(target: Path, status: os.stat_result, old: bytes, new: bytes) -> bool:
    """Write beside the file and rename; False where the new file cannot be made its equal."""
    beside = _scratch(target.parent)
    try:
        with os.fdopen(_open_new(beside, 0o600), "wb") as handle:
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
    command = isolated(
        (
            *("-S", write_in_place.__file__, str(target)),
            *(str(len(new)), hashlib.sha256(old).hexdigest()),
        )
    )
    # Not subprocess.run: it would kill the writer when ctrl-C comes.
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        **surroundings(),
    ) as writer:
        message, _ = writer.communicate(new)
    if writer.returncode == write_in_place.CHANGED:
        raise ChangedOnDisk("has changed since it was read")
    if writer.returncode:
        reason = message.decode("utf-8", "replace").strip()
        raise WriteError(f"cannot be written: {reason or 'its writer ended early'}")
