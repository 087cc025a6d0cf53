"""Raw storage written past the pool that owns it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "one layer": """
        def f(pool: MHATokenToKVPool, loc, k):
            pool.k_buffer[0][loc] = k  # EXPECT KV204
    """,
    "layer under a name": """
        def f(pool: MHATokenToKVPool, layer, loc, k):
            buffer = pool.k_buffer[layer]
            buffer[loc] = k  # EXPECT KV204
    """,
    "list under a name": """
        def f(pool: MHATokenToKVPool, layer, loc, v):
            buffers = pool.v_buffer
            buffers[layer][loc] = v  # EXPECT KV204
    """,
    "whole layer replaced": """
        def f(pool: MHATokenToKVPool, layer, v):
            pool.v_buffer[layer] = v  # EXPECT KV204 warning
    """,
    "in place": """
        def f(pool: MHATokenToKVPool, loc, k):
            pool.k_buffer[0].copy_(k)  # EXPECT KV204 warning
            pool.k_buffer[0].index_copy_(0, loc, k)  # EXPECT KV204
            pool.k_buffer[0].index_put_((loc,), k)  # EXPECT KV204
            pool.v_buffer[0].zero_()  # EXPECT KV204 warning
            pool.v_buffer[0].fill_(0)  # EXPECT KV204 warning
            pool.v_buffer[0].scatter_(0, loc, k)  # EXPECT KV204
    """,
    "in place on a view": """
        def f(pool: MHATokenToKVPool, loc, k):
            pool.k_buffer[0][1:3].copy_(k)  # EXPECT KV204
            pool.k_buffer[0].view(-1, 8)[loc] = k  # EXPECT KV204
            pool.k_buffer[0][1:3, :, 0] = k  # EXPECT KV204
    """,
    "augmented": """
        def f(pool: MHATokenToKVPool, loc, k):
            pool.k_buffer[0][loc] += k  # EXPECT KV204
    """,
    "loop over the layers": """
        def f(pool: MHATokenToKVPool, loc, k):
            for buffer in pool.k_buffer:
                buffer[loc] = k  # EXPECT KV204
            for k_buf, v_buf in zip(pool.k_buffer, pool.v_buffer):
                v_buf[loc] = k  # EXPECT KV204
    """,
    "latent pool": """
        def f(pool: MLATokenToKVPool, loc, k):
            pool.kv_buffer[0][loc] = k  # EXPECT KV204
    """,
    "single-KV pool": """
        def f(pool: DeepSeekV4SingleKVPool, loc, k):
            pool.kv_buffer[0][loc] = k  # EXPECT KV204
    """,
    "sub-pool": """
        def f(pool: SWAKVPool, loc, k):
            pool.swa_kv_pool.k_buffer[0][loc] = k  # EXPECT KV204
    """,
    "kept pool": """
        class Backend:
            def __init__(self, pool: MHATokenToKVPool):
                self.pool = pool
            def f(self, loc, k):
                self.pool.k_buffer[0][loc] = k  # EXPECT KV204
    """,
    "getattr": """
        def f(pool: MHATokenToKVPool, loc, k):
            getattr(pool, "k_buffer")[0][loc] = k  # EXPECT KV204
    """,
    "torch function with out": """
        import torch
        def f(pool: MHATokenToKVPool, a, b):
            torch.add(a, b, out=pool.k_buffer[0])  # EXPECT KV204
    """,
    "setitem called": """
        def f(pool: MHATokenToKVPool, loc, k):
            pool.k_buffer[0].__setitem__(loc, k)  # EXPECT KV204
    """,
    "any pool": """
        def f(pool: KVCache, loc, k):
            pool.k_buffer[0][loc] = k  # EXPECT KV204
    """,
}

SILENT = {
    "the attribute itself replaced": """
        def f(pool: MHATokenToKVPool, buffers):
            pool.k_buffer = buffers
    """,
    "read": """
        def f(pool: MHATokenToKVPool, loc):
            k = pool.k_buffer[0][loc]
            return k.clone(), pool.v_buffer[0].shape, len(pool.k_buffer)
    """,
    "copied out and changed": """
        def f(pool: MHATokenToKVPool, loc, k):
            rows = pool.k_buffer[0][loc].clone()
            rows[0] = k
            more = pool.k_buffer[0].float()
            more.zero_()
    """,
    "copied from": """
        def f(pool: MHATokenToKVPool, out):
            out.copy_(pool.k_buffer[0])
            out[0] = pool.k_buffer[0]
    """,
    "written through the pool": """
        def f(pool: MHATokenToKVPool, layer, loc, k, v):
            pool.set_kv_buffer(layer, loc, k, v)
    """,
    "in a subclass": """
        class Mine(MHATokenToKVPool):
            def clear(self, loc):
                self.k_buffer[0][loc] = 0
                self.v_buffer[0].zero_()
    """,
    "another object's buffer": """
        class Table:
            def __init__(self):
                self.k_buffer = []
        def f(table: Table, unknown, loc, k):
            table.k_buffer[0][loc] = k
            unknown.k_buffer[0][loc] = k
    """,
    "a buffer of its own": """
        import torch
        def f(pool: MHATokenToKVPool, loc, k):
            k_buffer = torch.zeros_like(pool.k_buffer[0])
            k_buffer[loc] = k
    """,
    "a list of buffers of its own": """
        def f(pool: MHATokenToKVPool, k):
            buffers = list(pool.k_buffer)
            buffers[0] = k
            other = [b for b in pool.k_buffer]
            other.append(k)
    """,
    "scatter into something else": """
        import torch
        def f(pool: MHATokenToKVPool, out, loc):
            torch.add(pool.k_buffer[0], 1, out=out)
            torch.index_select(pool.k_buffer[0], 0, loc)
    """,
    "comparison": """
        import torch
        def test(pool: MHATokenToKVPool, k):
            torch.testing.assert_close(pool.k_buffer[0], k)
            assert pool.k_buffer[0].sum() == 0
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
