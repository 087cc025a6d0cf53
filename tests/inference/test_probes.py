"""hasattr and getattr as a test for what a pool supports, and attributes that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "hasattr of any pool": """
        def f(pool: KVCache):
            if hasattr(pool, "get_kv_buffer"):  # EXPECT KV105
                return pool.get_kv_buffer(0)
    """,
    "hasattr of a pool that guards": """
        def f(pool: DeepSeekV4SingleKVPool):
            if hasattr(pool, "get_kv_buffer"):  # EXPECT KV105
                return pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "negated": """
        def f(pool: KVCache):
            if not hasattr(pool, "set_kv_buffer"):  # EXPECT KV105
                raise TypeError
    """,
    "kept": """
        class Backend:
            def __init__(self, pool: KVCache):
                self.has_pair = hasattr(pool, "get_kv_buffer")  # EXPECT KV105
    """,
    "in a ternary and a conjunction": """
        def f(pool: KVCache, ready):
            a = pool.get_kv_buffer(0) if hasattr(pool, "get_kv_buffer") else None  # EXPECT KV105
            b = ready and hasattr(pool, "get_value_buffer")  # EXPECT KV105
    """,
    "asserted": """
        def f(pool: KVCache):
            assert hasattr(pool, "get_cpu_copy")  # EXPECT KV105
    """,
    "by a constant": """
        NAME = "get_kv_buffer"
        def f(pool: KVCache):
            return hasattr(pool, NAME)  # EXPECT KV105
    """,
    "by an attribute of self": """
        class Backend:
            pool: KVCache
            def f(self):
                return hasattr(self.pool, "get_kv_buffer")  # EXPECT KV105
    """,
    "SGLang's holder": """
        from sglang.srt.model_executor.model_runner import ModelRunner
        def f(runner: ModelRunner):
            return hasattr(runner.token_to_kv_pool, "get_kv_buffer")  # EXPECT KV105
    """,
    "getattr with a default": """
        def f(pool: KVCache):
            read = getattr(pool, "get_kv_buffer", None)  # EXPECT KV105
            if read is not None:
                return read(0)
    """,
    "absent method": """
        def f(pool: DeepSeekV4SingleKVPool):
            pool.get_contiguous_buf_infos()  # EXPECT KV104
            pool.no_such_method()  # EXPECT KV104
    """,
    "absent attribute": """
        def f(pool: DeepSeekV4TokenToKVPool):
            pool.k_buffer  # EXPECT KV104
            return pool.v_buffer[0]  # EXPECT KV104
    """,
    "absent under getattr without a default": """
        def f(pool: DeepSeekV4SingleKVPool):
            getattr(pool, "no_such_method")()  # EXPECT KV104
    """,
    "absent in every class of a union": """
        def f(pool: DeepSeekV4SingleKVPool | MHATokenToKOnlyPool):
            pool.no_such_method()  # EXPECT KV104
    """,
    "absent on self": """
        class Mine(DeepSeekV4SingleKVPool):
            def f(self):
                return self.get_contiguous_buf_infos()  # EXPECT KV104
    """,
    "absent in the branch where hasattr fails": """
        def f(pool: DeepSeekV4SingleKVPool):
            if not hasattr(pool, "no_such_method"):
                return pool.no_such_method()  # EXPECT KV104
    """,
}

SILENT = {
    "hasattr of what some pools lack": """
        def f(pool: KVCache):
            if hasattr(pool, "k_buffer"):
                return pool.k_buffer
    """,
    "hasattr of something that may be no pool": """
        def f(pool, unknown: "KVCache | object"):
            return hasattr(pool, "get_kv_buffer"), hasattr(unknown, "get_kv_buffer")
    """,
    "hasattr of a pool that has it and can do it": """
        def f(pool: MHATokenToKVPool):
            return hasattr(pool, "get_kv_buffer")
    """,
    "getattr with a default of what some pools lack": """
        def f(pool: KVCache):
            return getattr(pool, "k_buffer", None)
    """,
    "hasattr with a variable": """
        def f(pool: KVCache, name):
            return hasattr(pool, name)
    """,
    "attribute that the module sets": """
        def f(pool: DeepSeekV4SingleKVPool):
            pool.my_rows = 1
            return pool.my_rows
    """,
    "attribute that hasattr asked for": """
        def f(pool: DeepSeekV4SingleKVPool):
            if hasattr(pool, "my_rows"):
                return pool.my_rows
            if not hasattr(pool, "other"):
                return None
            return pool.other
    """,
    "attribute that hasattr asked for in the same expression": """
        def f(pool: DeepSeekV4SingleKVPool):
            a = pool.my_rows if hasattr(pool, "my_rows") else 0
            return hasattr(pool, "other") and pool.other
    """,
    "any pool": """
        def f(pool: KVCache):
            return pool.whatever
    """,
    "one class of a union has it": """
        def f(pool: DeepSeekV4SingleKVPool | MHATokenToKVPool):
            return pool.k_buffer
    """,
    "dunders": """
        def f(pool: DeepSeekV4SingleKVPool):
            return pool.__dict__, pool.__class__.__name__, pool.__doc__
    """,
    "data that every pool has": """
        def f(pool: DeepSeekV4SingleKVPool):
            return pool.size, pool.page_size, pool.dtype, pool.device, pool.layer_num
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
