"""Pools that come from other files of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_as_marked

DSV4 = "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
MAKES = DSV4 + "def make(cfg):\n    return DeepSeekV4SingleKVPool(cfg)\n"
USES = "def f(cfg):\n    make(cfg).get_kv_buffer(0)  # EXPECT KV101\n"

PROJECTS = {
    "function": {"a.py": MAKES, "b.py": "from a import make\n" + USES},
    "function by its module": {
        "a.py": MAKES,
        "b.py": "import a\ndef f(cfg):\n    a.make(cfg).get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "module under a name": {
        "a.py": MAKES,
        "b.py": "import a as x\ndef f(c):\n    x.make(c).get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "function under a name": {
        "a.py": MAKES,
        "b.py": "from a import make as m\ndef f(c):\n    m(c).get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "star": {"a.py": MAKES, "b.py": "from a import *\n" + USES},
    "star of a star": {
        "a.py": MAKES,
        "b.py": "from a import *\n",
        "c.py": "from b import *\n" + USES,
    },
    "star from SGLang": {
        "b.py": """
            from sglang.srt.mem_cache.deepseek_v4_memory_pool import *
            def f(pool: DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)  # EXPECT KV101
        """
    },
    "package": {
        "pkg/__init__.py": "",
        "pkg/a.py": MAKES,
        "pkg/b.py": "from pkg.a import make\n" + USES,
        "c.py": "from pkg.a import make\n" + USES,
        "d.py": "import pkg.a\ndef f(c):\n    pkg.a.make(c).get_kv_buffer(0)  # EXPECT KV101\n",
        "e.py": "from pkg import a\ndef f(c):\n    a.make(c).get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "package without __init__": {
        "pkg/a.py": MAKES,
        "b.py": "from pkg.a import make\n" + USES,
    },
    "package under src": {
        "src/pkg/__init__.py": "",
        "src/pkg/a.py": MAKES,
        "src/pkg/sub/__init__.py": "",
        "src/pkg/sub/b.py": "from pkg.a import make\n" + USES,
    },
    "tests beside src": {
        "src/pkg/__init__.py": "",
        "src/pkg/a.py": MAKES,
        "tests/test_a.py": "from pkg.a import make\n" + USES,
    },
    "relative": {
        "pkg/__init__.py": "",
        "pkg/a.py": MAKES,
        "pkg/b.py": "from .a import make\n" + USES,
        "pkg/c.py": "from . import a\ndef f(c):\n    a.make(c).get_kv_buffer(0)  # EXPECT KV101\n",
        "pkg/sub/__init__.py": "",
        "pkg/sub/d.py": "from ..a import make\n" + USES,
        "pkg/sub/e.py": "from .. import a as x\n"
        "def f(c):\n    x.make(c).get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "exported by the package": {
        "pkg/__init__.py": "from .a import make\n__all__ = ['make']\n",
        "pkg/a.py": MAKES,
        "b.py": "from pkg import make\n" + USES,
        "c.py": "import pkg\ndef f(c):\n    pkg.make(c).get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "exported twice over": {
        "pkg/__init__.py": "from .sub import Pool\n",
        "pkg/sub/__init__.py": "from .a import DeepSeekV4SingleKVPool as Pool\n",
        "pkg/sub/a.py": DSV4,
        "b.py": "from pkg import Pool\ndef f(p: Pool):\n    p.get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "subclass of another file": {
        "pools.py": DSV4 + "class Mine(DeepSeekV4SingleKVPool):\n    pass\n",
        "b.py": """
            from pools import Mine
            def f(cfg, pool):
                Mine(cfg).get_kv_buffer(0)  # EXPECT KV101
                if isinstance(pool, Mine):
                    pool.get_kv_buffer(0)  # EXPECT KV101
        """,
    },
    "subclass that defines it again": {
        "pools.py": DSV4 + "class Mine(DeepSeekV4SingleKVPool):\n"
        "    def get_kv_buffer(self, i):\n        return i, i\n",
        "b.py": "from pools import Mine\ndef f(p: Mine):\n    p.get_kv_buffer(0)\n",
    },
    "attribute of a class of another file": {
        "a.py": DSV4 + "class Runner:\n    def __init__(self, c):\n"
        "        self.pool = DeepSeekV4SingleKVPool(c)\n",
        "b.py": """
            from a import Runner
            class Backend:
                def __init__(self, runner: Runner):
                    self.runner = runner
                    self.pool = runner.pool
                def f(self):
                    self.runner.pool.get_kv_buffer(0)  # EXPECT KV101
                    self.pool.get_kv_buffer(0)  # EXPECT KV101
        """,
    },
    "base class of another file": {
        "a.py": DSV4 + "class Base:\n    def __init__(self, c):\n"
        "        self.pool = DeepSeekV4SingleKVPool(c)\n",
        "b.py": "import a\nclass Mine(a.Base):\n    def f(self):\n"
        "        self.pool.get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "alias of another file": {
        "types_.py": DSV4
        + "from typing import Optional\nMaybe = Optional[DeepSeekV4SingleKVPool]\n"
        "SINGLE = (DeepSeekV4SingleKVPool,)\n",
        "b.py": """
            from types_ import Maybe, SINGLE
            import types_ as t
            def f(pool: Maybe, other: "t.Maybe", third):
                pool.get_kv_buffer(0)  # EXPECT KV101
                other.get_kv_buffer(0)  # EXPECT KV101
                if isinstance(third, SINGLE):
                    third.get_kv_buffer(0)  # EXPECT KV101
                elif isinstance(third, t.SINGLE):  # EXPECT KV406
                    third.get_key_buffer(0)
        """,
    },
    "global of another file": {
        "a.py": DSV4 + "POOL = DeepSeekV4SingleKVPool(1)\n",
        "b.py": """
            import a
            from a import POOL
            def f():
                a.POOL.get_kv_buffer(0)  # EXPECT KV101
                POOL.get_kv_buffer(0)  # EXPECT KV101
        """,
    },
    "global set up by a function of another file": {
        "a.py": DSV4
        + "POOL = None\ndef setup(c):\n    global POOL\n    POOL = DeepSeekV4SingleKVPool(c)\n"
        "def get():\n    return POOL\n",
        "b.py": "from a import get\ndef f():\n    get().get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "type guard of another file": {
        "a.py": DSV4 + "def is_single(p):\n    return isinstance(p, DeepSeekV4SingleKVPool)\n",
        "b.py": "from a import is_single\ndef f(p):\n    if is_single(p):\n"
        "        p.get_kv_buffer(0)  # EXPECT KV101\n    else:\n        p.get_kv_buffer(0)\n",
    },
    "import that may fail": {
        "b.py": """
            try:
                from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool
            except ImportError:
                DeepSeekV4SingleKVPool = None
            def f(pool, other: "DeepSeekV4SingleKVPool"):
                if DeepSeekV4SingleKVPool is not None and isinstance(pool, DeepSeekV4SingleKVPool):
                    pool.get_kv_buffer(0)  # EXPECT KV101
                other.get_kv_buffer(0)  # EXPECT KV101
        """
    },
    "import of two places": {
        "b.py": """
            try:
                from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool
            except ImportError:
                from sglang.srt.mem_cache.old_pools import DeepSeekV4SingleKVPool
            def f(pool: DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)  # EXPECT KV101
        """
    },
    "import in a function": {
        "b.py": """
            def f(pool):
                from sglang.srt.mem_cache.deepseek_v4_memory_pool import (
                    DeepSeekV4SingleKVPool as Single)
                if isinstance(pool, Single):
                    pool.get_kv_buffer(0)  # EXPECT KV101
            class Backend:
                def g(self, pool):
                    import sglang.srt.mem_cache.deepseek_v4_memory_pool as dsv4
                    assert isinstance(pool, dsv4.DeepSeekV4SingleKVPool)
                    pool.get_kv_buffer(0)  # EXPECT KV101
        """
    },
    "import in a method, used by another": {
        "b.py": """
            class Backend:
                def __init__(self, cfg):
                    from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool
                    self.pool = DeepSeekV4SingleKVPool(cfg)
                def f(self):
                    self.pool.get_kv_buffer(0)  # EXPECT KV101
        """
    },
    "import of a package's module": {
        "b.py": """
            from sglang.srt import mem_cache
            from sglang.srt.mem_cache import deepseek_v4_memory_pool
            import sglang
            import sglang.srt.mem_cache.deepseek_v4_memory_pool
            def f(cfg):
                a = mem_cache.deepseek_v4_memory_pool.DeepSeekV4SingleKVPool(cfg)
                a.get_kv_buffer(0)  # EXPECT KV101
                deepseek_v4_memory_pool.DeepSeekV4SingleKVPool(cfg).get_kv_buffer(0)  # EXPECT KV101
                b = sglang.srt.mem_cache.deepseek_v4_memory_pool.DeepSeekV4SingleKVPool(cfg)
                b.get_kv_buffer(0)  # EXPECT KV101
        """
    },
    "importlib": {
        "b.py": """
            import importlib
            def f(cfg):
                dsv4 = importlib.import_module("sglang.srt.mem_cache.deepseek_v4_memory_pool")
                dsv4.DeepSeekV4SingleKVPool(cfg).get_kv_buffer(0)  # EXPECT KV101
        """
    },
    "circular": {
        "a.py": DSV4 + "import b\ndef make(c):\n    return b.same(DeepSeekV4SingleKVPool(c))\n"
        "def plain(c):\n    return DeepSeekV4SingleKVPool(c)\n",
        "b.py": "import a\ndef same(x):\n    return x\n"
        "def f(c):\n    a.plain(c).get_kv_buffer(0)  # EXPECT KV101\n",
    },
    "circular star": {
        "a.py": "from b import *\n" + MAKES,
        "b.py": "from a import *\n" + USES,
    },
    "same name, another module": {
        "mine.py": "class DeepSeekV4SingleKVPool:\n    def get_kv_buffer(self, i): ...\n",
        "b.py": "from mine import DeepSeekV4SingleKVPool\n"
        "def f(p: DeepSeekV4SingleKVPool):\n    p.get_kv_buffer(0)\n",
    },
    "same name, a module not at hand": {
        "b.py": "from engine.pools import DeepSeekV4SingleKVPool\n"
        "def f(c):\n    DeepSeekV4SingleKVPool(c).get_kv_buffer(0)\n",
    },
    "same name, another module of SGLang": {
        "b.py": "from sglang.srt.other_pools import DeepSeekV4SingleKVPool\n"
        "def f(c):\n    DeepSeekV4SingleKVPool(c).get_kv_buffer(0)\n",
    },
    "shadowing package": {
        "a.py": "def make(c):\n    return c.pool\n",
        "b.py": "from a import make\ndef f(c):\n    make(c).get_kv_buffer(0)\n",
    },
    "two files of one name": {
        "one/pools.py": MAKES,
        "one/b.py": "from pools import make\n" + USES,
        "two/pools.py": "def make(c):\n    return c.pool\n",
        "two/b.py": "from pools import make\ndef f(c):\n    make(c).get_kv_buffer(0)\n",
    },
    "global that another file replaces": {
        "a.py": DSV4 + "POOL = DeepSeekV4SingleKVPool(1)\n",
        "b.py": "import a\ndef change(p):\n    a.POOL = p\n    a.POOL.get_kv_buffer(0)\n",
    },
    "conftest fixture": {
        "tests/conftest.py": DSV4 + "import pytest\n@pytest.fixture\ndef pool():\n"
        "    return DeepSeekV4SingleKVPool(1)\n",
        "tests/test_a.py": "def test_it(pool):\n    pool.get_kv_buffer(0)\n",
    },
    "lazily by module __getattr__": {
        "a.py": "def __getattr__(name):\n    return object\n",
        "b.py": "from a import DeepSeekV4SingleKVPool\n"
        "def f(c):\n    DeepSeekV4SingleKVPool(c).get_kv_buffer(0)\n",
    },
}


@pytest.mark.parametrize("files", PROJECTS.values(), ids=PROJECTS)
def test_project(files: dict[str, str], tmp_path: Path) -> None:
    assert_as_marked(files, tmp_path)
