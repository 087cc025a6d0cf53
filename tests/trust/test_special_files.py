"""Pipes, devices, sockets and folders where a file is expected: never waited for, never read on and
on, and the rest of the run is reported."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import kvlint as run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such files")
BAD = (
    "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
    "def f(pool: DeepSeekV4SingleKVPool):\n"
    "    return pool.get_value_buffer(0)\n"
)
POOLS = """\
class KVCache:
    def get_value_buffer(self, layer_id): ...


class DeepSeekV4SingleKVPool(KVCache):
    def get_value_buffer(self, layer_id):
        raise NotImplementedError()
"""


def link_to_zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_socket(path: Path) -> None:
    """Bound by its name alone: paths of sockets have to be short."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(path.name)
    finally:
        os.chdir(here)


KINDS: list[Callable[[Path], None]] = [link_to_zero, os.mkfifo, a_socket, Path.mkdir]
PLACES = [
    "srt/mem_cache/other_pool.py",
    "srt/layers/attention/backend.py",
    "srt/server_args.py",
    "srt/arg_groups/hidden.py",
    "srt/environ.py",
    "version.py",
    "__init__.py",
    "multimodal_gen/runtime/platforms/interface.py",
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "bad.py").write_text(BAD)
    folder = tmp_path / "sglang" / "srt" / "mem_cache"
    folder.mkdir(parents=True)
    (folder / "deepseek_v4_memory_pool.py").write_text(POOLS)
    (folder / "memory_pool.py").write_text("class KVCache: ...\n")
    return tmp_path


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", KINDS)
def test_in_a_tree_of_sglang_that_is_checked(
    tree: Path, make: Callable[[Path], None], place: str
) -> None:
    path = tree / "sglang" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    done = run("check", ".", "--no-cache", "--jobs", "1", cwd=tree, timeout=30)
    assert done.returncode == 1
    assert "bad.py:3:12: KV103" in done.stdout
    pools = ("pools", "DeepSeekV4SingleKVPool", "--sglang", ".")
    assert run(*pools, cwd=tree, timeout=30).returncode == 0
    args = ("args", "--sglang", ".", "--", "python -m sglang.launch_server --model-path m")
    done = run(*args, cwd=tree, timeout=30)
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr


SETTINGS = [".gitignore", "kvlint.toml", "pyproject.toml", "requirements.txt", "other.py", "run.sh"]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("make", KINDS)
def test_beside_what_is_checked(tmp_path: Path, make: Callable[[Path], None], name: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "bad.py").write_text(f"import other\n{BAD}")
    make(tmp_path / name)
    done = run("check", ".", "--no-cache", cwd=tmp_path, timeout=30)
    assert done.returncode == 1
    assert "bad.py:4:12: KV101" in done.stdout


@pytest.mark.parametrize("make", KINDS)
def test_as_a_baseline(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    make(tmp_path / "known.json")
    done = run("check", ".", "--baseline", "known.json", cwd=tmp_path, timeout=30)
    assert done.returncode == 2
    assert "known.json: cannot be read" in done.stderr


@pytest.mark.parametrize("make", KINDS[:3])
def test_named_on_the_command_line(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.py")
    done = run("check", "a.py", cwd=tmp_path, timeout=30)
    assert done.returncode == 2
    assert done.stderr.startswith("a.py: error: is no regular file")
