"""A pool made on the spot: whatever the spelling of the class and of the binding."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "called at once": """
        DeepSeekV4SingleKVPool(1).get_kv_buffer(0)  # EXPECT KV101
    """,
    "two names in one assignment": """
        def f(cfg):
            a = b = DeepSeekV4SingleKVPool(cfg)
            b.get_kv_buffer(0)  # EXPECT KV101
    """,
    "unpacked tuple": """
        def f(cfg):
            size, pool = 4, DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "unpacked list": """
        def f(cfg):
            [size, pool] = [4, DeepSeekV4SingleKVPool(cfg)]
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "nested unpacking": """
        def f(cfg):
            (size, (pool, other)) = 4, (DeepSeekV4SingleKVPool(cfg), None)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "swap": """
        def f(cfg):
            a, b = DeepSeekV4SingleKVPool(cfg), MHATokenToKVPool(cfg)
            a, b = b, a
            a.get_kv_buffer(0)
            b.get_kv_buffer(0)  # EXPECT KV101
    """,
    "walrus": """
        def f(cfg):
            if (pool := DeepSeekV4SingleKVPool(cfg)) is not None:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "walrus as an argument": """
        def f(cfg):
            print(pool := DeepSeekV4SingleKVPool(cfg))
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "receiver is the walrus": """
        def f(cfg):
            (pool := DeepSeekV4SingleKVPool(cfg)).get_kv_buffer(0)  # EXPECT KV101
    """,
    "ternary of one class": """
        def f(cfg, big):
            pool = DeepSeekV4SingleKVPool(1) if big else DeepSeekV4SingleKVPool(2)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "ternary of two guarding classes": """
        def f(cfg, big):
            pool = DeepSeekV4SingleKVPool(1) if big else HiSparseC4DevicePool(2)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class chosen by a ternary": """
        def f(cfg, big):
            cls = DeepSeekV4SingleKVPool if big else HiSparseC4DevicePool
            pool = cls(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class chosen at the call": """
        def f(cfg, big):
            pool = (DeepSeekV4SingleKVPool if big else HiSparseC4DevicePool)(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class in a table": """
        POOLS = {"single": DeepSeekV4SingleKVPool, "c4": HiSparseC4DevicePool}
        def f(cfg, kind):
            pool = POOLS[kind](cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class in a table by a literal key": """
        POOLS = {"single": DeepSeekV4SingleKVPool, "mha": MHATokenToKVPool}
        def f(cfg):
            pool = POOLS["single"](cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class kept on self": """
        class Backend:
            pool_cls = DeepSeekV4SingleKVPool
            def __init__(self, cfg):
                self.pool = self.pool_cls(cfg)
            def step(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class of another object": """
        def f(other: DeepSeekV4SingleKVPool, cfg):
            pool = type(other)(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class of another object by attribute": """
        def f(other: DeepSeekV4SingleKVPool, cfg):
            pool = other.__class__(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "__new__": """
        def f():
            pool = DeepSeekV4SingleKVPool.__new__(DeepSeekV4SingleKVPool)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "object.__new__": """
        def f():
            pool = object.__new__(DeepSeekV4SingleKVPool)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "partial of the class": """
        from functools import partial
        make = partial(DeepSeekV4SingleKVPool, size=1)
        def f():
            make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "lambda": """
        def f(cfg):
            make = lambda: DeepSeekV4SingleKVPool(cfg)
            make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "lambda called at once": """
        def f(cfg):
            (lambda: DeepSeekV4SingleKVPool(cfg))().get_kv_buffer(0)  # EXPECT KV101
    """,
    "copy": """
        import copy
        def f(cfg):
            pool = copy.copy(DeepSeekV4SingleKVPool(cfg))
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "or fallback of a constructor": """
        def f(cfg, pool=None):
            pool = pool or DeepSeekV4SingleKVPool(cfg)
            kept = None or DeepSeekV4SingleKVPool(cfg)
            kept.get_kv_buffer(0)  # EXPECT KV101
    """,
    "default filled in": """
        def f(cfg, pool: DeepSeekV4SingleKVPool | None = None):
            if pool is None:
                pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "default filled in by or": """
        def f(cfg, pool: DeepSeekV4SingleKVPool | None = None):
            pool = pool or DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "in an f-string": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            return f"{pool.get_kv_buffer(0)}"  # EXPECT KV101
    """,
    "in a return": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            return pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "in an argument": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            attend(*pool.get_kv_buffer(0), key=1)  # EXPECT KV101
    """,
    "in a subscript": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            return pool.get_kv_buffer(0)[1]  # EXPECT KV101
    """,
    "in a decorator's argument": """
        pool = DeepSeekV4SingleKVPool(1)
        @register(pool.get_kv_buffer(0))  # EXPECT KV101
        def f():
            pass
    """,
    "in a default": """
        pool = DeepSeekV4SingleKVPool(1)
        def f(kv=pool.get_kv_buffer(0)):  # EXPECT KV101
            pass
    """,
    "in a comprehension": """
        def f(cfg, layers):
            pool = DeepSeekV4SingleKVPool(cfg)
            return [pool.get_kv_buffer(i) for i in layers]  # EXPECT KV101
    """,
    "in a dict comprehension": """
        def f(cfg, layers):
            pool = DeepSeekV4SingleKVPool(cfg)
            return {i: pool.get_kv_buffer(i) for i in layers}  # EXPECT KV101
    """,
    "in a lambda": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            return lambda i: pool.get_kv_buffer(i)  # EXPECT KV101
    """,
    "in a condition": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            if pool.get_kv_buffer(0) is None:  # EXPECT KV101
                return
            while pool.get_value_buffer(0):  # EXPECT KV101
                pass
    """,
    "in a raise, an assert and a delete": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            assert pool.get_kv_buffer(0), "no buffer"  # EXPECT KV101
            del pool.get_kv_buffer(0)[1]  # EXPECT KV101
            raise ValueError(pool.get_value_buffer(0))  # EXPECT KV101
    """,
    "in an augmented assignment": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            total = 0
            total += pool.get_value_buffer(0)  # EXPECT KV101
    """,
    "in a yield and an await": """
        async def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            yield pool.get_kv_buffer(0)  # EXPECT KV101
            await send(pool.get_kv_buffer(0))  # EXPECT KV101
    """,
    "in a slice, a set and a starred list": """
        def f(cfg, x):
            pool = DeepSeekV4SingleKVPool(cfg)
            x[pool.get_value_buffer(0):]  # EXPECT KV101
            {pool.get_value_buffer(0)}  # EXPECT KV101
            [*pool.get_kv_buffer(0)]  # EXPECT KV101
    """,
    "over several lines": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(
                cfg,
            )
            k, v = pool.get_kv_buffer(  # EXPECT KV101
                0,
            )
    """,
    "at module level": """
        pool = DeepSeekV4SingleKVPool(1)
        k, v = pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "under main": """
        if __name__ == "__main__":
            pool = DeepSeekV4SingleKVPool(1)
            k, v = pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "in a class body": """
        class Table:
            pool = DeepSeekV4SingleKVPool(1)
            kv = pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "every misuse in a row": """
        def f(cfg, layer, loc, k, v):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
            pool.get_value_buffer(0)  # EXPECT KV101
            pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV102
            pool.get_key_buffer(0)
    """,
    "k-only": """
        def f(cfg, layer, loc, k):
            pool = MHATokenToKOnlyPool(cfg)
            pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
            pool.get_value_buffer(0)  # EXPECT KV103
            pool.get_kv_buffer(0)  # EXPECT KV103
            pool.get_key_buffer(0)
    """,
    "no-op": """
        def f(cfg, layer, loc, k):
            pool = NoOpMHATokenToKVPool(cfg)
            pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV301
    """,
    "sparse parent": """
        def f(cfg, a, b):
            pool = MiniMaxSparseKVPool(cfg)
            pool.move_kv_cache(a, b)  # EXPECT KV103
    """,
    "host copies of a device pool": """
        def f(cfg, a):
            pool = HiSparseC4DevicePool(cfg)
            pool.get_cpu_copy(a)  # EXPECT KV103
            pool.load_cpu_copy(a, a)  # EXPECT KV103
    """,
    "absent": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_contiguous_buf_infos()  # EXPECT KV104
    """,
}

SILENT = {
    "class itself is not called": """
        def f():
            pool = DeepSeekV4SingleKVPool
            return pool
    """,
    "ternary with unknown": """
        def f(cfg, other, big):
            pool = DeepSeekV4SingleKVPool(1) if big else other
            pool.get_kv_buffer(0)
    """,
    "default that may be unknown": """
        def f(cfg, pool=None):
            pool = pool or DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)
    """,
    "class replaced by a parameter": """
        def f(DeepSeekV4SingleKVPool, cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)
    """,
    "class replaced in the module": """
        from elsewhere import pools
        DeepSeekV4SingleKVPool = pools.Other
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)
    """,
    "class defined in the project under the same name": """
        class DeepSeekV4SingleKVPool:
            def get_kv_buffer(self, layer): ...
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)
    """,
    "wrapped in something unknown": """
        from elsewhere import wrap
        def f(cfg):
            pool = wrap(DeepSeekV4SingleKVPool(cfg))
            pool.get_kv_buffer(0)
    """,
    "decorated by something unknown": """
        from elsewhere import patched
        Pool = patched(DeepSeekV4SingleKVPool)
        def f(cfg):
            Pool(cfg).get_kv_buffer(0)
    """,
    "method replaced on the object": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer = lambda layer: (1, 2)
            pool.get_kv_buffer(0)
    """,
    "method replaced on the class": """
        DeepSeekV4SingleKVPool.get_kv_buffer = lambda self, layer: (1, 2)
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)
    """,
    "method replaced through setattr": """
        def f(cfg, reader):
            pool = DeepSeekV4SingleKVPool(cfg)
            setattr(pool, "get_kv_buffer", reader)
            pool.get_kv_buffer(0)
    """,
    "patched by a mock": """
        from unittest import mock
        def test(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            with mock.patch.object(pool, "get_kv_buffer"):
                pool.get_kv_buffer(0)
    """,
    "patched by monkeypatch": """
        def test(cfg, monkeypatch):
            pool = DeepSeekV4SingleKVPool(cfg)
            monkeypatch.setattr(pool, "get_kv_buffer", lambda layer: (1, 2))
            pool.get_kv_buffer(0)
    """,
    "a mock with a spec": """
        from unittest.mock import MagicMock
        def test():
            pool = MagicMock(spec=DeepSeekV4SingleKVPool)
            pool.get_kv_buffer(0)
    """,
    "accessor that works": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_key_buffer(0)
            MHATokenToKVPool(cfg).get_kv_buffer(0)
    """,
    "named, not called": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            return pool.get_kv_buffer.__name__
    """,
    "after the end is not reached": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            return pool
            pool.get_kv_buffer(0)
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
