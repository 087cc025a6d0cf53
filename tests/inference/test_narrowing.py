"""Conditions that say what a pool is, and those that only seem to."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.inference.programs import POOLS, assert_as_marked, assert_finds, assert_silent

HOLDS = {
    "isinstance": "isinstance(pool, DeepSeekV4SingleKVPool)",
    "tuple": "isinstance(pool, (DeepSeekV4SingleKVPool, HiSparseC4DevicePool))",
    "tuple of one": "isinstance(pool, (DeepSeekV4SingleKVPool,))",
    "nested tuple": "isinstance(pool, (DeepSeekV4SingleKVPool, (HiSparseC4DevicePool,)))",
    "union": "isinstance(pool, DeepSeekV4SingleKVPool | HiSparseC4DevicePool)",
    "typing.Union": "isinstance(pool, typing.Union[DeepSeekV4SingleKVPool, HiSparseC4DevicePool])",
    "tuple alias": "isinstance(pool, SINGLE)",
    "union alias": "isinstance(pool, EITHER)",
    "type alias": "isinstance(pool, Single)",
    "module attribute": "isinstance(pool, dsv4.DeepSeekV4SingleKVPool)",
    "type of a known object": "isinstance(pool, type(KNOWN))",
    "issubclass of type": "issubclass(type(pool), DeepSeekV4SingleKVPool)",
    "issubclass of __class__": "issubclass(pool.__class__, DeepSeekV4SingleKVPool)",
    "type is": "type(pool) is DeepSeekV4SingleKVPool",
    "type ==": "type(pool) == DeepSeekV4SingleKVPool",
    "type is, turned round": "DeepSeekV4SingleKVPool is type(pool)",
    "type in": "type(pool) in (DeepSeekV4SingleKVPool, HiSparseC4DevicePool)",
    "type in a set": "type(pool) in {DeepSeekV4SingleKVPool, HiSparseC4DevicePool}",
    "type in an alias": "type(pool) in SINGLE",
    "__class__ is": "pool.__class__ is DeepSeekV4SingleKVPool",
    "__class__ ==": "pool.__class__ == DeepSeekV4SingleKVPool",
    "name of the type": 'type(pool).__name__ == "DeepSeekV4SingleKVPool"',
    "name of __class__": 'pool.__class__.__name__ == "DeepSeekV4SingleKVPool"',
    "name in": 'type(pool).__name__ in ("DeepSeekV4SingleKVPool", "HiSparseC4DevicePool")',
    "and": "ready and isinstance(pool, DeepSeekV4SingleKVPool)",
    "and, first": "isinstance(pool, DeepSeekV4SingleKVPool) and ready",
    "and, three": "ready and isinstance(pool, DeepSeekV4SingleKVPool) and size > 1",
    "and, parenthesised": "ready and (size and isinstance(pool, DeepSeekV4SingleKVPool))",
    "and None": "pool is not None and isinstance(pool, DeepSeekV4SingleKVPool)",
    "or": "isinstance(pool, DeepSeekV4SingleKVPool) or isinstance(pool, HiSparseC4DevicePool)",
    "or of types": "type(pool) is DeepSeekV4SingleKVPool or type(pool) is HiSparseC4DevicePool",
    "double negation": "not not isinstance(pool, DeepSeekV4SingleKVPool)",
    "De Morgan": "not (not isinstance(pool, DeepSeekV4SingleKVPool) or size)",
    "bool": "bool(isinstance(pool, DeepSeekV4SingleKVPool))",
    "is True": "isinstance(pool, DeepSeekV4SingleKVPool) is True",
    "== True": "isinstance(pool, DeepSeekV4SingleKVPool) == True",
    "walrus kept": "(known := isinstance(pool, DeepSeekV4SingleKVPool))",
    "function": "is_single(pool)",
    "function with a docstring": "is_single_kv(pool)",
    "function by keyword": "is_single(pool=pool)",
    "function of two lines": "is_single_late(pool)",
    "TypeGuard": "guard(pool)",
    "TypeIs": "type_is(pool)",
    "subset of a wider class": "isinstance(pool, KVCache) and isinstance(pool, SINGLE)",
    "excluded and included": (
        "not isinstance(pool, MHATokenToKVPool) and isinstance(pool, DeepSeekV4SingleKVPool)"
    ),
    "any": "any(isinstance(pool, c) for c in SINGLE)",
}
HEAD = """
    import sys
    import typing
    import pytest
    import sglang.srt.mem_cache.deepseek_v4_memory_pool as dsv4
    from typing import TypeGuard, TypeIs
    Single = DeepSeekV4SingleKVPool
    SINGLE = (DeepSeekV4SingleKVPool, HiSparseC4DevicePool)
    EITHER = DeepSeekV4SingleKVPool | HiSparseC4DevicePool
    KNOWN = DeepSeekV4SingleKVPool(1)
    def is_single(pool):
        return isinstance(pool, DeepSeekV4SingleKVPool)
    def is_single_kv(candidate) -> bool:
        '''Whether K and V share a buffer.'''
        return isinstance(candidate, SINGLE)
    def is_single_late(pool):
        from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool as Late
        return isinstance(pool, Late)
    def guard(pool) -> TypeGuard[DeepSeekV4SingleKVPool]:
        return pool.kind == "single"
    def type_is(pool) -> "TypeIs[DeepSeekV4SingleKVPool]":
        return pool.kind == "single"
"""
WAYS = {
    "if": """
    def f(pool, ready, size):
        if {0}:
            pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "if of a known pool": """
    def f(pool: KVCache, ready, size):
        if {0}:
            pool.get_kv_buffer(0)  # EXPECT KV101
        else:
            pool.get_kv_buffer(0)
""",
    "elif": """
    def f(pool, ready, size):
        if size == 2:
            pass
        elif {0}:
            pool.get_kv_buffer(0)  # EXPECT KV101
        else:
            pool.get_kv_buffer(0)
""",
    "else of the negation": """
    def f(pool, ready, size):
        if not ({0}):
            pool.get_kv_buffer(0)
        else:
            pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "early return": """
    def f(pool, ready, size):
        if not ({0}):
            return pool.get_kv_buffer(0)
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "early raise": """
    def f(pool, ready, size):
        if not ({0}):
            raise TypeError(pool)
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "early exit": """
    def f(pool, ready, size):
        if not ({0}):
            sys.exit("another pool")
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "pytest.skip": """
    def f(pool, ready, size):
        if not ({0}):
            pytest.skip("another pool")
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "continue": """
    def f(pools, ready, size):
        for pool in pools:
            if not ({0}):
                continue
            pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "break": """
    def f(pools, ready, size):
        for pool in pools:
            if not ({0}):
                break
            pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "assert": """
    def f(pool, ready, size):
        assert {0}
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "assert with a message": """
    def f(pool, ready, size):
        assert ({0}), f"unexpected {{type(pool)}}"
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "while": """
    def f(pool, ready, size):
        while {0}:
            pool.get_kv_buffer(0)  # EXPECT KV101
            pool = ready()
""",
    "ternary": """
    def f(pool, ready, size):
        return pool.get_kv_buffer(0) if ({0}) else None  # EXPECT KV101
""",
    "conjunction": """
    def f(pool, ready, size):
        return ({0}) and pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "disjunction of the negation": """
    def f(pool, ready, size):
        return not ({0}) or pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "comprehension": """
    def f(pools, ready, size):
        return [pool.get_kv_buffer(0) for pool in pools if {0}]  # EXPECT KV101
""",
    "kept under a name": """
    def f(pool, ready, size):
        fits = ({0})
        if fits:
            pool.get_kv_buffer(0)  # EXPECT KV101
""",
    "kept and negated": """
    def f(pool, ready, size):
        differs = not ({0})
        if differs:
            return
        pool.get_kv_buffer(0)  # EXPECT KV101
""",
}

OTHERS = {
    "attribute": """
        def f(batch):
            if isinstance(batch.token_to_kv_pool, DeepSeekV4SingleKVPool):
                batch.token_to_kv_pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "attribute of self": """
        class Backend:
            def f(self):
                if isinstance(self.runner.pool, DeepSeekV4SingleKVPool):
                    self.runner.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "attribute after an early return": """
        class Backend:
            def f(self):
                if not isinstance(self.pool, DeepSeekV4SingleKVPool):
                    return None
                return self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "item": """
        def f(pools):
            if isinstance(pools[0], DeepSeekV4SingleKVPool):
                pools[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "item by a text": """
        def f(pools):
            if isinstance(pools["main"], DeepSeekV4SingleKVPool):
                pools["main"].get_kv_buffer(0)  # EXPECT KV101
    """,
    "walrus": """
        def f(batch):
            if isinstance(pool := batch.token_to_kv_pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "walrus in a conjunction": """
        def f(batch):
            if (pool := batch.pool) is not None and isinstance(pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "walrus in getattr": """
        def f(batch):
            if isinstance((pool := getattr(batch, "pool", None)), DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "alias made before the test": """
        def f(pool):
            kv = pool
            if isinstance(kv, DeepSeekV4SingleKVPool):
                kv.get_kv_buffer(0)  # EXPECT KV101
    """,
    "alias made after the test": """
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                kv = pool
                kv.get_kv_buffer(0)  # EXPECT KV101
    """,
    "nested ifs": """
        def f(pool, ready):
            if isinstance(pool, KVCache):
                if ready:
                    if isinstance(pool, DeepSeekV4SingleKVPool):
                        pool.get_kv_buffer(0)  # EXPECT KV101
                    pool.get_kv_buffer(0)
    """,
    "chain of elifs": """
        def f(pool, layer, loc, k):
            if isinstance(pool, MHATokenToKVPool):
                pool.get_kv_buffer(0)
            elif isinstance(pool, MHATokenToKOnlyPool):
                pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
            elif isinstance(pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)  # EXPECT KV101
            else:
                pool.get_kv_buffer(0)
    """,
    "rest of a union": """
        def f(pool: DeepSeekV4SingleKVPool | MHATokenToKVPool):
            if isinstance(pool, MHATokenToKVPool):
                return pool.get_kv_buffer(0)
            return pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "rest of a union, asserted": """
        def f(pool: DeepSeekV4SingleKVPool | MHATokenToKVPool | None):
            assert not isinstance(pool, MHATokenToKVPool)
            assert pool is not None
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "None ruled out by truth": """
        def f(pool: DeepSeekV4SingleKVPool | None):
            if pool:
                pool.get_kv_buffer(0)  # EXPECT KV101
            if not pool:
                return
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match": """
        def f(pool):
            match pool:
                case DeepSeekV4SingleKVPool():
                    pool.get_kv_buffer(0)  # EXPECT KV101
                case _:
                    pool.get_kv_buffer(0)
    """,
    "match as": """
        def f(batch):
            match batch.token_to_kv_pool:
                case DeepSeekV4SingleKVPool() as pool:
                    pool.get_kv_buffer(0)  # EXPECT KV101
                case pool:
                    pool.get_kv_buffer(0)
    """,
    "match of an attribute": """
        def f(batch):
            match batch.token_to_kv_pool:
                case DeepSeekV4SingleKVPool():
                    batch.token_to_kv_pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match or": """
        def f(pool):
            match pool:
                case DeepSeekV4SingleKVPool() | HiSparseC4DevicePool():
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match or as": """
        def f(item):
            match item:
                case (DeepSeekV4SingleKVPool() | HiSparseC4DevicePool()) as pool:
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match with a guard": """
        def f(pool, size):
            match pool:
                case DeepSeekV4SingleKVPool() if size > 1:
                    pool.get_kv_buffer(0)  # EXPECT KV101
                case MHATokenToKVPool():
                    pool.get_kv_buffer(0)
    """,
    "match whose guard is the test": """
        def f(item):
            match item:
                case pool if isinstance(pool, DeepSeekV4SingleKVPool):
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match with an attribute pattern": """
        def f(pool):
            match pool:
                case DeepSeekV4SingleKVPool(size=n):
                    pool.get_kv_buffer(n)  # EXPECT KV101
    """,
    "match of a tuple": """
        def f(pool, mode):
            match (pool, mode):
                case (DeepSeekV4SingleKVPool() as single, "read"):
                    single.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match of a tuple narrows its parts": """
        def f(pool, mode):
            match pool, mode:
                case DeepSeekV4SingleKVPool(), "read":
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match in an attribute of a class": """
        class Batch:
            def __init__(self, pool):
                self.pool = pool
        def f(batch):
            match batch:
                case Batch(pool=DeepSeekV4SingleKVPool() as pool):
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match in a mapping": """
        def f(entry):
            match entry:
                case {"pool": DeepSeekV4SingleKVPool() as pool}:
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "match on the type": """
        def f(pool, dsv4):
            match type(pool):
                case dsv4.Other:
                    pass
            match pool:
                case None:
                    pass
                case DeepSeekV4SingleKVPool():
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "rest after a match that returns": """
        def f(pool: DeepSeekV4SingleKVPool | MHATokenToKVPool):
            match pool:
                case MHATokenToKVPool():
                    return
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "kept on self": """
        class Backend:
            def __init__(self, pool):
                self.pool = pool
                self.is_single = isinstance(pool, DeepSeekV4SingleKVPool)
            def f(self):
                if self.is_single:
                    self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "kept conjunction": """
        def f(pool, ready):
            fits = ready and isinstance(pool, DeepSeekV4SingleKVPool)
            if fits:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "kept type": """
        def f(pool):
            kind = type(pool)
            if kind is DeepSeekV4SingleKVPool:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "kept name": """
        def f(pool):
            name = type(pool).__name__
            if name == "DeepSeekV4SingleKVPool":
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "try and else": """
        def f(batch):
            try:
                pool = batch.pool
                assert isinstance(pool, DeepSeekV4SingleKVPool)
            except AttributeError:
                return
            else:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "method as a type guard": """
        class Backend:
            def is_single(self, pool):
                return isinstance(pool, DeepSeekV4SingleKVPool)
            def f(self, pool):
                if self.is_single(pool):
                    pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "method that tests self's pool": """
        class Backend:
            def _is_single(self):
                return isinstance(self.pool, DeepSeekV4SingleKVPool)
            def f(self):
                if self._is_single():
                    self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "property that tests self's pool": """
        class Backend:
            @property
            def is_single(self) -> bool:
                return isinstance(self.pool, DeepSeekV4SingleKVPool)
            def f(self):
                if self.is_single:
                    self.pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "function that asserts": """
        def require_single(pool):
            assert isinstance(pool, DeepSeekV4SingleKVPool)
            return pool
        def f(pool):
            require_single(pool).get_kv_buffer(0)  # EXPECT KV101
    """,
    "sub-pool by its parent's test": """
        def f(pool, layer, loc, k):
            if isinstance(pool, MiniMaxSparseKVPool):
                pool.index_k_pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
    """,
    "filter": """
        def f(pools):
            for pool in filter(lambda p: isinstance(p, DeepSeekV4SingleKVPool), pools):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "list of those that fit": """
        def f(pools):
            singles = [p for p in pools if isinstance(p, DeepSeekV4SingleKVPool)]
            for pool in singles:
                pool.get_kv_buffer(0)  # EXPECT KV101
            singles[0].get_kv_buffer(0)  # EXPECT KV101
    """,
    "first that fits": """
        def f(pools):
            pool = next(p for p in pools if isinstance(p, DeepSeekV4SingleKVPool))
            pool.get_kv_buffer(0)  # EXPECT KV101
            other = next((p for p in pools if isinstance(p, DeepSeekV4SingleKVPool)), None)
            if other is not None:
                other.get_kv_buffer(0)  # EXPECT KV101
    """,
    "inside the condition": """
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool) and pool.get_kv_buffer(0):  # EXPECT KV101
                pass
    """,
    "narrowed in the enclosing function": """
        def f(pool):
            if not isinstance(pool, DeepSeekV4SingleKVPool):
                return None
            def read(layer):
                return pool.get_kv_buffer(layer)  # EXPECT KV101
            return read
    """,
    "narrowed before a lambda": """
        def f(pool):
            assert isinstance(pool, DeepSeekV4SingleKVPool)
            return lambda layer: pool.get_kv_buffer(layer)  # EXPECT KV101
    """,
    "two tests, one after the other": """
        def f(pool):
            if isinstance(pool, MHATokenToKVPool):
                return
            if isinstance(pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "chained comparison": """
        def f(pool, size):
            if 0 < size < 3 and type(pool) is DeepSeekV4SingleKVPool:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "assert_type and assertIsInstance": """
        import unittest
        from typing import assert_type
        class T(unittest.TestCase):
            def test(self, pool):
                self.assertIsInstance(pool, DeepSeekV4SingleKVPool)
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
}

SILENT = {
    "negation": """
        def f(pool):
            if not isinstance(pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)
    """,
    "else": """
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                pass
            else:
                pool.get_kv_buffer(0)
    """,
    "after the if": """
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                print("single")
            pool.get_kv_buffer(0)
    """,
    "after the if of any pool": """
        def f(pool: KVCache):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                print("single")
            pool.get_kv_buffer(0)
    """,
    "return where it fits": """
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                return pool.get_key_buffer(0), None
            return pool.get_kv_buffer(0)
    """,
    "raise where it fits": """
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                raise TypeError
            pool.get_kv_buffer(0)
    """,
    "assert not": """
        def f(pool):
            assert not isinstance(pool, DeepSeekV4SingleKVPool)
            pool.get_kv_buffer(0)
    """,
    "or with something else": """
        def f(pool, ready):
            if ready or isinstance(pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)
    """,
    "tuple with a class that works": """
        def f(pool, unknown):
            if isinstance(pool, (DeepSeekV4SingleKVPool, unknown.Pool)):
                pool.get_kv_buffer(0)
    """,
    "rebound after the test": """
        def f(pool, other):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                pool = other
                pool.get_kv_buffer(0)
    """,
    "attribute's base rebound": """
        def f(batch, other):
            if isinstance(batch.pool, DeepSeekV4SingleKVPool):
                batch = other
                batch.pool.get_kv_buffer(0)
    """,
    "kept test whose pool is rebound": """
        def f(pool, other):
            fits = isinstance(pool, DeepSeekV4SingleKVPool)
            pool = other
            if fits:
                pool.get_kv_buffer(0)
    """,
    "kept test that is reassigned": """
        def f(pool, ready):
            fits = isinstance(pool, DeepSeekV4SingleKVPool)
            fits = ready
            if fits:
                pool.get_kv_buffer(0)
    """,
    "kept test that is reassigned in a branch": """
        def f(pool, ready):
            fits = isinstance(pool, DeepSeekV4SingleKVPool)
            if ready:
                fits = True
            if fits:
                pool.get_kv_buffer(0)
    """,
    "another path": """
        def f(batch, other):
            if isinstance(batch.pool, DeepSeekV4SingleKVPool):
                other.pool.get_kv_buffer(0)
    """,
    "another item": """
        def f(pools, i):
            if isinstance(pools[0], DeepSeekV4SingleKVPool):
                pools[1].get_kv_buffer(0)
                pools[i].get_kv_buffer(0)
    """,
    "variable item": """
        def f(pools, i):
            if isinstance(pools[i], DeepSeekV4SingleKVPool):
                i += 1
                pools[i].get_kv_buffer(0)
    """,
    "type is not": """
        def f(pool: KVCache):
            if type(pool) is not DeepSeekV4SingleKVPool:
                pool.get_kv_buffer(0)
    """,
    "name !=": """
        def f(pool: KVCache):
            if type(pool).__name__ != "DeepSeekV4SingleKVPool":
                pool.get_kv_buffer(0)
    """,
    "class of that name from another module": """
        from elsewhere import DeepSeekV4SingleKVPool
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)
    """,
    "match of another class": """
        def f(pool):
            match pool:
                case MHATokenToKVPool():
                    pool.get_kv_buffer(0)
                case DeepSeekV4SingleKVPool():
                    pool.get_key_buffer(0)
                case _:
                    pool.get_kv_buffer(0)
    """,
    "rest of a match": """
        def f(pool: KVCache):
            match pool:
                case DeepSeekV4SingleKVPool():
                    return
            pool.get_kv_buffer(0)
    """,
    "function that asks for more than one thing": """
        def may_be_single(pool):
            return pool is None or isinstance(pool, DeepSeekV4SingleKVPool) or pool.old
        def f(pool):
            if may_be_single(pool):
                pool.get_kv_buffer(0)
    """,
    "function whose negation is used": """
        def is_single(pool):
            return isinstance(pool, DeepSeekV4SingleKVPool)
        def f(pool):
            if not is_single(pool):
                pool.get_kv_buffer(0)
    """,
    "TypeGuard's negation": """
        from typing import TypeGuard
        def is_single(pool) -> TypeGuard[DeepSeekV4SingleKVPool]:
            return pool.kind
        def f(pool):
            if not is_single(pool):
                pool.get_kv_buffer(0)
    """,
    "contradiction": """
        def f(pool: MHATokenToKVPool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)
    """,
    "unreachable rest": """
        def f(pool: DeepSeekV4SingleKVPool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                return
            pool.get_kv_buffer(0)
    """,
    "test in a comprehension of another name": """
        def f(pools, pool):
            fits = [p for p in pools if isinstance(p, DeepSeekV4SingleKVPool)]
            pool.get_kv_buffer(0)
    """,
    "ternary's other side": """
        def f(pool):
            return pool.get_key_buffer(0) if isinstance(pool, DeepSeekV4SingleKVPool) \\
                else pool.get_kv_buffer(0)
    """,
    "loop that rebinds": """
        def f(pool):
            if not isinstance(pool, DeepSeekV4SingleKVPool):
                return
            while pool:
                pool = step()
                pool.get_kv_buffer(0)
    """,
    "all, not each": """
        def f(pools, pool):
            if any(isinstance(p, DeepSeekV4SingleKVPool) for p in pools):
                pool.get_kv_buffer(0)
                pools[0].get_kv_buffer(0)
    """,
    "kept on self by another object": """
        class Backend:
            def __init__(self, pool, other):
                self.pool = pool
                self.is_single = isinstance(other, DeepSeekV4SingleKVPool)
            def f(self):
                if self.is_single:
                    self.pool.get_kv_buffer(0)
    """,
    "kept on self and changed": """
        class Backend:
            def __init__(self, pool):
                self.pool = pool
                self.is_single = isinstance(pool, DeepSeekV4SingleKVPool)
            def change(self, pool):
                self.pool = pool
            def f(self):
                if self.is_single:
                    self.pool.get_kv_buffer(0)
    """,
    "function that is nothing but its docstring": """
        def is_single(pool):
            '''Whether K and V share a buffer.'''
        def f(pool: KVCache):
            if is_single(pool):
                pool.get_kv_buffer(0)
    """,
    "hasattr is no test of the class": """
        def f(pool):
            if hasattr(pool, "set_key_buffer_fused"):
                pool.get_kv_buffer(0)
    """,
    "the pool of the loop before": """
        def f(pools, last):
            for pool in pools:
                if isinstance(pool, DeepSeekV4SingleKVPool):
                    break
            else:
                pool = last
            pool.get_kv_buffer(0)
    """,
}


@pytest.mark.parametrize("test", HOLDS.values(), ids=HOLDS)
def test_condition_in_every_place(test: str, tmp_path: Path) -> None:
    programs = {f"{way}.py": POOLS + dedent(HEAD + WAYS[way].format(test)) for way in WAYS}
    assert_as_marked(programs, tmp_path)


@pytest.mark.parametrize("source", OTHERS.values(), ids=OTHERS)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
