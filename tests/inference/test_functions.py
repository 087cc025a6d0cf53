"""Pools that functions return, take, capture and yield."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "declared": """
        def make(cfg) -> DeepSeekV4SingleKVPool:
            return build(cfg)
        def f(cfg):
            make(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "declared late in the file": """
        def f(cfg):
            make(cfg).get_kv_buffer(0)  # EXPECT KV101
        def make(cfg) -> "DeepSeekV4SingleKVPool": ...
    """,
    "inferred": """
        def make(cfg):
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            pool = make(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "through a local": """
        def make(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.size = 1
            return pool
        def f(cfg):
            make(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "several returns": """
        def make(cfg, big):
            if big:
                return DeepSeekV4SingleKVPool(2)
            elif cfg:
                return HiSparseC4DevicePool(1)
            raise ValueError(cfg)
        def f(cfg):
            make(cfg, 1).get_kv_buffer(0)  # EXPECT KV101
    """,
    "or None": """
        def make(cfg):
            if not cfg:
                return None
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            pool = make(cfg)
            if pool is None:
                return
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "through two functions": """
        def inner(cfg):
            return DeepSeekV4SingleKVPool(cfg)
        def outer(cfg):
            return inner(cfg)
        def f(cfg):
            outer(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "what it is given": """
        def same(pool):
            return pool
        def f(cfg):
            same(DeepSeekV4SingleKVPool(cfg)).get_kv_buffer(0)  # EXPECT KV101
    """,
    "what it is given, checked": """
        def checked(pool, size):
            if size < 0:
                raise ValueError(size)
            return pool
        def f(pool: DeepSeekV4SingleKVPool):
            checked(pool, 1).get_kv_buffer(0)  # EXPECT KV101
    """,
    "nested function": """
        def f(cfg):
            def make():
                return DeepSeekV4SingleKVPool(cfg)
            make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "function that a function returns": """
        def factory(cfg):
            def make() -> DeepSeekV4SingleKVPool:
                return DeepSeekV4SingleKVPool(cfg)
            return make
        def f(cfg):
            factory(cfg)().get_kv_buffer(0)  # EXPECT KV101
    """,
    "class that a function returns": """
        def pool_class(cfg):
            if cfg.hisparse:
                return HiSparseC4DevicePool
            return DeepSeekV4SingleKVPool
        def f(cfg):
            cls = pool_class(cfg)
            cls(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "partial of a function": """
        from functools import partial
        def make(cfg, size):
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            build = partial(make, cfg)
            build(1).get_kv_buffer(0)  # EXPECT KV101
    """,
    "lambda with a parameter": """
        make = lambda cfg: DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            make(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "async": """
        async def make(cfg):
            return DeepSeekV4SingleKVPool(cfg)
        async def f(cfg):
            pool = await make(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
            (await make(cfg)).get_kv_buffer(0)  # EXPECT KV101
    """,
    "async, declared": """
        async def make(cfg) -> DeepSeekV4SingleKVPool: ...
        async def f(cfg):
            (await make(cfg)).get_kv_buffer(0)  # EXPECT KV101
    """,
    "generator": """
        def pools(cfg):
            for i in range(3):
                yield DeepSeekV4SingleKVPool(i)
        def f(cfg):
            for pool in pools(cfg):
                pool.get_kv_buffer(0)  # EXPECT KV101
            next(pools(cfg)).get_kv_buffer(0)  # EXPECT KV101
    """,
    "generator, declared": """
        from typing import Generator, Iterator
        def a(cfg) -> Iterator[DeepSeekV4SingleKVPool]:
            yield cfg.pool
        def b(cfg) -> Generator[DeepSeekV4SingleKVPool, None, None]:
            yield cfg.pool
        def f(cfg):
            for pool in a(cfg):
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in b(cfg):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "yield from": """
        def inner():
            yield DeepSeekV4SingleKVPool(1)
        def outer():
            yield from inner()
        def f():
            for pool in outer():
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "async generator": """
        async def pools():
            yield DeepSeekV4SingleKVPool(1)
        async def f():
            async for pool in pools():
                pool.get_kv_buffer(0)  # EXPECT KV101
            return [p.get_kv_buffer(0) async for p in pools()]  # EXPECT KV101
    """,
    "context manager function": """
        from contextlib import contextmanager
        @contextmanager
        def lease(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            try:
                yield pool
            finally:
                release(pool)
        def f(cfg):
            with lease(cfg) as pool:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "context manager function, declared": """
        import contextlib
        from typing import Iterator
        @contextlib.contextmanager
        def lease(cfg) -> Iterator[DeepSeekV4SingleKVPool]:
            yield cfg.pool
        def f(cfg):
            with lease(cfg) as pool, open("x") as file:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "async context manager function": """
        from contextlib import asynccontextmanager
        @asynccontextmanager
        async def lease(cfg):
            yield DeepSeekV4SingleKVPool(cfg)
        async def f(cfg):
            async with lease(cfg) as pool:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "closing and nullcontext": """
        from contextlib import closing, nullcontext
        def f(cfg):
            with nullcontext(DeepSeekV4SingleKVPool(cfg)) as pool:
                pool.get_kv_buffer(0)  # EXPECT KV101
            with closing(DeepSeekV4SingleKVPool(cfg)) as pool:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "exit stack": """
        from contextlib import ExitStack, contextmanager
        @contextmanager
        def lease(cfg):
            yield DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            with ExitStack() as stack:
                pool = stack.enter_context(lease(cfg))
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "cached": """
        from functools import lru_cache, cache
        import functools
        @lru_cache(maxsize=None)
        def a():
            return DeepSeekV4SingleKVPool(1)
        @functools.cache
        def b():
            return DeepSeekV4SingleKVPool(1)
        def f():
            a().get_kv_buffer(0)  # EXPECT KV101
            b().get_kv_buffer(0)  # EXPECT KV101
    """,
    "under no_grad": """
        import torch
        @torch.no_grad()
        def make():
            return DeepSeekV4SingleKVPool(1)
        def f():
            make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "a decorator that wraps": """
        import functools
        def logged(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                print(function.__name__)
                return function(*args, **kwargs)
            return wrapper
        @logged
        def make():
            return DeepSeekV4SingleKVPool(1)
        def f():
            make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "misuse in a decorated function": """
        from elsewhere import traced
        @traced
        def f(pool: DeepSeekV4SingleKVPool):
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "recursion": """
        def make(n):
            if n > 0:
                return make(n - 1)
            return DeepSeekV4SingleKVPool(n)
        def f():
            make(3).get_kv_buffer(0)  # EXPECT KV101
    """,
    "mutual recursion": """
        def even(n):
            return DeepSeekV4SingleKVPool(n) if n == 0 else odd(n - 1)
        def odd(n):
            return even(n - 1)
        def f():
            even(4).get_kv_buffer(0)  # EXPECT KV101
            odd(3).get_kv_buffer(0)  # EXPECT KV101
    """,
    "static method": """
        class Pools:
            @staticmethod
            def make(cfg):
                return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            Pools.make(cfg).get_kv_buffer(0)  # EXPECT KV101
            Pools().make(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "class method": """
        class Pools:
            @classmethod
            def make(cls, cfg):
                return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            Pools.make(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "class method that makes its class": """
        class Mine(DeepSeekV4SingleKVPool):
            @classmethod
            def make(cls, cfg):
                return cls(cfg)
        def f(cfg):
            Mine.make(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "class method that makes its object": """
        class Runner:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            @classmethod
            def make(cls, cfg):
                self = cls(cfg)
                return self
        def f(cfg):
            Runner.make(cfg).pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "method called on the class": """
        class Pools:
            def make(self) -> DeepSeekV4SingleKVPool: ...
        def f(pools: Pools):
            Pools.make(pools).get_kv_buffer(0)  # EXPECT KV101
    """,
    "fluent methods": """
        class Builder:
            def sized(self, n):
                self.n = n
                return self
            def build(self):
                return DeepSeekV4SingleKVPool(self.n)
        def f():
            Builder().sized(1).build().get_kv_buffer(0)  # EXPECT KV101
    """,
    "tuple": """
        def make(cfg):
            return MHATokenToKVPool(cfg), DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            main, index = make(cfg)
            main.get_kv_buffer(0)
            index.get_kv_buffer(0)  # EXPECT KV101
            make(cfg)[1].get_kv_buffer(0)  # EXPECT KV101
            make(cfg)[-1].get_kv_buffer(0)  # EXPECT KV101
            _, *rest = make(cfg)
    """,
    "tuple, declared": """
        def make(cfg) -> "tuple[MHATokenToKVPool, DeepSeekV4SingleKVPool]": ...
        def f(cfg):
            main, index = make(cfg)
            index.get_kv_buffer(0)  # EXPECT KV101
    """,
    "dict": """
        def make(cfg):
            return {"main": MHATokenToKVPool(cfg), "index": DeepSeekV4SingleKVPool(cfg)}
        def f(cfg):
            make(cfg)["index"].get_kv_buffer(0)  # EXPECT KV101
            pools = make(cfg)
            pools.get("index").get_kv_buffer(0)  # EXPECT KV101
            pools["main"].get_kv_buffer(0)
    """,
    "list": """
        def make(n):
            pools = []
            for i in range(n):
                pools.append(DeepSeekV4SingleKVPool(i))
            return pools
        def f():
            make(3)[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "comprehension": """
        def make(n):
            return [DeepSeekV4SingleKVPool(i) for i in range(n)]
        def f():
            for pool in make(3):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "closure": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            def read(layer):
                def deeper():
                    return pool.get_kv_buffer(layer)  # EXPECT KV101
                return deeper
            return read
    """,
    "closure over a parameter": """
        def f(pool: DeepSeekV4SingleKVPool):
            def read(layer):
                return pool.get_kv_buffer(layer)  # EXPECT KV101
            return read
    """,
    "closure over what is bound later": """
        def f(cfg):
            def read(layer):
                return pool.get_kv_buffer(layer)  # EXPECT KV101
            pool = DeepSeekV4SingleKVPool(cfg)
            return read
    """,
    "closure over self": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                def read(layer):
                    return self.pool.get_kv_buffer(layer)  # EXPECT KV101
                return read
    """,
    "nonlocal": """
        def f(cfg):
            pool = None
            def setup():
                nonlocal pool
                pool = DeepSeekV4SingleKVPool(cfg)
            setup()
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "global set by a function": """
        POOL = None
        def setup(cfg):
            global POOL
            POOL = DeepSeekV4SingleKVPool(cfg)
        def f():
            POOL.get_kv_buffer(0)  # EXPECT KV101
    """,
    "global set and read in the same function": """
        def f(cfg):
            global POOL
            POOL = DeepSeekV4SingleKVPool(cfg)
            POOL.get_kv_buffer(0)  # EXPECT KV101
    """,
    "global behind a function": """
        _POOL: "DeepSeekV4SingleKVPool | None" = None
        def get_pool():
            global _POOL
            if _POOL is None:
                _POOL = DeepSeekV4SingleKVPool(1)
            return _POOL
        def f():
            get_pool().get_kv_buffer(0)  # EXPECT KV101
    """,
    "bound method under a name": """
        def f(pool: DeepSeekV4SingleKVPool):
            read = pool.get_kv_buffer
            read(0)  # EXPECT KV101
    """,
    "bound method kept on self": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
                self.read = self.pool.get_kv_buffer
            def f(self):
                self.read(0)  # EXPECT KV101
    """,
    "getattr": """
        def f(pool: DeepSeekV4SingleKVPool):
            getattr(pool, "get_kv_buffer")(0)  # EXPECT KV101
    """,
    "getattr under a name": """
        def f(pool: DeepSeekV4SingleKVPool):
            read = getattr(pool, "get_kv_buffer")
            read(0)  # EXPECT KV101
    """,
    "getattr with a constant": """
        READER = "get_kv_buffer"
        def f(pool: DeepSeekV4SingleKVPool):
            getattr(pool, READER)(0)  # EXPECT KV101
    """,
    "partial of a bound method": """
        from functools import partial
        def f(pool: DeepSeekV4SingleKVPool):
            read = partial(pool.get_kv_buffer, 0)
            read()  # EXPECT KV101
    """,
    "unbound method": """
        def f(pool):
            DeepSeekV4SingleKVPool.get_kv_buffer(pool, 0)  # EXPECT KV101
    """,
    "bound method mapped": """
        def f(pool: DeepSeekV4SingleKVPool, layers):
            return [*map(pool.get_kv_buffer, layers)]  # EXPECT KV101
    """,
    "called through a helper that calls it": """
        def read(pool: DeepSeekV4SingleKVPool, layer):
            return pool.get_kv_buffer(layer)  # EXPECT KV101
        def f(pool):
            return read(pool, 0)
    """,
    "pytest fixture": """
        import pytest
        @pytest.fixture
        def pool():
            return DeepSeekV4SingleKVPool(1)
        @pytest.fixture(scope="module")
        def other():
            yield HiSparseC4DevicePool(1)
        def test_read(pool, other):
            pool.get_kv_buffer(0)  # EXPECT KV101
            other.get_kv_buffer(0)  # EXPECT KV101
    """,
    "setUp": """
        import unittest
        class T(unittest.TestCase):
            def setUp(self):
                self.pool = DeepSeekV4SingleKVPool(1)
            def test_read(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "singledispatch": """
        from functools import singledispatch
        @singledispatch
        def read(pool): ...
        @read.register
        def _(pool: DeepSeekV4SingleKVPool):
            return pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "callable object": """
        class Make:
            def __call__(self, cfg):
                return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            Make()(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "function in a table": """
        def single(cfg):
            return DeepSeekV4SingleKVPool(cfg)
        def c4(cfg):
            return HiSparseC4DevicePool(cfg)
        MAKERS = {"single": single, "c4": c4}
        def f(cfg, kind):
            MAKERS[kind](cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "class-level factory dict": """
        class Registry:
            POOLS = {"a": DeepSeekV4SingleKVPool}
            @classmethod
            def make(cls, name):
                return cls.POOLS[name]()
        def f():
            Registry.make("a").get_kv_buffer(0)  # EXPECT KV101
    """,
    "lambda default": """
        def f(pool: DeepSeekV4SingleKVPool):
            return lambda layer, p=pool: p.get_kv_buffer(layer)  # EXPECT KV101
    """,
    "asyncio": """
        import asyncio
        async def make():
            return DeepSeekV4SingleKVPool(1)
        async def f():
            a = await asyncio.create_task(make())
            a.get_kv_buffer(0)  # EXPECT KV101
            b, c = await asyncio.gather(make(), make())
            c.get_kv_buffer(0)  # EXPECT KV101
            d = await asyncio.wait_for(make(), 1)
            d.get_kv_buffer(0)  # EXPECT KV101
    """,
    "star args to constructor wrapper": """
        def make(*args, **kwargs):
            return DeepSeekV4SingleKVPool(*args, **kwargs)
        def f():
            make(1, size=2).get_kv_buffer(0)  # EXPECT KV101
    """,
    "return in with": """
        def make(lock):
            with lock:
                return DeepSeekV4SingleKVPool(1)
        def f(lock):
            make(lock).get_kv_buffer(0)  # EXPECT KV101
    """,
    "return in try": """
        def make():
            try:
                return DeepSeekV4SingleKVPool(1)
            except MemoryError:
                return DeepSeekV4SingleKVPool(0)
            finally:
                log()
        def f():
            make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "return in match": """
        def make(kind):
            match kind:
                case "a":
                    return DeepSeekV4SingleKVPool(1)
                case _:
                    return HiSparseC4DevicePool(1)
        def f():
            make(1).get_kv_buffer(0)  # EXPECT KV101
    """,
    "nonlocal read": """
        def f(cfg):
            pool = None
            def init():
                nonlocal pool
                pool = DeepSeekV4SingleKVPool(cfg)
            def read():
                return pool.get_kv_buffer(0)  # EXPECT KV101
            init()
            return read
    """,
    "chained methods returning self": """
        class Mine(DeepSeekV4SingleKVPool):
            def ready(self):
                return self
        def f():
            Mine(1).ready().get_kv_buffer(0)  # EXPECT KV101
    """,
}

SILENT = {
    "default value": """
        def f(layer, pool=DeepSeekV4SingleKVPool(1)):
            pool.get_kv_buffer(layer)
    """,
    "declared as any pool": """
        def make(cfg) -> KVCache:
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            make(cfg).get_kv_buffer(0)
    """,
    "one return is unknown": """
        def make(cfg, other):
            if other:
                return other
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfg, other):
            make(cfg, other).get_kv_buffer(0)
    """,
    "one return works": """
        def make(cfg):
            if cfg.other:
                return cfg.other.pool
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            make(cfg).get_kv_buffer(0)
    """,
    "unknown decorator": """
        from elsewhere import replaced
        @replaced
        def make(cfg):
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            make(cfg).get_kv_buffer(0)
    """,
    "unknown decorator with a declared result": """
        from elsewhere import replaced
        @replaced
        def make(cfg) -> DeepSeekV4SingleKVPool:
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            make(cfg).get_kv_buffer(0)
    """,
    "generator, not iterated": """
        def pools():
            yield DeepSeekV4SingleKVPool(1)
        def f():
            pools().get_kv_buffer(0)
    """,
    "context manager, not entered": """
        from contextlib import contextmanager
        @contextmanager
        def lease():
            yield DeepSeekV4SingleKVPool(1)
        def f():
            lease().get_kv_buffer(0)
    """,
    "function redefined": """
        def make():
            return DeepSeekV4SingleKVPool(1)
        from elsewhere import make
        def f():
            make().get_kv_buffer(0)
    """,
    "closure whose pool is rebound later": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            def read(layer):
                return pool.get_kv_buffer(layer)
            pool = other
            return read
    """,
    "closure's own parameter of the name": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            def read(pool):
                return pool.get_kv_buffer(0)
            return read, lambda pool: pool.get_kv_buffer(0)
    """,
    "nonlocal set by the inner function": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            def change():
                nonlocal pool
                pool = other
            change()
            pool.get_kv_buffer(0)
    """,
    "global set to something else": """
        POOL = DeepSeekV4SingleKVPool(1)
        def change(other):
            global POOL
            POOL = other
        def f():
            POOL.get_kv_buffer(0)
    """,
    "comprehension's name does not leak": """
        def f(pool, cfgs):
            pools = [pool for pool in map(DeepSeekV4SingleKVPool, cfgs)]
            pool.get_kv_buffer(0)
    """,
    "default that a caller replaces": """
        def f(layer, pool=None):
            pool.get_kv_buffer(layer)
    """,
    "bound method, kept and not called": """
        def f(pool: DeepSeekV4SingleKVPool):
            return pool.get_kv_buffer
    """,
    "bound method of a pool that works": """
        def f(pool: MHATokenToKVPool):
            read = pool.get_kv_buffer
            read(0)
    """,
    "getattr with a fallback and a variable": """
        def f(pool: DeepSeekV4SingleKVPool, name):
            getattr(pool, name)(0)
    """,
    "wrapper that replaces the result": """
        def other_pool(function):
            def wrapper(*args):
                return MHATokenToKVPool(1)
            return wrapper
        @other_pool
        def make():
            return DeepSeekV4SingleKVPool(1)
        def f():
            make().get_kv_buffer(0)
    """,
    "fixture of that name in another file": """
        def test_read(pool):
            pool.get_kv_buffer(0)
    """,
    "function with an untyped parameter": """
        def read(pool):
            return pool.get_kv_buffer(0)
        def f(a: MHATokenToKVPool):
            read(a)
    """,
    "result of the pool's own method": """
        def f(pool: DeepSeekV4SingleKVPool):
            pool.get_key_buffer(0).get_kv_buffer(0)
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
