"""The project's own pool classes, self, super() and what a subclass changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "subclass made": """
        class Mine(DeepSeekV4SingleKVPool):
            pass
        def f(cfg):
            Mine(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "subclass of a subclass": """
        class Mine(DeepSeekV4SingleKVPool):
            pass
        class Yours(Mine):
            def get_value_buffer(self, layer):
                return self.get_key_buffer(layer)
        def f(pool: Yours):
            pool.get_kv_buffer(0)  # EXPECT KV101
            pool.get_value_buffer(0)
    """,
    "self": """
        class Mine(DeepSeekV4SingleKVPool):
            def step(self):
                return self.get_kv_buffer(0)  # EXPECT KV101
    """,
    "self in __init__": """
        class Mine(DeepSeekV4SingleKVPool):
            def __init__(self, cfg):
                super().__init__(cfg)
                self.kv = self.get_kv_buffer(0)  # EXPECT KV101
    """,
    "self in a nested function": """
        class Mine(DeepSeekV4SingleKVPool):
            def step(self):
                def read():
                    return self.get_kv_buffer(0)  # EXPECT KV101
                return read, lambda: self.get_kv_buffer(0)  # EXPECT KV101
    """,
    "self under another name": """
        class Mine(DeepSeekV4SingleKVPool):
            def step(self):
                pool = self
                return pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "self of a subclass further down": """
        class Mine(DeepSeekV4SingleKVPool):
            pass
        class Yours(Mine):
            def step(self):
                return self.get_kv_buffer(0)  # EXPECT KV101
    """,
    "super() to a guard": """
        class Mine(DeepSeekV4SingleKVPool):
            def get_kv_buffer(self, layer):
                return super().get_kv_buffer(layer)  # EXPECT KV101
    """,
    "super() with arguments": """
        class Mine(DeepSeekV4SingleKVPool):
            def get_kv_buffer(self, layer):
                return super(Mine, self).get_kv_buffer(layer)  # EXPECT KV101
    """,
    "the base called by name": """
        class Mine(DeepSeekV4SingleKVPool):
            def get_kv_buffer(self, layer):
                return DeepSeekV4SingleKVPool.get_kv_buffer(self, layer)  # EXPECT KV101
    """,
    "super() through a project class": """
        class Mine(DeepSeekV4SingleKVPool):
            pass
        class Yours(Mine):
            def get_kv_buffer(self, layer):
                return super().get_kv_buffer(layer)  # EXPECT KV101
    """,
    "guard of its own": """
        class Mine(MHATokenToKVPool):
            def set_kv_buffer(self, *args, **kwargs):
                raise NotImplementedError("read only")
        def f(pool: Mine, layer, loc, k, v):
            pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV103
            pool.get_kv_buffer(0)
    """,
    "guard of its own, of another name": """
        class Mine(MHATokenToKVPool):
            def export_rows(self):
                raise RuntimeError("not on this pool")
        def f(pool: Mine):
            pool.export_rows()  # EXPECT KV103
    """,
    "calls a guard, and nothing else": """
        class Mine(DeepSeekV4SingleKVPool):
            def get_kv_buffer(self, layer):
                return super().get_kv_buffer(layer)  # EXPECT KV101
        def f(pool: Mine):
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "mixin in front": """
        class Prints:
            def log(self): ...
        class Mine(Prints, DeepSeekV4SingleKVPool):
            pass
        def f(pool: Mine):
            pool.get_kv_buffer(0)  # EXPECT KV101
            pool.log()
    """,
    "mixin that guards": """
        class ReadOnly:
            def set_kv_buffer(self, *args, **kwargs):
                raise RuntimeError("read only")
        class Mine(ReadOnly, MHATokenToKVPool):
            pass
        def f(pool: Mine, layer, loc, k, v):
            pool.set_kv_buffer(layer, loc, k, v)  # EXPECT KV103
    """,
    "local subclass": """
        def f(cfg):
            class Mine(DeepSeekV4SingleKVPool):
                pass
            Mine(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "subclass of an alias": """
        Base = DeepSeekV4SingleKVPool
        class Mine(Base):
            pass
        def f(cfg):
            Mine(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "subclass of a module attribute": """
        from sglang.srt.mem_cache import deepseek_v4_memory_pool as dsv4
        class Mine(dsv4.DeepSeekV4SingleKVPool):
            pass
        def f(cfg):
            Mine(cfg).get_kv_buffer(0)  # EXPECT KV101
    """,
    "narrowed to a subclass": """
        class Mine(DeepSeekV4SingleKVPool):
            pass
        def f(pool):
            if isinstance(pool, Mine):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "class method's cls": """
        class Mine(DeepSeekV4SingleKVPool):
            @classmethod
            def make(cls):
                pool = cls()
                pool.get_kv_buffer(0)  # EXPECT KV101
                return pool
    """,
    "a property of a pool": """
        class Mine(DeepSeekV4SingleKVPool):
            @property
            def pair(self):
                return self.get_kv_buffer(0)  # EXPECT KV101
    """,
    "subclass with a sub-pool": """
        class Mine(MHATokenToKVPool):
            def __init__(self, cfg):
                super().__init__(cfg)
                self.index = MHATokenToKOnlyPool(cfg)
            def write(self, layer, loc, k):
                self.index.set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
    """,
    "subclass of a k-only pool": """
        class Mine(MHATokenToKOnlyPool):
            pass
        def f(pool: Mine, layer, loc, k):
            pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV201
    """,
    "subclass of a no-op pool": """
        class Mine(NoOpMHATokenToKVPool):
            pass
        def f(pool: Mine, layer, loc, k):
            pool.set_kv_buffer(layer, loc, k, k)  # EXPECT KV301
    """,
    "conditional definition of the class": """
        import sys
        if sys.platform == "linux":
            class Mine(DeepSeekV4SingleKVPool):
                pass
        else:
            class Mine(HiSparseC4DevicePool):
                pass
        def f(pool: Mine):
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
}

SILENT = {
    "accessor defined again": """
        class Mine(DeepSeekV4SingleKVPool):
            def get_kv_buffer(self, layer):
                k = self.get_key_buffer(layer)
                return k, k
            def step(self):
                return self.get_kv_buffer(0)
        def f(pool: Mine):
            pool.get_kv_buffer(0)
    """,
    "accessor assigned": """
        class Mine(DeepSeekV4SingleKVPool):
            get_kv_buffer = MHATokenToKVPool.get_kv_buffer
        def f(pool: Mine):
            pool.get_kv_buffer(0)
    """,
    "accessor assigned a lambda": """
        class Mine(DeepSeekV4SingleKVPool):
            get_kv_buffer = lambda self, layer: (1, 2)
        def f(pool: Mine):
            pool.get_kv_buffer(0)
    """,
    "accessor of a mixin": """
        class Pairs:
            def get_kv_buffer(self, layer):
                k = self.get_key_buffer(layer)
                return k, k
        class Mine(Pairs, DeepSeekV4SingleKVPool):
            pass
        def f(pool: Mine):
            pool.get_kv_buffer(0)
    """,
    "accessor of an unknown mixin": """
        from elsewhere import Pairs
        class Mine(Pairs, DeepSeekV4SingleKVPool):
            pass
        def f(pool: Mine):
            pool.get_kv_buffer(0)
    """,
    "accessor set in __init__": """
        class Mine(DeepSeekV4SingleKVPool):
            def __init__(self, cfg, reader):
                super().__init__(cfg)
                self.get_kv_buffer = reader
        def f(pool: Mine):
            pool.get_kv_buffer(0)
    """,
    "subclass by an unknown class decorator": """
        from elsewhere import patched
        @patched
        class Mine(DeepSeekV4SingleKVPool):
            pass
        def f(pool: Mine):
            pool.get_kv_buffer(0)
    """,
    "abstract base that its subclasses complete": """
        class Base(DeepSeekV4SingleKVPool):
            def export_rows(self):
                raise NotImplementedError
            def step(self):
                return self.export_rows()
        class Mine(Base):
            def export_rows(self):
                return 1
        def f(pool: Mine):
            pool.export_rows()
    """,
    "base method that a subclass completes": """
        class Base(DeepSeekV4SingleKVPool):
            def step(self):
                return self.get_kv_buffer(0)
        class Mine(Base):
            def get_kv_buffer(self, layer):
                return 1, 2
    """,
    "super() where the base has it": """
        class Base(DeepSeekV4SingleKVPool):
            def get_kv_buffer(self, layer):
                return 1, 2
        class Mine(Base):
            def get_kv_buffer(self, layer):
                return super().get_kv_buffer(layer)
    """,
    "super() in a mixin": """
        class Counts:
            def get_kv_buffer(self, layer):
                self.count += 1
                return super().get_kv_buffer(layer)
    """,
    "a class that is no pool": """
        class Mine:
            def get_kv_buffer(self, layer): ...
            def set_kv_buffer(self, *args): ...
        def f(pool: Mine, layer):
            pool.get_kv_buffer(0)
            pool.set_kv_buffer(layer)
    """,
    "a wrapper around a pool": """
        class Wrapped:
            def __init__(self, pool: DeepSeekV4SingleKVPool):
                self.pool = pool
            def get_kv_buffer(self, layer):
                k = self.pool.get_key_buffer(layer)
                return k, k
        def f(pool: DeepSeekV4SingleKVPool):
            Wrapped(pool).get_kv_buffer(0)
    """,
    "attributes that the subclass adds": """
        class Mine(DeepSeekV4SingleKVPool):
            def __init__(self, cfg):
                super().__init__(cfg)
                self.rows = 1
            def count(self):
                return self.rows
        def f(pool: Mine):
            pool.count()
            pool.rows
    """,
    "a subclass with __getattr__": """
        class Mine(DeepSeekV4SingleKVPool):
            def __getattr__(self, name):
                return 1
        def f(pool: Mine):
            pool.whatever()
    """,
    "a guard that has a way out": """
        class Mine(MHATokenToKVPool):
            def export_rows(self, force=False):
                if not force:
                    raise RuntimeError("say force")
                return 1
        def f(pool: Mine):
            pool.export_rows(force=True)
    """,
    "definition of a guard": """
        class Mine(MHATokenToKVPool):
            def set_kv_buffer(self, *args, **kwargs):
                raise NotImplementedError
    """,
    "handed to a nested class's method of the name": """
        class Mine(DeepSeekV4SingleKVPool):
            class View:
                def get_kv_buffer(self, layer): ...
                def step(self):
                    return self.get_kv_buffer(0)
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
