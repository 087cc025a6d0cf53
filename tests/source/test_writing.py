"""A file is old or new, and stays the file it was."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvlint.source import write_in_place, writing
from kvlint.source.writing import ChangedOnDisk, WriteError, write_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX links, modes and owners")
OLD, NEW = b"old\r\n", b"new and longer\r\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    return path


def test_content_is_replaced_and_nothing_else_left(file: Path) -> None:
    write_atomically(file, OLD, NEW)
    assert file.read_bytes() == NEW
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o4711, 0o666])
def test_mode_stays(file: Path, mode: int) -> None:
    file.chmod(mode)
    before = os.umask(0o077)
    try:
        write_atomically(file, OLD, NEW)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_changed_file_is_left_alone(file: Path) -> None:
    file.write_bytes(b"someone else's")
    with pytest.raises(ChangedOnDisk, match="has changed since it was read"):
        write_atomically(file, OLD, NEW)
    assert file.read_bytes() == b"someone else's"
    assert list(file.parent.iterdir()) == [file]


def test_a_file_changed_while_the_new_one_is_written(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = writing._take_after

    def slow(descriptor: int, target: Path, status: os.stat_result) -> bool:
        file.write_bytes(b"someone else's")
        return real(descriptor, target, status)

    monkeypatch.setattr(writing, "_take_after", slow)
    with pytest.raises(ChangedOnDisk):
        write_atomically(file, OLD, NEW)
    assert file.read_bytes() == b"someone else's"
    assert list(file.parent.iterdir()) == [file]


def test_a_removed_file_is_not_made_again(file: Path) -> None:
    file.unlink()
    with pytest.raises(ChangedOnDisk, match="has been removed"):
        write_atomically(file, OLD, NEW)
    assert not file.exists()


def test_symbolic_links_stay(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    first, second = folder / "b.py", tmp_path / "c.py"
    first.symlink_to(Path("..") / "a.py")
    second.symlink_to(first)
    write_atomically(second, OLD, NEW)
    assert (first.is_symlink(), second.is_symlink()) == (True, True)
    assert not file.is_symlink()
    assert file.read_bytes() == NEW


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(WriteError):
        write_atomically(tmp_path / "a", OLD, NEW)


@pytest.mark.parametrize("new", [NEW, b"", b"x" * 1_000_000])
def test_hard_links_stay(file: Path, new: bytes) -> None:
    other = file.with_name("other.py")
    other.hardlink_to(file)
    file.chmod(0o640)
    write_atomically(file, OLD, new)
    assert other.read_bytes() == file.read_bytes() == new
    assert other.samefile(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(file.parent.iterdir()) == [file, other]


def test_a_changed_file_with_hard_links(file: Path) -> None:
    file.with_name("other.py").hardlink_to(file)
    digest_of_another_text = "0" * 64
    done = subprocess.run(
        [sys.executable, write_in_place.__file__, file, str(len(NEW)), digest_of_another_text],
        input=NEW,
        check=False,
    )
    assert done.returncode == write_in_place.CHANGED
    assert file.read_bytes() == OLD


def test_a_writer_whose_kvlint_was_killed_early_does_nothing(file: Path) -> None:
    file.with_name("other.py").hardlink_to(file)
    done = subprocess.run(
        [sys.executable, write_in_place.__file__, file, str(len(NEW)), "0" * 64],
        input=NEW[:-1],
        check=False,
    )
    assert done.returncode == write_in_place.FAILED
    assert file.read_bytes() == OLD


def test_the_backup_of_an_interrupted_run_stays_and_blocks_nothing(file: Path) -> None:
    file.with_name("other.py").hardlink_to(file)
    backup = file.with_name(".a.py.kvlint-backup")
    backup.write_bytes(b"the only copy")
    write_atomically(file, OLD, NEW)
    assert (file.read_bytes(), backup.read_bytes()) == (NEW, b"the only copy")
    assert len(list(file.parent.iterdir())) == 3


def test_read_only_files_stay(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(WriteError, match="is read-only"):
        write_atomically(file, OLD, NEW)
    assert file.read_bytes() == OLD


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_read_only_folders(file: Path) -> None:
    file.parent.chmod(0o555)
    try:
        with pytest.raises(WriteError, match="Permission denied"):
            write_atomically(file, OLD, NEW)
    finally:
        file.parent.chmod(0o755)
    assert file.read_bytes() == OLD


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 1234, 4321)
    file.chmod(0o2755)
    write_atomically(file, OLD, NEW)
    status = file.stat()
    assert (status.st_uid, status.st_gid) == (1234, 4321)
    assert stat.S_IMODE(status.st_mode) == 0o2755


def test_an_owner_that_cannot_be_given_keeps_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inode = file.stat().st_ino
    monkeypatch.setattr(writing, "_take_after", lambda *_: False)
    write_atomically(file, OLD, NEW)
    assert (file.stat().st_ino, file.read_bytes()) == (inode, NEW)
    assert list(file.parent.iterdir()) == [file]


def test_extended_attributes_stay(file: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("Linux has them")
    try:
        os.setxattr(file, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    write_atomically(file, OLD, NEW)
    assert os.getxattr(file, "user.note") == b"mine"


def test_folders_and_devices_are_no_files(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(WriteError):
            write_atomically(path, b"", NEW)


_WRITER = """
import pathlib, sys
from kvlint.source.writing import write_atomically
path, old, new = pathlib.Path(sys.argv[1]), b"o" * 3_000_000, b"n" * 4_000_000
print("ready", flush=True)
while True:
    write_atomically(path, old, new)
    write_atomically(path, new, old)
"""


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("delay", [0.02, 0.11, 0.23])
def test_killed_while_it_writes(tmp_path: Path, links: int, delay: float) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"o" * 3_000_000)
    if links == 2:
        (tmp_path / "b.py").hardlink_to(file)
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(file)], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
    for _ in range(200):  # a writer in place that has begun still ends its work
        if file.read_bytes() in (b"o" * 3_000_000, b"n" * 4_000_000) and not list(
            tmp_path.glob(".*backup")
        ):
            break
        time.sleep(0.05)
    assert file.read_bytes() in (b"o" * 3_000_000, b"n" * 4_000_000)
    assert file.stat().st_nlink == links
