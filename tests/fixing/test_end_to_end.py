"""`kvlint check --fix` on files, with the real checks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.running import kvlint

BEFORE = """\
from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool
from sglang.srt.mem_cache.memory_pool import MiniMaxSparseKVPool

class Backend:
    def __init__(self, pool: DeepSeekV4SingleKVPool, sparse: MiniMaxSparseKVPool):
        self.pool = pool
        self.sparse = sparse

    def read(self, layer_id):
        k, v = self.pool.get_kv_buffer(layer_id)  # größe
        first = self.pool.get_kv_buffer(layer_id)[0]; self.last = k
        return k, first

    def both(self, layer_id):
        k, v = self.pool.get_kv_buffer(layer_id)
        return k, v

    def store(self, layer, loc, k, v):
        self.sparse.index_k_pool.set_kv_buffer(layer, loc, k, v)
"""
SAFE = (
    BEFORE.replace("k, v = self.pool.get_kv_buffer(layer_id)  #", "k = self.pool.{}(layer_id)  #")
    .replace("get_kv_buffer(layer_id)[0]", "{}(layer_id)")
    .replace("{}", "get_key_buffer")
    .replace("index_k_pool.set_kv_buffer(layer, loc, k, v)", "set_index_k_buffer(layer, loc, k)")
)
ALL = SAFE.replace("k, v = self.pool.get_kv_buffer", "k = v = self.pool.get_key_buffer")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "backend.py"
    path.write_bytes(b"\xef\xbb\xbf" + BEFORE.replace("\n", "\r\n").encode())
    return path


def run(file: Path, *options: str) -> tuple[int, str]:
    done = kvlint("check", "--no-cache", "--sglang", "0.5.23", *options, file, cwd=file.parent)
    text = file.read_bytes().decode("utf-8-sig")
    assert text.count("\n") == text.count("\r\n") == BEFORE.count("\n")
    return done.returncode, text.replace("\r\n", "\n")


def test_safe_fixes_then_all_then_nothing_left(file: Path) -> None:
    assert run(file, "--fix") == (1, SAFE)
    assert run(file, "--fix") == (1, SAFE)
    assert run(file, "--fix", "--unsafe-fixes") == (0, ALL)
    assert run(file, "--fix", "--unsafe-fixes") == (0, ALL)


def test_a_diff_writes_nothing(file: Path) -> None:
    assert run(file, "--diff")[1] == BEFORE


@pytest.mark.skipif(os.name == "nt", reason="a mode of POSIX")
def test_a_read_only_file_is_reported(file: Path) -> None:
    file.chmod(0o444)
    done = kvlint("check", "--no-cache", "--sglang", "0.5.23", "--fix", file, cwd=file.parent)
    assert "is read-only" in done.stderr
    assert done.returncode == 2
    assert run(file, "--diff")[1] == BEFORE
