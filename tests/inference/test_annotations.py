"""What an annotation says, in every spelling that Python has for it."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.inference.programs import POOLS, assert_as_marked, assert_finds, assert_silent

SPELLINGS = {
    "string": '"DeepSeekV4SingleKVPool"',
    "padded string": '" DeepSeekV4SingleKVPool "',
    "string in single quotes": "'DeepSeekV4SingleKVPool'",
    "Optional": "typing.Optional[DeepSeekV4SingleKVPool]",
    "Optional of a string": 'typing.Optional["DeepSeekV4SingleKVPool"]',
    "string of an Optional": '"typing.Optional[DeepSeekV4SingleKVPool]"',
    "union with None": "DeepSeekV4SingleKVPool | None",
    "None first": "None | DeepSeekV4SingleKVPool",
    "string of a union with None": '"DeepSeekV4SingleKVPool | None"',
    "typing.Union with None": "typing.Union[DeepSeekV4SingleKVPool, None]",
    "union of two that guard": "DeepSeekV4SingleKVPool | HiSparseC4DevicePool",
    "typing.Union of two that guard": "typing.Union[DeepSeekV4SingleKVPool, HiSparseC4DevicePool]",
    "union within a union": "typing.Union[None, typing.Union[DeepSeekV4SingleKVPool, None]]",
    "Annotated": 'typing.Annotated[DeepSeekV4SingleKVPool, "on the device"]',
    "Annotated of an Optional": "typing.Annotated[typing.Optional[DeepSeekV4SingleKVPool], 1]",
    "Final": "typing.Final[DeepSeekV4SingleKVPool]",
    "module attribute": "dsv4.DeepSeekV4SingleKVPool",
    "string of a module attribute": '"dsv4.DeepSeekV4SingleKVPool"',
    "alias": "Single",
    "alias of an alias": "Alias",
    "alias of an optional": "Maybe",
    "alias that is a string": "Quoted",
    "declared alias": "Declared",
    "Optional of an alias": "typing.Optional[Alias]",
    "alias in a string": '"Alias"',
    "NewType": "New",
    "bound of a TypeVar": "Bound",
    "bound given as a string": "BoundLate",
    "constraints of a TypeVar": "Constrained",
    "Optional of a TypeVar": "typing.Optional[Bound]",
}
HEAD = """
    import typing
    from typing import TypeAlias
    import sglang.srt.mem_cache.deepseek_v4_memory_pool as dsv4
    Single = DeepSeekV4SingleKVPool
    Alias = Single
    Maybe = typing.Optional[DeepSeekV4SingleKVPool]
    Quoted: TypeAlias = "DeepSeekV4SingleKVPool"
    Declared: TypeAlias = DeepSeekV4SingleKVPool
    New = typing.NewType("New", DeepSeekV4SingleKVPool)
    Bound = typing.TypeVar("Bound", bound=DeepSeekV4SingleKVPool)
    BoundLate = typing.TypeVar("BoundLate", bound="DeepSeekV4SingleKVPool")
    Constrained = typing.TypeVar("Constrained", DeepSeekV4SingleKVPool, HiSparseC4DevicePool)
"""
PLACES = {
    "parameter": """
    def f(pool: {0}):
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "keyword-only parameter": """
    def f(*, pool: {0} = None):
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "positional-only parameter": """
    def f(pool: {0}, /):
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "method parameter": """
    class Backend:
        def f(self, pool: {0}):
            pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "local variable": """
    def f(batch):
        pool: {0} = batch.pool
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "class attribute": """
    class Backend:
        pool: {0}
        def f(self):
            self.pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "self attribute": """
    class Backend:
        def __init__(self, batch):
            self.pool: {0} = batch.pool
        def f(self):
            self.pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "result": """
    def make(cfg) -> {0}:
        return cfg.pool
    def f(cfg):
        make(cfg).get_kv_buffer(0)  # EXPECT KV101
""",
    "property": """
    class Backend:
        @property
        def pool(self) -> {0}:
            return self._pool
        def f(self):
            self.pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "global": """
    pool: {0} = make()
    def f():
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "cast": """
    def f(batch):
        typing.cast({0}, batch.pool).get_kv_buffer(0)  # EXPECT KV101
""",
    "element of a list": """
    def f(pools: list[{0}]):
        for pool in pools:
            pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "value of a dict": """
    def f(pools: typing.Dict[str, {0}]):
        pools["a"].get_kv_buffer(0)  # EXPECT KV101
""",
    "part of a tuple": """
    def f(pools: tuple[int, {0}]):
        pools[1].get_kv_buffer(0)  # EXPECT KV101
""",
}
OTHERS = {
    "several names in one string of a tuple": """
        def f(pair: "tuple[DeepSeekV4SingleKVPool, MHATokenToKVPool]"):
            a, b = pair
            a.get_kv_buffer(0)  # EXPECT KV101
            b.get_kv_buffer(0)
    """,
    "variable arguments": """
        def f(*pools: DeepSeekV4SingleKVPool, **named: DeepSeekV4SingleKVPool):
            pools[0].get_kv_buffer(0)  # EXPECT KV101
            for pool in pools:
                pool.get_kv_buffer(0)  # EXPECT KV101
            named["a"].get_kv_buffer(0)  # EXPECT KV101
            for pool in named.values():
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "factory class": """
        def f(cls: type[DeepSeekV4SingleKVPool], cfg):
            cls(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "typing.Type": """
        from typing import Type
        def f(cls: Type["DeepSeekV4SingleKVPool"], cfg):
            pool = cls(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "callable": """
        from typing import Callable
        def f(make: Callable[..., DeepSeekV4SingleKVPool]):
            make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "callable of abc": """
        from collections.abc import Callable
        def f(make: "Callable[[int], DeepSeekV4SingleKVPool]"):
            make(1).get_kv_buffer(0)  # EXPECT KV101
    """,
    "optional callable": """
        from typing import Callable, Optional
        def f(make: Optional[Callable[[], DeepSeekV4SingleKVPool]] = None):
            make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "iterators": """
        from collections.abc import Iterable, Iterator, Sequence
        def f(a: Iterable[DeepSeekV4SingleKVPool], b: Sequence[DeepSeekV4SingleKVPool]):
            for pool in a:
                pool.get_kv_buffer(0)  # EXPECT KV101
            b[0].get_kv_buffer(0)  # EXPECT KV101
        def g(c: Iterator[DeepSeekV4SingleKVPool]):
            next(c).get_kv_buffer(0)  # EXPECT KV101
    """,
    "nested containers": """
        def f(pools: dict[str, list[DeepSeekV4SingleKVPool]]):
            for group in pools.values():
                for pool in group:
                    pool.get_kv_buffer(0)  # EXPECT KV101
            pools["a"][0].get_kv_buffer(0)  # EXPECT KV101
            for name, group in pools.items():
                group[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "homogeneous tuple": """
        def f(pools: tuple[DeepSeekV4SingleKVPool, ...]):
            for pool in pools:
                pool.get_kv_buffer(0)  # EXPECT KV101
            first, *rest = pools
            first.get_kv_buffer(0)  # EXPECT KV101
            rest[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "typed dict": """
        from typing import TypedDict
        class Entry(TypedDict):
            pool: DeepSeekV4SingleKVPool
            size: int
        def f(entry: Entry):
            entry["pool"].get_kv_buffer(0)  # EXPECT KV101
    """,
    "protocol": """
        from typing import Protocol
        class HasPool(Protocol):
            pool: DeepSeekV4SingleKVPool
            @property
            def draft(self) -> DeepSeekV4SingleKVPool: ...
            def make(self) -> DeepSeekV4SingleKVPool: ...
        def f(runner: HasPool):
            runner.pool.get_kv_buffer(0)  # EXPECT KV101
            runner.draft.get_kv_buffer(0)  # EXPECT KV101
            runner.make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "generic class of a bound": """
        from typing import Generic, TypeVar
        P = TypeVar("P", bound=DeepSeekV4SingleKVPool)
        class Reader(Generic[P]):
            def __init__(self, pool: P):
                self.pool = pool
            def read(self):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
        def f(reader: Reader[HiSparseC4DevicePool]):
            reader.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "function of a TypeVar": """
        from typing import TypeVar
        P = TypeVar("P")
        def same(pool: P) -> P:
            return pool
        def f(pool: DeepSeekV4SingleKVPool):
            same(pool).get_kv_buffer(0)  # EXPECT KV101
    """,
    "Self": """
        from typing import Self
        class Mine(DeepSeekV4SingleKVPool):
            def clone(self) -> Self:
                return self
        def f(pool: Mine):
            pool.clone().get_kv_buffer(0)  # EXPECT KV101
    """,
    "the class's own name in a string": """
        class Mine(DeepSeekV4SingleKVPool):
            @classmethod
            def make(cls) -> "Mine":
                return cls()
        def f():
            Mine.make().get_kv_buffer(0)  # EXPECT KV101
    """,
    "checked at type-checking time only": """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool as Late
        def f(pool: "Late", other: "Late | None" = None):
            pool.get_kv_buffer(0)  # EXPECT KV101
            other.get_kv_buffer(0)  # EXPECT KV101
    """,
    "with a fallback for the run time": """
        import typing
        if typing.TYPE_CHECKING:
            from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool as Late
        else:
            Late = object
        def f(pool: Late):
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "type comment of an awaitable": """
        from typing import Awaitable
        async def f(pending: Awaitable[DeepSeekV4SingleKVPool]):
            pool = await pending
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "annotated and assigned later": """
        def f(batch, big):
            pool: DeepSeekV4SingleKVPool
            if big:
                pool = batch.big
            else:
                pool = batch.small
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "union, one of two guards": """
        def f(pool: DeepSeekV4SingleKVPool | MHATokenToKVPool):
            pool.get_kv_buffer(0)  # EXPECT KV101 warning
    """,
    "three classes, all guard": """
        from typing import Union
        Any3 = Union[DeepSeekV4SingleKVPool, HiSparseC4DevicePool, DeepSeekV4IndexerPool]
        def f(pool: Any3, layer, loc, k):
            pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV103
    """,
}
SILENT = {
    "any pool": """
        def f(pool: KVCache):
            pool.get_kv_buffer(0)
    """,
    "Any": """
        from typing import Any
        def f(pool: Any):
            pool.get_kv_buffer(0)
    """,
    "union with Any": """
        from typing import Any, Union
        def f(pool: Union[DeepSeekV4SingleKVPool, Any]):
            pool.get_kv_buffer(0)
    """,
    "union with an unknown class": """
        from elsewhere import Other
        def f(pool: DeepSeekV4SingleKVPool | Other):
            pool.get_kv_buffer(0)
    """,
    "protocol of its own": """
        from typing import Protocol
        class Reads(Protocol):
            def get_kv_buffer(self, layer): ...
        def f(pool: Reads):
            pool.get_kv_buffer(0)
    """,
    "union with a protocol": """
        from typing import Protocol
        class Reads(Protocol):
            def get_kv_buffer(self, layer): ...
        def f(pool: DeepSeekV4SingleKVPool | Reads):
            pool.get_kv_buffer(0)
    """,
    "Literal": """
        from typing import Literal
        def f(pool: Literal["DeepSeekV4SingleKVPool"]):
            pool.get_kv_buffer(0)
    """,
    "not a name": """
        def f(pool: "a DeepSeekV4SingleKVPool or so", other: 3, third: (1, 2)):
            pool.get_kv_buffer(0)
            other.get_kv_buffer(0)
            third.get_kv_buffer(0)
    """,
    "unbound TypeVar": """
        from typing import TypeVar
        P = TypeVar("P")
        def f(pool: P):
            pool.get_kv_buffer(0)
    """,
    "the class, not an instance": """
        def f(cls: type[DeepSeekV4SingleKVPool]):
            cls.get_kv_buffer
    """,
    "the list, not an element": """
        def f(pools: list[DeepSeekV4SingleKVPool]):
            pools.get_kv_buffer(0)
    """,
    "the key of a dict": """
        def f(pools: dict[DeepSeekV4SingleKVPool, MHATokenToKVPool]):
            for pool in pools.values():
                pool.get_kv_buffer(0)
    """,
    "annotation that a later value contradicts": """
        def f(batch):
            pool: DeepSeekV4SingleKVPool = MHATokenToKVPool(1)
            pool.get_kv_buffer(0)
    """,
    "another name of the union alias": """
        from typing import Union
        class Pools:
            Alias = Union[DeepSeekV4SingleKVPool, MHATokenToKVPool]
        def f(pool: "Pools.Other"):
            pool.get_kv_buffer(0)
    """,
    "local class of that name": """
        def f():
            class DeepSeekV4SingleKVPool:
                def get_kv_buffer(self, layer): ...
            def g(pool: DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)
            return g
    """,
}


@pytest.mark.parametrize("annotation", SPELLINGS.values(), ids=SPELLINGS)
def test_annotation_in_every_place(annotation: str, tmp_path: Path) -> None:
    programs = {
        f"{place}.py": POOLS + dedent(HEAD + PLACES[place].format(annotation)) for place in PLACES
    }
    assert_as_marked(programs, tmp_path)


@pytest.mark.parametrize("source", OTHERS.values(), ids=OTHERS)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)


NEW_SYNTAX = {
    "bound of a function's parameter": """
        def f[P: DeepSeekV4SingleKVPool](pool: P):
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "constraints of a function's parameter": """
        def f[P: (DeepSeekV4SingleKVPool, HiSparseC4DevicePool)](pool: P):
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "bound of a class's parameter": """
        class Reader[P: DeepSeekV4SingleKVPool]:
            def __init__(self, pool: P):
                self.pool = pool
            def read(self, other: P):
                self.pool.get_kv_buffer(0)  # EXPECT KV101
                other.get_kv_buffer(0)  # EXPECT KV101
    """,
    "type statement": """
        type Single = DeepSeekV4SingleKVPool
        type Maybe = Single | None
        def f(pool: Single, other: Maybe):
            pool.get_kv_buffer(0)  # EXPECT KV101
            other.get_kv_buffer(0)  # EXPECT KV101
    """,
    "type statement that looks ahead": """
        type Maybe = Single | None
        type Single = DeepSeekV4SingleKVPool
        def f(other: Maybe):
            other.get_kv_buffer(0)  # EXPECT KV101
    """,
    "result by the argument": """
        def same[P](pool: P) -> P:
            return pool
        def f(pool: DeepSeekV4SingleKVPool):
            same(pool).get_kv_buffer(0)  # EXPECT KV101
    """,
}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in 3.12")
@pytest.mark.parametrize("source", NEW_SYNTAX.values(), ids=NEW_SYNTAX)
def test_type_parameters(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)
