"""Where paths meet and where they end: joins, loops, try, rebinding."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "both branches": """
        def f(cfg, big):
            if big:
                pool = DeepSeekV4SingleKVPool(1)
            else:
                pool = HiSparseC4DevicePool(1)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "branch that does not come back": """
        def f(cfg, big):
            if big:
                pool = DeepSeekV4SingleKVPool(1)
            else:
                raise ValueError
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "one branch binds, the other does not": """
        def f(cfg, big):
            if big:
                pool = DeepSeekV4SingleKVPool(1)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "None and then a pool": """
        def f(cfg, big):
            pool = None
            if big:
                pool = DeepSeekV4SingleKVPool(1)
            if pool is not None:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "branches of a union": """
        def f(cfg, big):
            if big:
                pool = DeepSeekV4SingleKVPool(1)
            else:
                pool = MHATokenToKVPool(1)
            pool.get_kv_buffer(0)  # EXPECT KV101 warning
    """,
    "for": """
        def f(cfgs):
            for cfg in cfgs:
                pool = DeepSeekV4SingleKVPool(cfg)
                pool.get_kv_buffer(0)  # EXPECT KV101
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "for with break and else": """
        def f(cfgs):
            for cfg in cfgs:
                pool = DeepSeekV4SingleKVPool(cfg)
                if cfg:
                    break
            else:
                pool = HiSparseC4DevicePool(1)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "while true": """
        def f(queue, cfg):
            while True:
                pool = DeepSeekV4SingleKVPool(cfg)
                pool.get_kv_buffer(0)  # EXPECT KV101
                if queue.empty():
                    break
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "while and else": """
        def f(cfg, n):
            pool = DeepSeekV4SingleKVPool(cfg)
            while n:
                n -= 1
            else:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "known only in the second round": """
        def f(cfg, n):
            pool = None
            for i in range(n):
                if pool is not None:
                    pool.get_kv_buffer(0)  # EXPECT KV101
                pool = DeepSeekV4SingleKVPool(cfg)
    """,
    "retry": """
        def f(cfg):
            while True:
                try:
                    pool = DeepSeekV4SingleKVPool(cfg)
                    break
                except MemoryError:
                    continue
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "try": """
        def f(cfg):
            try:
                pool = DeepSeekV4SingleKVPool(cfg)
            except MemoryError:
                pool = HiSparseC4DevicePool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "try whose handler leaves": """
        def f(cfg):
            try:
                pool = DeepSeekV4SingleKVPool(cfg)
            except MemoryError as error:
                raise RuntimeError from error
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "finally": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            try:
                step()
            finally:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "else of a try": """
        def f(cfg):
            try:
                step()
            except ValueError:
                return
            else:
                pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "with": """
        def f(cfg, lock):
            with lock, open("x") as file:
                pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match": """
        def f(cfg):
            match cfg.kind:
                case "single":
                    pool = DeepSeekV4SingleKVPool(cfg)
                case "c4" | "c128":
                    pool = HiSparseC4DevicePool(cfg)
                case _:
                    raise ValueError
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "rebound back": """
        def f(cfg, other):
            pool = other
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "alias that keeps the old": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            kept = pool
            pool = other
            kept.get_kv_buffer(0)  # EXPECT KV101
    """,
    "before the rebinding": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
            pool = other
            pool.get_kv_buffer(0)
    """,
    "rebinding reads the old": """
        def f(pool: DeepSeekV4SingleKVPool):
            pool = pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "assigned and deleted": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
            del pool
    """,
    "condition that is constant": """
        def f(cfg):
            if True:
                pool = DeepSeekV4SingleKVPool(cfg)
            if False:
                pool = MHATokenToKVPool(cfg)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "correlated branches": """
        def f(cfg, big):
            pool = None
            if big:
                pool = DeepSeekV4SingleKVPool(cfg)
            if big:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "deep nesting": """
        def f(cfg, a, b, c):
            if a:
                with b:
                    for i in c:
                        try:
                            if i:
                                pool = DeepSeekV4SingleKVPool(cfg)
                                pool.get_kv_buffer(0)  # EXPECT KV101
                        finally:
                            pass
    """,
    "walrus in a while": """
        def next_pool() -> DeepSeekV4SingleKVPool | None: ...
        def f():
            while (pool := next_pool()) is not None:
                pool.get_kv_buffer(0)  # EXPECT KV101
            while pool := next_pool():
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "other things happen to the pool": """
        def f(cfg, log):
            pool = DeepSeekV4SingleKVPool(cfg)
            log.info("made %s", pool)
            pool.size += 1
            register(pool)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "module level if, loop and try": """
        import os
        if os.environ.get("X"):
            pool = DeepSeekV4SingleKVPool(1)
        else:
            pool = HiSparseC4DevicePool(1)
        for layer in range(3):
            pool.get_kv_buffer(layer)  # EXPECT KV101
        try:
            pool.get_value_buffer(0)  # EXPECT KV101
        finally:
            pass
        def f():
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "semicolons and one-liners": """
        def f(cfg): pool = DeepSeekV4SingleKVPool(cfg); pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "type comment": """
        def f(cfg):
            pool = cfg.pool  # type: DeepSeekV4SingleKVPool
            other: DeepSeekV4SingleKVPool = cfg.pool
            other.get_kv_buffer(0)  # EXPECT KV101
    """,
    "isinstance or exit in boolean statement": """
        import sys
        def f(pool):
            isinstance(pool, DeepSeekV4SingleKVPool) or sys.exit(1)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "while not": """
        def f(pool):
            while not isinstance(pool, DeepSeekV4SingleKVPool):
                pool = unwrap(pool)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "if raise helper": """
        from typing import NoReturn
        def die(msg) -> NoReturn:
            raise SystemExit(msg)
        def f(pool):
            if not isinstance(pool, DeepSeekV4SingleKVPool):
                die("no")
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "unittest fail": """
        import unittest
        class T(unittest.TestCase):
            def test(self, pool):
                if not isinstance(pool, DeepSeekV4SingleKVPool):
                    self.fail("no")
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "for else narrowing": """
        def f(pools: list[KVCache]):
            for pool in pools:
                if isinstance(pool, DeepSeekV4SingleKVPool):
                    break
            else:
                raise LookupError
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "try/except narrowing": """
        def f(pool):
            try:
                assert isinstance(pool, DeepSeekV4SingleKVPool)
            except AssertionError:
                return
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "del attr in loop with try": """
        def f(cfg):
            for i in range(3):
                pool = DeepSeekV4SingleKVPool(i)
                try:
                    step(i)
                except RuntimeError:
                    continue
                finally:
                    log(i)
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "optional chaining": """
        def f(pool: DeepSeekV4SingleKVPool | None):
            return pool and pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "optional without check": """
        def f(pool: DeepSeekV4SingleKVPool | None):
            return pool.get_kv_buffer(0)  # EXPECT KV101
    """,
}

SILENT = {
    "rebound to unknown": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            pool = other
            pool.get_kv_buffer(0)
    """,
    "rebound in a branch": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            if other:
                pool = other
            pool.get_kv_buffer(0)
    """,
    "rebound in a loop": """
        def f(cfg, others):
            pool = DeepSeekV4SingleKVPool(cfg)
            for other in others:
                pool = other
            pool.get_kv_buffer(0)
    """,
    "rebound at a loop's end": """
        def f(cfg, others):
            pool = DeepSeekV4SingleKVPool(cfg)
            for other in others:
                pool.get_kv_buffer(0)
                pool = other
    """,
    "rebound by a loop's target": """
        def f(cfg, pools):
            pool = DeepSeekV4SingleKVPool(cfg)
            for pool in pools:
                pool.get_kv_buffer(0)
            pool.get_kv_buffer(0)
    """,
    "rebound by with, except, import, def and class": """
        def f(cfg, lease):
            a = b = c = d = e = DeepSeekV4SingleKVPool(cfg)
            with lease as a:
                a.get_kv_buffer(0)
            try:
                step()
            except ValueError as b:
                b.get_kv_buffer(0)
            import c
            c.get_kv_buffer(0)
            def d(): ...
            d.get_kv_buffer(0)
            class e: ...
            e.get_kv_buffer(0)
    """,
    "rebound by unpacking, augmenting and walrus": """
        def f(cfg, pair):
            a = b = c = DeepSeekV4SingleKVPool(cfg)
            a, _ = pair
            a.get_kv_buffer(0)
            b += pair
            b.get_kv_buffer(0)
            if (c := pair):
                c.get_kv_buffer(0)
    """,
    "rebound in a try": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            try:
                pool = other.pool
                step()
            except ValueError:
                pool.get_kv_buffer(0)
            pool.get_kv_buffer(0)
    """,
    "rebound in a try that raises": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            try:
                pool = other.pool
                raise ValueError
            except ValueError:
                pool.get_kv_buffer(0)
    """,
    "rebound in a handler": """
        def f(cfg, other):
            try:
                pool = DeepSeekV4SingleKVPool(cfg)
            except ValueError:
                pool = other
            pool.get_kv_buffer(0)
    """,
    "rebound in a with that swallows": """
        from contextlib import suppress
        def f(cfg, other):
            pool = other
            with suppress(ValueError):
                pool = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)
    """,
    "rebound in a match": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(1)
            match cfg:
                case 1:
                    pool = other
                case {"pool": pool}:
                    pass
            pool.get_kv_buffer(0)
    """,
    "unreachable": """
        def f(cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            raise ValueError
            pool.get_kv_buffer(0)
    """,
    "under a false condition": """
        from typing import TYPE_CHECKING
        def f(pool: DeepSeekV4SingleKVPool):
            if False:
                pool.get_kv_buffer(0)
            if TYPE_CHECKING:
                reveal_type(pool)
            else:
                pool.get_key_buffer(0)
    """,
    "after an endless loop": """
        def f(pool: DeepSeekV4SingleKVPool):
            while True:
                step()
            pool.get_kv_buffer(0)
    """,
    "exec and globals()": """
        def f(cfg):
            globals()["pool"] = DeepSeekV4SingleKVPool(cfg)
            pool.get_kv_buffer(0)
    """,
    "star import that may rebind": """
        pool = DeepSeekV4SingleKVPool(1)
        from elsewhere import pool
        pool.get_kv_buffer(0)
    """,
    "only in text": '''
        def f(pool: DeepSeekV4SingleKVPool):
            """pool.get_kv_buffer(0)"""
            # pool.get_kv_buffer(0)
            return "pool.get_kv_buffer(0)", f"{pool}.get_kv_buffer(0)"
    ''',
    "loop variable after another loop": """
        def f(a: list[DeepSeekV4SingleKVPool], b):
            for pool in a:
                pool.get_key_buffer(0)
            for pool in b:
                pool.get_kv_buffer(0)
    """,
    "shadowed param": """
        pool = DeepSeekV4SingleKVPool(1)
        def f(pool):
            pool.get_kv_buffer(0)
    """,
    "shadowed by loop var comprehension": """
        pool = DeepSeekV4SingleKVPool(1)
        def f(pools):
            return [pool.get_kv_buffer(0) for pool in pools]
    """,
    "del then new": """
        def f(cfg, other):
            pool = DeepSeekV4SingleKVPool(cfg)
            del pool
            pool = other.pool
            pool.get_kv_buffer(0)
    """,
    "reassigned in with target": """
        def f(ctx):
            pool = DeepSeekV4SingleKVPool(1)
            with ctx() as (pool, n):
                pool.get_kv_buffer(0)
    """,
    "loop else rebind": """
        def f(pools, cfg):
            pool = DeepSeekV4SingleKVPool(cfg)
            while pools:
                pool = pools.pop()
            pool.get_kv_buffer(0)
    """,
    "isinstance excludes by and not": """
        def f(pool: KVCache, ready):
            if ready and not isinstance(pool, (DeepSeekV4SingleKVPool, MHATokenToKOnlyPool)):
                pool.get_kv_buffer(0)
    """,
    "negative conj early return": """
        def f(pool, ready):
            if ready and isinstance(pool, DeepSeekV4SingleKVPool):
                return
            pool.get_kv_buffer(0)
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
