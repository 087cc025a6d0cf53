"""Contracts (KV4): the ways in which a receiver, a class or a result travels, with silent twins."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.inference.programs import assert_as_marked

HEAD = """\
import contextlib
import functools
import typing
import torch
from sglang.srt.mem_cache import memory_pool
from sglang.srt.mem_cache.allocator import TokenToKVPoolAllocator
from sglang.srt.mem_cache.hicache_storage import HiCacheStorage
from sglang.srt.mem_cache.memory_pool import (
    DSATokenToKVPool, MambaPool, MLATokenToKVPool, unwrap_write_loc)
"""
WAYS = {
    "call, bound method": """
        def f(p: MLATokenToKVPool, layer, loc, k, v):
            write = p.set_kv_buffer
            write(layer, loc, k, v, 1.0, 1.0)  # EXPECT KV402
            write(layer, loc, k, v)
    """,
    "call, through the class": """
        def f(p: MLATokenToKVPool, layer, loc, k, v):
            MLATokenToKVPool.set_kv_buffer(p, layer, loc, k, v, 1.0, 1.0)  # EXPECT KV402
            MLATokenToKVPool.set_kv_buffer(p, layer, loc, k, v)
    """,
    "call, partial": """
        def f(p: MLATokenToKVPool, layer, loc, k, v):
            write = functools.partial(p.set_kv_buffer, layer)
            write(loc, k, v, 1.0, 1.0)  # EXPECT KV402
            write(loc, k, v)
    """,
    "call, super": """
        class Mine(MLATokenToKVPool):
            def set_kv_buffer(self, layer, loc, k, v, *scales, **more):
                super().set_kv_buffer(layer, loc, k, v, 1.0, 1.0)  # EXPECT KV402
                super().set_kv_buffer(layer, loc, k, v)
    """,
    "call, expected to fail": """
        def f(p: MLATokenToKVPool, layer, loc, k, v):
            try:
                p.set_kv_buffer(layer, loc, k, v, 1.0, 1.0)
            except TypeError:
                p.set_kv_buffer(layer, loc, k, v)
    """,
    "construction, of a dict": """
        KINDS = {"token": TokenToKVPoolAllocator}
        def f(pool):
            return KINDS["token"](64, 1, torch.bfloat16, "cpu", pool, False)  # EXPECT KV404
        def g(pool):
            return KINDS["token"](64, torch.bfloat16, "cpu", pool, False)
    """,
    "construction, partial": """
        def f(pool):
            make = functools.partial(TokenToKVPoolAllocator, 64)
            make(1, torch.bfloat16, "cpu", pool, False)  # EXPECT KV404
            make(torch.bfloat16, "cpu", pool, False)
    """,
    "construction, base named": """
        class Mine(TokenToKVPoolAllocator):
            def __init__(self, size, device, pool):
                TokenToKVPoolAllocator.__init__(  # EXPECT KV404
                    self, size, 1, torch.bfloat16, device, pool, False
                )
        class Other(TokenToKVPoolAllocator):
            def __init__(self, size, device, pool):
                TokenToKVPoolAllocator.__init__(self, size, torch.bfloat16, device, pool, False)
    """,
    "result, kept in an attribute": """
        class A:
            def __init__(self, p: MLATokenToKVPool):
                self.infos = p.get_contiguous_buf_infos()
            def f(self):
                a, b = self.infos  # EXPECT KV405
                a, b, c = self.infos
    """,
    "result, of a function": """
        def f(x, ok):
            a, b = memory_pool.unwrap_write_loc(x)  # EXPECT KV405
            a, *b = unwrap_write_loc(x)
            a, b = unwrap_write_loc(x) if ok else (1, 2)
    """,
    "dispatch, match": """
        def f(p):
            match p:
                case MLATokenToKVPool():
                    return 1
                case DSATokenToKVPool():  # EXPECT KV406
                    return 2
        def g(p):
            match p:
                case MLATokenToKVPool() if p.page_size > 1:
                    return 1
                case DSATokenToKVPool():
                    return 2
    """,
    "dispatch, in a loop": """
        def f(pools):
            for p in pools:
                if isinstance(p, MLATokenToKVPool):
                    continue
                if isinstance(p, DSATokenToKVPool):  # EXPECT KV406
                    return 2
        def g(pools):
            for p in pools:
                if isinstance(p, DSATokenToKVPool):
                    continue
                if isinstance(p, MLATokenToKVPool):
                    return 2
    """,
    "dispatch, said twice in one condition": """
        def f(p):
            return isinstance(p, MLATokenToKVPool) or isinstance(p, DSATokenToKVPool)
    """,
    "replacement, setattr": """
        class Mine(MambaPool):
            def __init__(self, *, size, device):  # EXPECT KV403
                self.size = size
        setattr(memory_pool, "MambaPool", Mine)
    """,
    "override, base read with getattr": """
        Base = getattr(memory_pool, "DSATokenToKVPool")
        class Mine(Base):
            def get_cpu_copy(self, indices):  # EXPECT KV401
                return 1
        class Other(Base):
            def get_cpu_copy(self, indices, **more):
                return 1
    """,
    "implementation, class from a function": """
        class Store(HiCacheStorage):
            def get(self, key, target_location=None, target_sizes=None): ...
        def kind():
            return Store
        MADE = kind()()  # EXPECT KV410
    """,
    "name, of a module": """
        def f():
            return memory_pool.NSATokenToKVPool  # EXPECT KV411
        def g():
            if hasattr(memory_pool, "NSATokenToKVPool"):
                return memory_pool.NSATokenToKVPool
    """,
    "name, a module": """
        from sglang.srt.mem_cache import multi_ended_allocator  # EXPECT KV411
        with contextlib.suppress(ImportError):
            import sglang.srt.mem_cache.multi_ended_allocator
    """,
}


@pytest.mark.parametrize("source", WAYS.values(), ids=WAYS)
def test_way(source: str, tmp_path: Path) -> None:
    assert_as_marked({"program.py": HEAD + dedent(source)}, tmp_path)
