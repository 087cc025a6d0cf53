"""Pools that objects keep: where an attribute is set, declared or inherited."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "set in __init__": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "set in another method": """
        class Backend:
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
            def setup(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
    """,
    "None first, set up later": """
        class Backend:
            def __init__(self):
                self.pool = None
            def setup(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "None at class level": """
        class Backend:
            pool = None
            def setup(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "set by both branches": """
        class Backend:
            def __init__(self, cfg, big):
                if big:
                    self.pool = DeepSeekV4SingleKVPool(2)
                else:
                    self.pool = HiSparseC4DevicePool(1)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "at class level": """
        class Backend:
            pool = DeepSeekV4SingleKVPool(1)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
        def g():
            Backend.pool.get_kv_buffer(0)  # EXPECT KV101
            Backend().pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "set on the class": """
        class Backend:
            pool = None
            @classmethod
            def setup(cls, cfg):
                cls.pool = DeepSeekV4SingleKVPool(cfg)
            @classmethod
            def f(cls):
                cls.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "annotated in __init__ without a value": """
        class Backend:
            def __init__(self):
                self.pool: DeepSeekV4SingleKVPool
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class-level string annotation": """
        class Backend:
            pool: "DeepSeekV4SingleKVPool | None" = None
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "ClassVar": """
        from typing import ClassVar
        class Backend:
            pool: ClassVar[DeepSeekV4SingleKVPool]
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "from an annotated parameter with another name": """
        class Backend:
            def __init__(self, kv: DeepSeekV4SingleKVPool = None):
                self._pool = kv
            def f(self):
                self._pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "from a local": """
        class Backend:
            def __init__(self, cfg):
                pool = DeepSeekV4SingleKVPool(cfg)
                self.pool = pool
            def f(self):
                pool = self.pool
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "from a function": """
        def make(cfg):
            return DeepSeekV4SingleKVPool(cfg)
        class Backend:
            def __init__(self, cfg):
                self.pool = make(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "from a method": """
        class Backend:
            def __init__(self, cfg):
                self.pool = self._make(cfg)
            def _make(self, cfg):
                return DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "from an asserted parameter": """
        class Backend:
            def __init__(self, pool):
                assert isinstance(pool, DeepSeekV4SingleKVPool)
                self.pool = pool
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "from a cast": """
        from typing import cast
        class Backend:
            def __init__(self, runner):
                self.pool = cast("DeepSeekV4SingleKVPool", runner.token_to_kv_pool)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "from another attribute": """
        class Backend:
            def __init__(self, cfg):
                self.a = DeepSeekV4SingleKVPool(cfg)
                self.b = self.a
            def f(self):
                self.b.get_kv_buffer(0)  # EXPECT KV101
    """,
    "tuple assignment": """
        class Backend:
            def __init__(self, cfg):
                self.main, self.index = MHATokenToKVPool(cfg), DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.main.get_kv_buffer(0)
                self.index.get_kv_buffer(0)  # EXPECT KV101
    """,
    "chained assignment": """
        class Backend:
            def __init__(self, cfg):
                self.pool = pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "chained, self last": """
        class Backend:
            def __init__(self, cfg):
                pool = self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "walrus first": """
        class Backend:
            def __init__(self, cfg):
                if (pool := DeepSeekV4SingleKVPool(cfg)):
                    self.pool = pool
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "setattr": """
        class Backend:
            def __init__(self, cfg):
                setattr(self, "pool", DeepSeekV4SingleKVPool(cfg))
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "with block": """
        class Backend:
            def __init__(self, cfg, lock):
                with lock:
                    self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "another name than self": """
        class Backend:
            def __init__(this, cfg):
                this.pool = DeepSeekV4SingleKVPool(cfg)
            def f(me):
                me.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "__post_init__": """
        from dataclasses import dataclass
        @dataclass
        class Backend:
            size: int
            def __post_init__(self):
                self.pool = DeepSeekV4SingleKVPool(self.size)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "inherited over two levels": """
        class A:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        class B(A):
            pass
        class C(B):
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
                super().f()
    """,
    "inherited annotation": """
        class A:
            pool: DeepSeekV4SingleKVPool
        class B(A):
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "mixin that reads what the other base sets": """
        class Reads:
            pool: "DeepSeekV4SingleKVPool"
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
        class Backend(Reads):
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
    """,
    "base outside the project": """
        import torch
        class Backend(torch.nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def forward(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "set through super().__init__": """
        class A:
            def __init__(self, pool: DeepSeekV4SingleKVPool):
                self.pool = pool
        class B(A):
            def __init__(self, pool):
                super().__init__(pool)
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "nested": """
        class Runner:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        class Engine:
            def __init__(self, cfg):
                self.runner = Runner(cfg)
        class Server:
            def __init__(self, cfg):
                self.engine = Engine(cfg)
            def f(self):
                self.engine.runner.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "nested by annotations": """
        class Runner:
            pool: DeepSeekV4SingleKVPool
        class Engine:
            runner: "Runner"
        def f(engine: Engine):
            engine.runner.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "object made locally": """
        class Runner:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        def f(cfg):
            runner = Runner(cfg)
            runner.pool.get_kv_buffer(0)  # EXPECT KV101
            Runner(cfg).pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "set from outside": """
        class Runner:
            pass
        def f(cfg):
            runner = Runner()
            runner.pool = DeepSeekV4SingleKVPool(cfg)
            runner.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "set on an unknown object": """
        def f(runner, cfg):
            runner.pool = DeepSeekV4SingleKVPool(cfg)
            runner.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "dataclass": """
        from dataclasses import dataclass
        @dataclass(frozen=True)
        class Ctx:
            pool: DeepSeekV4SingleKVPool
            size: int = 0
        def f(ctx: Ctx):
            ctx.pool.get_kv_buffer(0)  # EXPECT KV101
        def g(cfg):
            Ctx(DeepSeekV4SingleKVPool(cfg)).pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "dataclass of a string, optional": """
        import dataclasses
        @dataclasses.dataclass
        class Ctx:
            pool: "DeepSeekV4SingleKVPool | None" = None
        def f(ctx: "Ctx"):
            ctx.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "dataclass with a factory": """
        from dataclasses import dataclass, field
        from typing import Any
        @dataclass
        class Ctx:
            pool: Any = field(default_factory=DeepSeekV4SingleKVPool)
            other: DeepSeekV4SingleKVPool = field(default_factory=lambda: DeepSeekV4SingleKVPool(1))
            pools: list[DeepSeekV4SingleKVPool] = field(default_factory=list)
        def f(ctx: Ctx):
            ctx.other.get_kv_buffer(0)  # EXPECT KV101
            ctx.pools[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "dataclass inherited": """
        from dataclasses import dataclass
        @dataclass
        class A:
            pool: DeepSeekV4SingleKVPool
        @dataclass
        class B(A):
            size: int = 0
        def f(b: B):
            b.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "dataclass with slots and replace": """
        from dataclasses import dataclass, replace
        @dataclass(slots=True)
        class Ctx:
            pool: DeepSeekV4SingleKVPool
        def f(ctx: Ctx):
            other = replace(ctx, pool=ctx.pool)
            other.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "attrs": """
        import attr
        @attr.s(auto_attribs=True)
        class Ctx:
            pool: DeepSeekV4SingleKVPool
        @attr.define
        class Other:
            pool = attr.ib(type=DeepSeekV4SingleKVPool)
        def f(ctx: Ctx):
            ctx.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "pydantic and msgspec": """
        import msgspec
        class Ctx(msgspec.Struct):
            pool: DeepSeekV4SingleKVPool
        def f(ctx: Ctx):
            ctx.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "NamedTuple": """
        from typing import NamedTuple
        class Ctx(NamedTuple):
            size: int
            pool: DeepSeekV4SingleKVPool
        def f(ctx: Ctx):
            ctx.pool.get_kv_buffer(0)  # EXPECT KV101
            ctx[1].get_kv_buffer(0)  # EXPECT KV101
            size, pool = ctx
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "property": """
        class Runner:
            def __init__(self, cfg):
                self._pool = DeepSeekV4SingleKVPool(cfg)
            @property
            def pool(self):
                return self._pool
        def f(runner: Runner):
            runner.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "property with a setter": """
        class Runner:
            @property
            def pool(self) -> DeepSeekV4SingleKVPool:
                return self._pool
            @pool.setter
            def pool(self, pool):
                self._pool = pool
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "cached property": """
        from functools import cached_property
        class Runner:
            @cached_property
            def pool(self):
                return DeepSeekV4SingleKVPool(1)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "lazy property": """
        class Runner:
            _pool = None
            @property
            def pool(self):
                if self._pool is None:
                    self._pool = DeepSeekV4SingleKVPool(1)
                return self._pool
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "property(getter)": """
        class Runner:
            def get_pool(self):
                return DeepSeekV4SingleKVPool(1)
            pool = property(get_pool)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "inherited property": """
        class A:
            @property
            def pool(self) -> DeepSeekV4SingleKVPool: ...
        class B(A):
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "abstract property": """
        from abc import ABC, abstractmethod
        class A(ABC):
            @property
            @abstractmethod
            def pool(self) -> DeepSeekV4SingleKVPool:
                raise NotImplementedError
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "context manager": """
        class Lease:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def __enter__(self):
                return self.pool
            def __exit__(self, *exc):
                pass
        def f(cfg):
            with Lease(cfg) as pool:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "context manager that is the object": """
        class Lease:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def __enter__(self):
                return self
            def __exit__(self, *exc):
                pass
        def f(cfg):
            with Lease(cfg) as lease:
                lease.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "async context manager": """
        class Lease:
            pool: DeepSeekV4SingleKVPool
            async def __aenter__(self):
                return self.pool
            async def __aexit__(self, *exc):
                pass
        async def f():
            async with Lease() as pool:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "with as an attribute": """
        class Lease:
            def __enter__(self) -> DeepSeekV4SingleKVPool: ...
        class Backend:
            def f(self):
                with Lease() as self.pool:
                    self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "for as an attribute": """
        class Backend:
            def f(self, pools: list[DeepSeekV4SingleKVPool]):
                for self.pool in pools:
                    self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "getattr with a literal": """
        class Runner:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        def f(runner: Runner):
            getattr(runner, "pool").get_kv_buffer(0)  # EXPECT KV101
            getattr(runner, "pool", None).get_kv_buffer(0)  # EXPECT KV101
    """,
    "lists kept on self": """
        class Runner:
            def __init__(self, cfg):
                self.pools = []
                for i in range(3):
                    self.pools.append(DeepSeekV4SingleKVPool(i))
            def f(self):
                self.pools[0].get_kv_buffer(0)  # EXPECT KV101
                for pool in self.pools:
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "list filled by another method": """
        class Runner:
            def __init__(self):
                self.pools = []
            def add(self, cfg):
                self.pools.append(DeepSeekV4SingleKVPool(cfg))
            def f(self):
                for pool in self.pools:
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "dicts kept on self": """
        class Runner:
            def __init__(self, cfg):
                self.pools = {"main": DeepSeekV4SingleKVPool(cfg)}
                self.by_id = {}
                self.by_id[0] = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pools["main"].get_kv_buffer(0)  # EXPECT KV101
                self.by_id[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "annotated dict kept on self": """
        class Runner:
            def __init__(self):
                self.pools: dict[int, DeepSeekV4SingleKVPool] = {}
            def f(self, i):
                self.pools[i].get_kv_buffer(0)  # EXPECT KV101
                self.pools.get(i).get_kv_buffer(0)  # EXPECT KV101
                for pool in self.pools.values():
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "singleton": """
        class Runner:
            _instance: "Runner" = None
            def __init__(self):
                self.pool = DeepSeekV4SingleKVPool(1)
            @classmethod
            def get(cls) -> "Runner":
                return cls._instance
        def f():
            Runner.get().pool.get_kv_buffer(0)  # EXPECT KV101
            Runner._instance.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "enclosing class's object": """
        class Outer:
            class Inner:
                def __init__(self, cfg):
                    self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self, cfg):
                inner = self.Inner(cfg)
                inner.pool.get_kv_buffer(0)  # EXPECT KV101
                Outer.Inner(cfg).pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "self handed on": """
        class Part:
            def __init__(self, owner: "Owner"):
                self.owner = owner
            def f(self):
                self.owner.pool.get_kv_buffer(0)  # EXPECT KV101
        class Owner:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
                self.part = Part(self)
    """,
    "what the method itself assigned": """
        class Backend:
            def f(self, runner, cfg):
                self.pool = runner.pool
                self.pool = DeepSeekV4SingleKVPool(cfg)
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "slots and weak references": """
        import weakref
        class Backend:
            __slots__ = ("pool",)
            def __init__(self, cfg):
                self.pool = weakref.ref(DeepSeekV4SingleKVPool(cfg))
                self.other = weakref.proxy(DeepSeekV4SingleKVPool(cfg))
            def f(self):
                self.pool().get_kv_buffer(0)  # EXPECT KV101
                self.other.get_kv_buffer(0)  # EXPECT KV101
    """,
    "SGLang's holder": """
        from sglang.srt.layers.attention.deepseek_v4_backend import DeepseekV4AttnBackend
        class Mine(DeepseekV4AttnBackend):
            def f(self):
                self.token_to_kv_pool.get_kv_buffer(0)  # EXPECT KV103
        def g(backend: DeepseekV4AttnBackend):
            backend.token_to_kv_pool.get_kv_buffer(0)  # EXPECT KV103
    """,
    "attr from annotated param attr": """
        class Runner:
            token_to_kv_pool: DeepSeekV4SingleKVPool
        class Backend:
            def __init__(self, runner: Runner):
                self.pool = runner.token_to_kv_pool
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "ternary attribute": """
        class A:
            def __init__(self, cfg, pool: DeepSeekV4SingleKVPool | None = None):
                self.pool = pool if pool is not None else DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "or attribute": """
        class A:
            def __init__(self, cfg, pool: DeepSeekV4SingleKVPool | None = None):
                self.pool = pool or DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "isinstance in init raises": """
        class A:
            def __init__(self, pool):
                if not isinstance(pool, DeepSeekV4SingleKVPool):
                    raise TypeError
                self.pool = pool
            def f(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "assert on self attr": """
        class A:
            def __init__(self, pool):
                self.pool = pool
                assert isinstance(self.pool, DeepSeekV4SingleKVPool)
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "decorated class dataclass pool": """
        from dataclasses import dataclass
        @dataclass
        class Holder:
            pool: "DeepSeekV4SingleKVPool" = None
            def f(self):
                if self.pool is None:
                    return
                self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class attr alias": """
        class B:
            Pool = DeepSeekV4SingleKVPool
            def f(self, cfg):
                pool = B.Pool(cfg)
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
}

SILENT = {
    "set to something unknown elsewhere": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def change(self, pool):
                self.pool = pool
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "set to something unknown in a base": """
        class A:
            def __init__(self, pool):
                self.pool = pool
        class B(A):
            def setup(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "one branch only": """
        class Backend:
            def __init__(self, runner, big):
                if big:
                    self.pool = DeepSeekV4SingleKVPool(1)
                else:
                    self.pool = runner.pool
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "unpacked from something unknown": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def change(self, pair):
                self.size, self.pool = pair
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "bound by a for, a with or a walrus": """
        class Backend:
            def __init__(self, cfg):
                self.a = self.b = DeepSeekV4SingleKVPool(cfg)
            def change(self, pools, lease):
                for self.a in pools:
                    pass
                with lease as self.b:
                    pass
            def f(self):
                self.a.get_kv_buffer(0)
                self.b.get_kv_buffer(0)
    """,
    "setattr of a literal name": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def change(self, pool):
                setattr(self, "pool", pool)
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "set from outside, on the same object": """
        class Runner:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        def f(cfg, other):
            runner = Runner(cfg)
            runner.pool = other
            runner.pool.get_kv_buffer(0)
    """,
    "set from outside, in another function": """
        class Runner:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        def change(runner: Runner, other):
            runner.pool = other
        def f(runner: Runner):
            runner.pool.get_kv_buffer(0)
    """,
    "set by a nested function": """
        class Runner:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
                def change(pool):
                    self.pool = pool
                cfg.on_change(change)
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "another class's attribute": """
        class A:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        class B:
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "subclass that replaces it": """
        class A:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        class B(A):
            pool: MHATokenToKVPool
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "subclass whose __init__ replaces the base's": """
        class A:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        class B(A):
            def __init__(self, cfg):
                self.pool = MHATokenToKVPool(cfg)
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "subclass property that replaces it": """
        class A:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
        class B(A):
            @property
            def pool(self):
                return self.runner.pool
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "unknown base": """
        from elsewhere import Base
        class Backend(Base):
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "getattr with a variable": """
        class Runner:
            pool: DeepSeekV4SingleKVPool
        def f(runner: Runner, name):
            getattr(runner, name).get_kv_buffer(0)
    """,
    "rebound in the method": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self, other):
                self.pool = other
                self.pool.get_kv_buffer(0)
    """,
    "deleted and asked again": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            def f(self):
                del self.pool
                self.pool.get_kv_buffer(0)
    """,
    "static method's first parameter": """
        class Backend:
            def __init__(self, cfg):
                self.pool = DeepSeekV4SingleKVPool(cfg)
            @staticmethod
            def f(self):
                self.pool.get_kv_buffer(0)
    """,
    "dataclass field of any pool": """
        from dataclasses import dataclass
        @dataclass
        class Ctx:
            pool: KVCache
        def f(ctx: Ctx):
            ctx.pool.get_kv_buffer(0)
    """,
    "list that also holds something unknown": """
        class Runner:
            def __init__(self, cfg, other):
                self.pools = [DeepSeekV4SingleKVPool(cfg)]
                self.pools.append(other)
            def f(self):
                self.pools[0].get_kv_buffer(0)
    """,
    "list to which another method adds": """
        class Runner:
            def __init__(self, cfg):
                self.pools = [DeepSeekV4SingleKVPool(cfg)]
            def add(self, pool):
                self.pools.append(pool)
            def f(self):
                self.pools[0].get_kv_buffer(0)
    """,
    "dict to which another method adds": """
        class Runner:
            def __init__(self, cfg):
                self.pools = {"a": DeepSeekV4SingleKVPool(cfg)}
            def add(self, name, pool):
                self.pools[name] = pool
            def f(self, name):
                self.pools[name].get_kv_buffer(0)
    """,
    "__getattr__": """
        class Proxy:
            def __init__(self, target):
                self._target = target
            def __getattr__(self, name):
                return getattr(self._target, name)
        def f(target):
            Proxy(target).pool.get_kv_buffer(0)
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
