"""Ways by which a pool reaches its use, and their twins: lines without a mark stay silent."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.inference.programs import POOLS, assert_as_marked

PROGRAMS = {
    "an object made with a pool": """
        class Holder:
            def __init__(self, pool):
                self.pool = pool
        def f(p: DeepSeekV4SingleKVPool):
            Holder(p).pool.get_kv_buffer(0)  # EXPECT KV101
            h = Holder(p)
            h.pool.get_kv_buffer(0)  # EXPECT KV101
        def g(p: DeepSeekV4SingleKVPool, q):
            Holder(q).pool.get_kv_buffer(0)
    """,
    "holder whose pool is exchanged": """
        class Holder:
            def __init__(self, pool):
                self.pool = pool
        def f(p: DeepSeekV4SingleKVPool, q):
            h = Holder(p)
            h.pool = q
            h.pool.get_kv_buffer(0)
            p.get_kv_buffer(0)  # EXPECT KV101
    """,
    "an object made through super() on one line": """
        class Holder:
            def __init__(self, pool): self.pool = pool
        class Child(Holder):
            def __init__(self, p): super().__init__(p)
        def f(p: DeepSeekV4SingleKVPool):
            Child(p).pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "super().__init__ on the line of its def": """
        class Holder:
            def __init__(self, pool: DeepSeekV4SingleKVPool): self.pool = pool
        class Child(Holder):
            def __init__(self, p): super().__init__(p)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "a dataclass field of any type": """
        import dataclasses
        @dataclasses.dataclass
        class Holder:
            size: int
            pool: object
        def f(p: DeepSeekV4SingleKVPool):
            Holder(1, p).pool.get_kv_buffer(0)  # EXPECT KV101
            Holder(size=1, pool=p).pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "a generator of its argument": """
        def each(pool):
            for _ in range(2):
                yield pool
        def f(p: DeepSeekV4SingleKVPool, q):
            for x in each(p):
                x.get_kv_buffer(0)  # EXPECT KV101
            for x in each(q):
                x.get_kv_buffer(0)
    """,
    "a context manager of its argument": """
        import contextlib
        @contextlib.contextmanager
        def held(pool):
            yield pool
        def f(p: DeepSeekV4SingleKVPool, q):
            with held(p) as x:
                x.get_kv_buffer(0)  # EXPECT KV101
            with held(q) as x:
                x.get_kv_buffer(0)
    """,
    "a context manager of self's pool": """
        from contextlib import contextmanager
        class B:
            def __init__(self, pool: DeepSeekV4SingleKVPool):
                self.pool = pool
            @contextmanager
            def held(self):
                try:
                    yield self.pool
                finally:
                    pass
            def run(self):
                with self.held() as x:
                    x.get_kv_buffer(0)  # EXPECT KV101
    """,
    "lambdas that are handed on": """
        def f(ps: list[DeepSeekV4SingleKVPool], qs):
            sorted(ps, key=lambda p: p.get_kv_buffer(0))  # EXPECT KV101
            sorted(qs, key=lambda p: p.get_kv_buffer(0))
            list(filter(lambda p: p.get_kv_buffer(0), ps))  # EXPECT KV101
            (lambda p: p.get_kv_buffer(0))(ps[0])  # EXPECT KV101
            pool.submit(lambda p: p.get_kv_buffer(0), ps[0])  # EXPECT KV101
            any(map(lambda p: p.get_kv_buffer(0), ps))  # EXPECT KV101
    """,
    "type(x).m(x)": """
        def f(p: DeepSeekV4SingleKVPool, q: MHATokenToKVPool):
            type(p).get_kv_buffer(p, 0)  # EXPECT KV101
            type(q).get_kv_buffer(q, 0)
            p.__class__.get_kv_buffer(p, 0)  # EXPECT KV101
    """,
    "methodcaller": """
        import operator
        from operator import attrgetter, methodcaller
        def f(p: DeepSeekV4SingleKVPool, ps: list[DeepSeekV4SingleKVPool], name):
            read = methodcaller("get_kv_buffer", 0)
            read(p)  # EXPECT KV101
            list(map(methodcaller("get_kv_buffer", 0), ps))  # EXPECT KV101
            attrgetter("get_kv_buffer")(p)(0)  # EXPECT KV101
            operator.attrgetter("get_key_buffer")(p)(0)
            methodcaller(name, 0)(p)
    """,
    "generic classes": """
        from typing import Generic, TypeVar
        T = TypeVar("T")
        class Slot(Generic[T]):
            def __init__(self, value: T):
                self._value = value
            def get(self) -> T:
                return self._value
            @property
            def value(self) -> T:
                return self._value
        class PoolSlot(Slot[DeepSeekV4SingleKVPool]):
            pass
        def f(s: Slot[DeepSeekV4SingleKVPool], o: Slot[MHATokenToKVPool], u: Slot):
            s.get().get_kv_buffer(0)  # EXPECT KV101
            s.value.get_kv_buffer(0)  # EXPECT KV101
            o.get().get_kv_buffer(0)
            o.value.get_kv_buffer(0)
            u.value.get_kv_buffer(0)
        def g(s: PoolSlot, p: DeepSeekV4SingleKVPool):
            s.get().get_kv_buffer(0)  # EXPECT KV101
            Slot(p)._value.get_kv_buffer(0)  # EXPECT KV101
            Slot(p).get().get_kv_buffer(0)  # EXPECT KV101
            Slot[DeepSeekV4SingleKVPool](p).value.get_kv_buffer(0)  # EXPECT KV101
    """,
    "context variables": """
        from contextvars import ContextVar
        CURRENT: ContextVar[DeepSeekV4SingleKVPool] = ContextVar("current")
        OTHER = ContextVar[DeepSeekV4SingleKVPool]("other")
        ANY: ContextVar = ContextVar("any")
        def f():
            CURRENT.get().get_kv_buffer(0)  # EXPECT KV101
            OTHER.get().get_kv_buffer(0)  # EXPECT KV101
            ANY.get().get_kv_buffer(0)
            token = CURRENT.set(1)
            CURRENT.reset(token)
    """,
    "queues and weak references": """
        import queue, weakref
        Single = DeepSeekV4SingleKVPool
        def f(q: queue.Queue[Single], r: weakref.ref[Single], u: queue.Queue):
            q.get().get_kv_buffer(0)  # EXPECT KV101
            q.get_nowait().get_kv_buffer(0)  # EXPECT KV101
            r().get_kv_buffer(0)  # EXPECT KV101
            u.get().get_kv_buffer(0)
            q.put(1)
        class B:
            def __init__(self, p: DeepSeekV4SingleKVPool):
                self.ref = weakref.ref(p)
                self.q: "queue.Queue[DeepSeekV4SingleKVPool]" = queue.Queue()
            def run(self):
                self.ref().get_kv_buffer(0)  # EXPECT KV101
                self.q.get().get_kv_buffer(0)  # EXPECT KV101
    """,
    "overloads": """
        from typing import Literal, overload
        @overload
        def get(kind: Literal["single"]) -> DeepSeekV4SingleKVPool: ...
        @overload
        def get(kind: Literal["mha"]) -> MHATokenToKVPool: ...
        def get(kind):
            return make(kind)
        def f(k):
            get("single").get_kv_buffer(0)  # EXPECT KV101
            get("mha").get_kv_buffer(0)
        class R:
            @overload
            def at(self, i: int) -> DeepSeekV4SingleKVPool: ...
            @overload
            def at(self, i: slice) -> list[DeepSeekV4SingleKVPool]: ...
            def at(self, i):
                return self.x[i]
        def g(r: R):
            r.at(0).get_kv_buffer(0)  # EXPECT KV101
    """,
    "descriptors": """
        class PoolOf:
            def __get__(self, obj, owner=None) -> DeepSeekV4SingleKVPool:
                return obj._pool
        class Loose:
            def __get__(self, obj, owner=None):
                return obj.inner
        class Other:
            def __get__(self, obj, owner=None):
                return make()
        class B:
            pool = PoolOf()
            loose = Loose()
            other = Other()
            def __init__(self, p: DeepSeekV4SingleKVPool):
                self.inner = p
            def run(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
                self.loose.get_kv_buffer(0)  # EXPECT KV101
                self.other.get_kv_buffer(0)
    """,
    "values of enumerations": """
        import enum
        class Pools(enum.Enum):
            SINGLE = DeepSeekV4SingleKVPool(1)
            MHA = MHATokenToKVPool(1)
        def f():
            Pools.SINGLE.value.get_kv_buffer(0)  # EXPECT KV101
            Pools.MHA.value.get_kv_buffer(0)
            Pools.SINGLE.name
        class Kinds(enum.Enum):
            SINGLE = DeepSeekV4SingleKVPool
        def g():
            Kinds.SINGLE.value(1).get_kv_buffer(0)  # EXPECT KV101
    """,
    "__getattr__ that hands on": """
        class W:
            def __init__(self, pool: DeepSeekV4SingleKVPool):
                self._pool = pool
            def __getattr__(self, name):
                return getattr(self._pool, name)
        class V:
            def __init__(self, pool):
                self._pool = pool
            def __getattr__(self, name):
                return getattr(self._pool, name)
        class Own(V):
            def get_kv_buffer(self, i):
                return 1
        def f(w: W, p: DeepSeekV4SingleKVPool, q):
            w.get_kv_buffer(0)  # EXPECT KV101
            V(p).get_kv_buffer(0)  # EXPECT KV101
            V(q).get_kv_buffer(0)
            Own(p).get_kv_buffer(0)
    """,
    "getattr over constants": """
        def f(p: DeepSeekV4SingleKVPool, ns):
            for n in ("get_kv_buffer", "get_value_buffer"):
                getattr(p, n)(0)  # EXPECT KV101
            for n in ("get_key_buffer", "get_value_buffer"):
                getattr(p, n)(0)
            for n in ["get_kv_buffer"]:
                getattr(p, n)(0)  # EXPECT KV101
            n = "get_kv_buffer" if ns else "get_value_buffer"
            getattr(p, n)(0)  # EXPECT KV101
    """,
    "all(isinstance)": """
        def f(pools, ps: list[KVCache]):
            assert all(isinstance(p, DeepSeekV4SingleKVPool) for p in pools)
            pools[0].get_kv_buffer(0)  # EXPECT KV101
            if not all(isinstance(p, DeepSeekV4SingleKVPool) for p in ps):
                raise ValueError
            for p in ps:
                p.get_kv_buffer(0)  # EXPECT KV101
        def g(pools):
            if all(isinstance(p, DeepSeekV4SingleKVPool) for p in pools if p.ready):
                pools[0].get_kv_buffer(0)
            if not all(isinstance(p, DeepSeekV4SingleKVPool) for p in pools):
                pools[0].get_kv_buffer(0)
    """,
    "another name before isinstance": """
        def f(pool, other):
            q = pool
            if isinstance(pool, DeepSeekV4SingleKVPool):
                q.get_kv_buffer(0)  # EXPECT KV101
        def f2(pool: KVCache):
            q = pool
            assert isinstance(q, DeepSeekV4SingleKVPool)
            pool.get_kv_buffer(0)  # EXPECT KV101
        def g(pool, other):
            q = pool
            pool = other
            if isinstance(pool, DeepSeekV4SingleKVPool):
                q.get_kv_buffer(0)
        def h(pool, other, c):
            q = other
            if c:
                q = pool
            if isinstance(pool, DeepSeekV4SingleKVPool):
                q.get_kv_buffer(0)
        class B:
            def run(self):
                q = self.pool
                if isinstance(self.pool, DeepSeekV4SingleKVPool):
                    q.get_kv_buffer(0)  # EXPECT KV101
            def run2(self):
                q = self.pool
                self.pool = make()
                if isinstance(self.pool, DeepSeekV4SingleKVPool):
                    q.get_kv_buffer(0)
            def run3(self, i):
                q = self.pools[i]
                i = i + 1
                if isinstance(self.pools[i], DeepSeekV4SingleKVPool):
                    q.get_kv_buffer(0)
    """,
    "type comments": """
        def f(batch):
            pool = batch.pool  # type: DeepSeekV4SingleKVPool
            pool.get_kv_buffer(0)  # EXPECT KV101
        def g(
            pool,  # type: DeepSeekV4SingleKVPool
            n,  # type: int
        ):
            # type: (...) -> None
            pool.get_kv_buffer(0)  # EXPECT KV101
        class B:
            def __init__(self, r):
                self.pool = r.pool  # type: DeepSeekV4SingleKVPool
            def m(self, pool):
                # type: (DeepSeekV4SingleKVPool) -> None
                pool.get_kv_buffer(0)  # EXPECT KV101
                self.pool.get_kv_buffer(0)  # EXPECT KV101
            def ok(self, pool):
                # type: ignore
                pool.get_kv_buffer(0)  # type: ignore[attr]
    """,
    "getattr of a module": """
        import importlib
        import sglang.srt.mem_cache.deepseek_v4_memory_pool as mod
        def f():
            C = getattr(mod, "DeepSeekV4SingleKVPool")
            class Mine(C):
                pass
            Mine(1).get_kv_buffer(0)  # EXPECT KV101
            m = importlib.import_module("sglang.srt.mem_cache.deepseek_v4_memory_pool")
            D = getattr(m, "DeepSeekV4SingleKVPool")
            D(1).get_kv_buffer(0)  # EXPECT KV101
        class P:
            def patch(self, mem_pool_mod):
                C = getattr(mem_pool_mod, "DeepSeekV4SingleKVPool")
                C(1).get_kv_buffer(0)
    """,
    "annotations of broader values": """
        class B:
            def __init__(self, p: KVCache, r):
                self.p: DeepSeekV4SingleKVPool | None = None
                self.q: DeepSeekV4SingleKVPool = p
                self.r = p
            def set(self, p):
                self.p = p
            def run(self):
                self.p.get_kv_buffer(0)  # EXPECT KV101
                self.q.get_kv_buffer(0)  # EXPECT KV101
                self.r.get_kv_buffer(0)
        def f(p: KVCache, d: MLATokenToKVPool):
            q: DeepSeekV4SingleKVPool = p
            q.get_kv_buffer(0)  # EXPECT KV101
            c: DeepSeekV4SingleKVPool = d
            c.get_kv_buffer(0)  # EXPECT KV101
            ps: list[DeepSeekV4SingleKVPool] = [p]
            ps[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "a test after a store": """
        class B:
            def __init__(self, pool):
                self.pool = pool
                if not isinstance(self.pool, DeepSeekV4SingleKVPool):
                    raise TypeError
            def run(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
        class C:
            def __init__(self, pool):
                self.pool = pool
                assert isinstance(self.pool, DeepSeekV4SingleKVPool)
            def swap(self, pool):
                self.pool = pool
            def run(self):
                self.pool.get_kv_buffer(0)
        class D:
            def __init__(self, pool):
                assert isinstance(pool, DeepSeekV4SingleKVPool)
                self.pool = pool
            def run(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
        class E:
            def __init__(self, pool: KVCache):
                self.pool = pool
                if isinstance(self.pool, DeepSeekV4SingleKVPool):
                    self.flag = 1
            def run(self):
                self.pool.get_kv_buffer(0)
    """,
    "generic functions": """
        from typing import TypeVar, Optional, Sequence
        T = TypeVar("T")
        K = TypeVar("K", bound=KVCache)
        def first(xs: Sequence[T]) -> T:
            return xs[0]
        def maybe(x: Optional[K]) -> K:
            return x
        Single = DeepSeekV4SingleKVPool
        def f(ps: list[Single], p: Single, qs: list[MHATokenToKVPool]):
            first(ps).get_kv_buffer(0)  # EXPECT KV101
            maybe(p).get_kv_buffer(0)  # EXPECT KV101
            first(qs).get_kv_buffer(0)
    """,
    "futures": """
        from concurrent.futures import Future
        import asyncio
        async def f(a: Future[DeepSeekV4SingleKVPool], b: "asyncio.Task[DeepSeekV4SingleKVPool]"):
            a.result().get_key_buffer(0)
            (await b).get_kv_buffer(0)  # EXPECT KV101
            a.result().get_kv_buffer(0)  # EXPECT KV101
            b.cancel()
    """,
    "guards on self": """
        class Mine(DeepSeekV4SingleKVPool):
            def run(self):
                return self.get_kv_buffer(0)  # EXPECT KV101
        class Base(MHATokenToKVPool):
            def hook(self):
                raise NotImplementedError
            def run(self):
                self.hook()
        class Made(MHATokenToKVPool):
            def hook(self):
                raise NotImplementedError
            def run(self):
                self.hook()  # EXPECT KV103
        made = Made(1)
    """,
    "attributes given to others": """
        class Worker:
            def __init__(self, pool: DeepSeekV4SingleKVPool):
                self.k_buffer = pool.k_buffer  # EXPECT KV104
        def f(pool: DeepSeekV4SingleKVPool, x):
            x.extra_thing = 1
            pool.extra_thing
        def g(pool: DeepSeekV4SingleKVPool):
            pool.mine = 3
        def h(pool: DeepSeekV4SingleKVPool):
            return pool.mine
        def i(pool: DeepSeekV4SingleKVPool):
            return pool.nowhere_set  # EXPECT KV104
    """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_found_as_marked(program: str, tmp_path: Path) -> None:
    assert "# EXPECT" in program
    assert_as_marked({"program.py": POOLS + dedent(program).lstrip("\n")}, tmp_path)
