"""Sub-pools: written past their parent, kept outside it, and used as what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "k-only through its parent": """
        def f(pool: MiniMaxSparseKVPool, layer, loc, k):
            pool.index_k_pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
    """,
    "k-only under a name": """
        def f(pool: MiniMaxSparseKVPool, layer, loc, k):
            index = pool.index_k_pool
            index.set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
    """,
    "k-only by getattr": """
        def f(pool: MiniMaxSparseKVPool, layer, loc, k):
            getattr(pool, "index_k_pool").set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
    """,
    "k-only read as a pair": """
        def f(pool: MiniMaxSparseKVPool):
            pool.index_k_pool.get_kv_buffer(0)  # EXPECT KV103
            pool.index_k_pool.get_value_buffer(0)  # EXPECT KV103
            pool.index_k_pool.get_key_buffer(0)
    """,
    "k-only kept by a backend and written": """
        class Backend:
            def __init__(self, pool: MiniMaxSparseKVPool):
                self.k_pool = pool.index_k_pool  # EXPECT KV203 warning
            def f(self, layer, loc, k):
                self.k_pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
    """,
    "main pool written": """
        def f(pool: MiniMaxSparseKVPool, layer, loc, k, v):
            pool.main_pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV202
            pool.dense_pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV202
    """,
    "halves of a sliding-window pool": """
        def f(pool: SWAKVPool, layer, loc, k, v):
            pool.full_kv_pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV202
            pool.swa_kv_pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV202
    """,
    "half under a name": """
        def f(pool: SWAKVPool, layer, loc, k, v):
            half = pool.swa_kv_pool if layer else pool.full_kv_pool
            half.set_kv_buffer(layer, loc, k, v)  # EXPECT KV202
    """,
    "half returned by a function": """
        def half(pool: SWAKVPool):
            return pool.swa_kv_pool
        def f(pool: SWAKVPool, layer, loc, k, v):
            half(pool).set_kv_buffer(layer, loc, k, v)  # EXPECT KV202
    """,
    "after a test of the parent": """
        def f(pool, layer, loc, k, v):
            if isinstance(pool, SWAKVPool):
                pool.swa_kv_pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV202
    """,
    "through an object": """
        class Runner:
            pool: SWAKVPool
        def f(runner: Runner, layer, loc, k, v):
            runner.pool.swa_kv_pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV202
    """,
    "single-KV sub-pools": """
        def f(pool: DeepSeekV4TokenToKVPool, layer, loc, k):
            pool.swa_kv_pool.get_kv_buffer(0)  # EXPECT KV101
            pool.c4_kv_pool.get_value_buffer(0)  # EXPECT KV101
            pool.c128_kv_pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV102
            pool.c4_kv_pool.set_key_buffer(layer, loc, k)  # EXPECT KV202
            pool.c4_indexer_kv_pool.get_key_buffer(0)  # EXPECT KV103
    """,
    "the parent itself": """
        def f(pool: DeepSeekV4TokenToKVPool, layer, loc, k):
            pool.get_key_buffer(0)  # EXPECT KV103
            pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV103
    """,
    "kept by a backend": """
        class Backend:
            def __init__(self, pool: SWAKVPool):
                self.swa = pool.swa_kv_pool  # EXPECT KV203 warning
                self.full: object = pool.full_kv_pool  # EXPECT KV203 warning
    """,
    "kept through a local": """
        class Backend:
            def __init__(self, pool: SWAKVPool):
                swa = pool.swa_kv_pool
                self.swa = swa  # EXPECT KV203 warning
    """,
    "kept as a pair": """
        class Backend:
            def __init__(self, pool: SWAKVPool):
                self.full, self.swa = pool.full_kv_pool, pool.swa_kv_pool  # EXPECT KV203 warning
    """,
    "kept on another object": """
        def f(layer, pool: MiniMaxSparseKVPool):
            layer.k_pool = pool.index_k_pool  # EXPECT KV203 warning
    """,
    "written by a bound method": """
        def f(pool: SWAKVPool, layer, loc, k, v):
            write = pool.swa_kv_pool.set_kv_buffer
            write(layer, loc, k, v)  # EXPECT KV202
    """,
    "rows moved": """
        def f(pool: SWAKVPool, a, b):
            pool.full_kv_pool.move_kv_cache(a, b)  # EXPECT KV202
    """,
}

SILENT = {
    "written through the parent": """
        def f(sparse: MiniMaxSparseKVPool, swa: SWAKVPool, layer, loc, k, v):
            sparse.set_index_k_buffer(layer, loc, k)
            sparse.set_kv_buffer(layer, loc, k, v)
            swa.set_kv_buffer(layer, loc, k, v)
    """,
    "read": """
        def f(pool: SWAKVPool, sparse: MiniMaxSparseKVPool):
            pool.full_kv_pool.get_kv_buffer(0)
            pool.swa_kv_pool.get_key_buffer(0)
            sparse.main_pool.get_kv_buffer(0)
            sparse.index_k_pool.get_key_buffer(0)
    """,
    "in a subclass of the parent": """
        class Mine(SWAKVPool):
            def set_kv_buffer(self, layer, loc, k, v, *scales):
                self.swa_kv_pool.set_kv_buffer(layer, loc, k, v)
                self.full_kv_pool.set_kv_buffer(layer, loc, k, v)
    """,
    "a local is no reference kept": """
        def f(pool: SWAKVPool):
            swa = pool.swa_kv_pool
            return swa.get_key_buffer(0)
    """,
    "a buffer kept, not the pool": """
        class Backend:
            def __init__(self, pool: SWAKVPool):
                self.k = pool.swa_kv_pool.get_key_buffer(0)
    """,
    "the parent kept": """
        class Backend:
            def __init__(self, pool: SWAKVPool):
                self.pool = pool
    """,
    "a pool of the same class that has no parent": """
        class Backend:
            def __init__(self, pool: MHATokenToKVPool):
                self.pool = pool
            def f(self, layer, loc, k, v):
                self.pool.set_kv_buffer(layer, loc, k, v)
    """,
    "an attribute of that name of something else": """
        class Other:
            def __init__(self, pool):
                self.swa_kv_pool = pool
        def f(other: Other, unknown, layer, loc, k, v):
            other.swa_kv_pool.set_kv_buffer(layer, loc, k, v)
            unknown.swa_kv_pool.set_kv_buffer(layer, loc, k, v)
    """,
    "either the parent or its half": """
        def f(pool, layer, loc, k, v):
            if isinstance(pool, SWAKVPool):
                pool = pool.full_kv_pool
            pool.set_kv_buffer(layer, loc, k, v)
    """,
    "kept by an allocator": """
        from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator
        class Mine(SWATokenToKVPoolAllocator):
            def __init__(self, pool: SWAKVPool):
                self._full = pool.full_kv_pool
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
