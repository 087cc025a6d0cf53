"""Pools in lists, tuples, dicts and what goes over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "list literal": """
        def f(cfg):
            pools = [DeepSeekV4SingleKVPool(cfg), HiSparseC4DevicePool(cfg)]
            pools[0].get_kv_buffer(0)  # EXPECT KV101
            for pool in pools:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "loop over a literal": """
        def f(a: DeepSeekV4SingleKVPool, b: HiSparseC4DevicePool):
            for pool in (a, b):
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in [a, b]:
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in {a, b}:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "items of a list by position": """
        def f(cfg, i):
            pools = [MHATokenToKVPool(cfg), DeepSeekV4SingleKVPool(cfg)]
            pools[0].get_kv_buffer(0)
            pools[1].get_kv_buffer(0)  # EXPECT KV101
            pools[-1].get_kv_buffer(0)  # EXPECT KV101
            pools[i].get_kv_buffer(0)  # EXPECT KV101 warning
    """,
    "tuple by position": """
        def f(cfg):
            pools = (MHATokenToKVPool(cfg), DeepSeekV4SingleKVPool(cfg))
            pools[1].get_kv_buffer(0)  # EXPECT KV101
            first, second = pools
            second.get_kv_buffer(0)  # EXPECT KV101
            first.get_kv_buffer(0)
    """,
    "list repeated": """
        def f(cfg):
            pools = [DeepSeekV4SingleKVPool(cfg)] * 3
            pools[2].get_kv_buffer(0)  # EXPECT KV101
    """,
    "lists added": """
        def f(cfg):
            pools = [DeepSeekV4SingleKVPool(cfg)] + [HiSparseC4DevicePool(cfg)]
            pools[1].get_kv_buffer(0)  # EXPECT KV101
            pools += [DeepSeekV4SingleKVPool(cfg)]
            pools[2].get_kv_buffer(0)  # EXPECT KV101
    """,
    "starred into a list": """
        def f(pools: list[DeepSeekV4SingleKVPool], cfg):
            more = [*pools, DeepSeekV4SingleKVPool(cfg)]
            more[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "append": """
        def f(cfgs):
            pools = []
            for cfg in cfgs:
                pools.append(DeepSeekV4SingleKVPool(cfg))
            for pool in pools:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "append in a typed list": """
        def f(cfgs, batch):
            pools: list[DeepSeekV4SingleKVPool] = []
            pools.append(batch.pool)
            pools[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "extend and insert": """
        def f(a: list[DeepSeekV4SingleKVPool], cfg):
            pools = []
            pools.extend(a)
            pools.insert(0, DeepSeekV4SingleKVPool(cfg))
            pools[0].get_kv_buffer(0)  # EXPECT KV101
            pools.pop().get_kv_buffer(0)  # EXPECT KV101
    """,
    "set and deque": """
        from collections import deque
        def f(cfg):
            seen = set()
            seen.add(DeepSeekV4SingleKVPool(cfg))
            for pool in seen:
                pool.get_kv_buffer(0)  # EXPECT KV101
            queue = deque([DeepSeekV4SingleKVPool(cfg)])
            queue.popleft().get_kv_buffer(0)  # EXPECT KV101
    """,
    "comprehension": """
        def f(n):
            pools = [DeepSeekV4SingleKVPool(i) for i in range(n)]
            pools[0].get_kv_buffer(0)  # EXPECT KV101
            [p.get_kv_buffer(0) for p in pools]  # EXPECT KV101
            {p.get_kv_buffer(0) for p in pools}  # EXPECT KV101
            any(p.get_kv_buffer(0) for p in pools)  # EXPECT KV101
    """,
    "nested comprehension": """
        def f(groups: list[list[DeepSeekV4SingleKVPool]]):
            return [p.get_kv_buffer(0) for group in groups for p in group]  # EXPECT KV101
    """,
    "dict literal": """
        def f(cfg, key):
            pools = {"main": DeepSeekV4SingleKVPool(cfg), "other": MHATokenToKVPool(cfg)}
            pools["main"].get_kv_buffer(0)  # EXPECT KV101
            pools["other"].get_kv_buffer(0)
            pools.get("main").get_kv_buffer(0)  # EXPECT KV101
            pools[key].get_kv_buffer(0)  # EXPECT KV101 warning
    """,
    "dict with other keys": """
        from enum import Enum
        class Kind(Enum):
            MAIN = 1
        def f(cfg):
            by_number = {0: DeepSeekV4SingleKVPool(cfg), 1: MHATokenToKVPool(cfg)}
            by_number[0].get_kv_buffer(0)  # EXPECT KV101
            by_number[1].get_kv_buffer(0)
            by_kind = {Kind.MAIN: DeepSeekV4SingleKVPool(cfg)}
            by_kind[Kind.MAIN].get_kv_buffer(0)  # EXPECT KV101
    """,
    "dict filled": """
        def f(cfgs):
            pools = {}
            for name, cfg in cfgs.items():
                pools[name] = DeepSeekV4SingleKVPool(cfg)
            pools["a"].get_kv_buffer(0)  # EXPECT KV101
            for pool in pools.values():
                pool.get_kv_buffer(0)  # EXPECT KV101
            for name, pool in pools.items():
                pool.get_kv_buffer(0)  # EXPECT KV101
            for name in pools:
                pools[name].get_kv_buffer(0)  # EXPECT KV101
    """,
    "dict(), defaultdict, setdefault": """
        from collections import defaultdict
        def f(cfg):
            pools = dict(main=DeepSeekV4SingleKVPool(cfg))
            pools["main"].get_kv_buffer(0)  # EXPECT KV101
            lazy = defaultdict(DeepSeekV4SingleKVPool)
            lazy["a"].get_kv_buffer(0)  # EXPECT KV101
            known = {}
            known.setdefault("a", DeepSeekV4SingleKVPool(cfg)).get_kv_buffer(0)  # EXPECT KV101
    """,
    "dict comprehension": """
        def f(names):
            pools = {name: DeepSeekV4SingleKVPool(name) for name in names}
            pools["a"].get_kv_buffer(0)  # EXPECT KV101
            {k: p.get_kv_buffer(0) for k, p in pools.items()}  # EXPECT KV101
            list(pools.values())[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "dict merged": """
        def f(a: dict[str, DeepSeekV4SingleKVPool], cfg):
            both = {**a, "b": DeepSeekV4SingleKVPool(cfg)}
            both["x"].get_kv_buffer(0)  # EXPECT KV101
            more = a | {"c": DeepSeekV4SingleKVPool(cfg)}
            more["x"].get_kv_buffer(0)  # EXPECT KV101
    """,
    "enumerate, zip, reversed, sorted": """
        import itertools
        def f(pools: list[DeepSeekV4SingleKVPool], layers):
            for i, pool in enumerate(pools):
                pool.get_kv_buffer(i)  # EXPECT KV101
            for pool, layer in zip(pools, layers):
                pool.get_kv_buffer(layer)  # EXPECT KV101
            for i, (pool, layer) in enumerate(zip(pools, layers), start=1):
                pool.get_kv_buffer(layer)  # EXPECT KV101
            for pool in reversed(pools):
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in sorted(pools, key=len):
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in itertools.chain(pools, pools):
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in pools[1:]:
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in list(pools):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "next, max, iter": """
        def f(pools: list[DeepSeekV4SingleKVPool]):
            next(iter(pools)).get_kv_buffer(0)  # EXPECT KV101
            max(pools, key=len).get_kv_buffer(0)  # EXPECT KV101
            next(p for p in pools if p).get_kv_buffer(0)  # EXPECT KV101
    """,
    "max of two": """
        def f(a: DeepSeekV4SingleKVPool, b: HiSparseC4DevicePool):
            max(a, b, key=len).get_kv_buffer(0)  # EXPECT KV101
    """,
    "map": """
        def make(cfg):
            return DeepSeekV4SingleKVPool(cfg)
        def f(cfgs):
            for pool in map(make, cfgs):
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in map(DeepSeekV4SingleKVPool, cfgs):
                pool.get_kv_buffer(0)  # EXPECT KV101
            for pool in map(lambda cfg: DeepSeekV4SingleKVPool(cfg), cfgs):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "star in a call": """
        def f(pools: list[DeepSeekV4SingleKVPool]):
            first, *rest = pools
            first.get_kv_buffer(0)  # EXPECT KV101
            for pool in rest:
                pool.get_kv_buffer(0)  # EXPECT KV101
            *_, last = pools
            last.get_kv_buffer(0)  # EXPECT KV101
    """,
    "star at known places": """
        def f(cfg):
            first, *rest = DeepSeekV4SingleKVPool(cfg), 1, 2
            first.get_kv_buffer(0)  # EXPECT KV101
            *rest, last = 1, 2, DeepSeekV4SingleKVPool(cfg)
            last.get_kv_buffer(0)  # EXPECT KV101
    """,
    "pairs in a list": """
        def f(pairs: list[tuple[int, DeepSeekV4SingleKVPool]]):
            for n, pool in pairs:
                pool.get_kv_buffer(n)  # EXPECT KV101
            pairs[0][1].get_kv_buffer(0)  # EXPECT KV101
    """,
    "pairs in a literal": """
        def f(a: DeepSeekV4SingleKVPool):
            for name, pool in [("a", a), ("b", a)]:
                pool.get_kv_buffer(0)  # EXPECT KV101
            for name, pool in (("a", a),):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "nested": """
        def f(cfg):
            table = {"a": [DeepSeekV4SingleKVPool(cfg)], "b": []}
            table["a"][0].get_kv_buffer(0)  # EXPECT KV101
            deep = {"x": {"y": DeepSeekV4SingleKVPool(cfg)}}
            deep["x"]["y"].get_kv_buffer(0)  # EXPECT KV101
    """,
    "item assigned": """
        def f(cfg, pools):
            pools[0] = DeepSeekV4SingleKVPool(cfg)
            pools[0].get_kv_buffer(0)  # EXPECT KV101
            pools["a"] = DeepSeekV4SingleKVPool(cfg)
            pools["a"].get_kv_buffer(0)  # EXPECT KV101
    """,
    "item assigned by a variable": """
        def f(cfg, pools, i):
            pools[i] = DeepSeekV4SingleKVPool(cfg)
            pools[i].get_kv_buffer(0)  # EXPECT KV101
    """,
    "list of None, filled": """
        def f(cfg, n):
            pools = [None] * n
            for i in range(n):
                pools[i] = DeepSeekV4SingleKVPool(cfg)
            pools[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "global list": """
        POOLS = [DeepSeekV4SingleKVPool(1), DeepSeekV4SingleKVPool(2)]
        def f():
            POOLS[0].get_kv_buffer(0)  # EXPECT KV101
            for pool in POOLS:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "copy of a list": """
        import copy
        def f(pools: list[DeepSeekV4SingleKVPool]):
            copy.copy(pools)[0].get_kv_buffer(0)  # EXPECT KV101
            pools.copy()[0].get_kv_buffer(0)  # EXPECT KV101
            tuple(pools)[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "sub-pools listed": """
        def f(pool: DeepSeekV4TokenToKVPool):
            for sub in pool.kv_pools:
                sub.get_kv_buffer(0)  # EXPECT KV101
            pool.kv_pools[0].get_kv_buffer(0)  # EXPECT KV101
            for sub in pool.index_pools:
                sub.get_kv_buffer(0)  # EXPECT KV103
    """,
    "class that iterates": """
        class Pools:
            def __iter__(self):
                yield DeepSeekV4SingleKVPool(1)
            def __getitem__(self, i):
                return DeepSeekV4SingleKVPool(i)
        def f(pools: Pools):
            for pool in pools:
                pool.get_kv_buffer(0)  # EXPECT KV101
            pools[0].get_kv_buffer(0)  # EXPECT KV101
    """,
}

SILENT = {
    "list with something unknown": """
        def f(a: DeepSeekV4SingleKVPool, b):
            for pool in [a, b]:
                pool.get_kv_buffer(0)
    """,
    "appended something unknown": """
        def f(cfg, other):
            pools = [DeepSeekV4SingleKVPool(cfg)]
            pools.append(other)
            for pool in pools:
                pool.get_kv_buffer(0)
    """,
    "given to something that may change it": """
        from elsewhere import fill
        def f():
            pools = []
            fill(pools)
            for pool in pools:
                pool.get_kv_buffer(0)
    """,
    "item replaced": """
        def f(pools: list[DeepSeekV4SingleKVPool], other):
            pools[0] = other
            pools[0].get_kv_buffer(0)
    """,
    "item replaced by a variable": """
        def f(cfg, other, i):
            pools = [DeepSeekV4SingleKVPool(cfg)]
            pools[i] = other
            pools[0].get_kv_buffer(0)
    """,
    "another key": """
        def f(cfg, other):
            pools = {"a": DeepSeekV4SingleKVPool(cfg), "b": other}
            pools["b"].get_kv_buffer(0)
    """,
    "get with another default": """
        def f(pools: dict[str, DeepSeekV4SingleKVPool], other):
            pools.get("a", other).get_kv_buffer(0)
    """,
    "keys": """
        def f(pools: dict[str, DeepSeekV4SingleKVPool]):
            for name in pools:
                name.get_kv_buffer(0)
            for name in pools.keys():
                name.get_kv_buffer(0)
            for name, _ in pools.items():
                name.get_kv_buffer(0)
    """,
    "the other of a zip": """
        def f(pools: list[DeepSeekV4SingleKVPool], others):
            for pool, other in zip(pools, others):
                other.get_kv_buffer(0)
    """,
    "after the loop, from something unknown": """
        def f(pools: list[DeepSeekV4SingleKVPool], pool):
            for _ in pools:
                pool.get_kv_buffer(0)
    """,
    "empty list": """
        def f():
            for pool in []:
                pool.get_kv_buffer(0)
    """,
    "dict merged with something unknown": """
        def f(a: dict[str, DeepSeekV4SingleKVPool], b):
            both = {**a, **b}
            both["x"].get_kv_buffer(0)
    """,
    "dict updated with something unknown": """
        def f(cfg, b):
            pools = {"a": DeepSeekV4SingleKVPool(cfg)}
            pools.update(b)
            pools["a"].get_kv_buffer(0)
    """,
    "list extended with something unknown": """
        def f(cfg, b):
            pools = [DeepSeekV4SingleKVPool(cfg)]
            pools.extend(b)
            pools[0].get_kv_buffer(0)
            more = [DeepSeekV4SingleKVPool(cfg)]
            more += b
            more[0].get_kv_buffer(0)
    """,
    "list under two names": """
        def f(cfg, other):
            pools = [DeepSeekV4SingleKVPool(cfg)]
            same = pools
            same.append(other)
            pools[0].get_kv_buffer(0)
            for pool in pools:
                pool.get_kv_buffer(0)
    """,
    "global list that a function fills": """
        POOLS = []
        def add(pool):
            POOLS.append(pool)
        def f():
            for pool in POOLS:
                pool.get_kv_buffer(0)
    """,
    "global list that a function adds to": """
        POOLS = [DeepSeekV4SingleKVPool(1)]
        def add(pool):
            POOLS.append(pool)
        def f():
            for pool in POOLS:
                pool.get_kv_buffer(0)
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
