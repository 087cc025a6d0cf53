"""Reading a tree: a small one that has SGLang's layout."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kvlint.catalogue.extract import extract_tree
from kvlint.catalogue.model import Catalogue
from kvlint.catalogue.resolve import View
from kvlint.catalogue.tree import CatalogueError

KVCACHE = """
import abc

class KVCache(abc.ABC):
    def get_key_buffer(self, layer_id): raise NotImplementedError("no key")

class PairPool(KVCache):
    def get_key_buffer(self, layer_id): return self.k_buffer
"""
M = "sglang.srt.mem_cache"


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in {"srt/mem_cache/memory_pool.py": KVCACHE, **files}.items():
        path = folder / "sglang" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def read(folder: Path, files: dict[str, str]) -> Catalogue:
    return extract_tree(tree(folder, files))


def sub_pools(catalogue: Catalogue, name: str) -> dict[str, set[str]]:
    view = View(catalogue)
    return {
        attribute: {held.rpartition(".")[2] for held in classes}
        for attribute, classes in view.sub_pools(f"{M}.parent.{name}").items()
    }


@pytest.mark.parametrize("inner", ["", "sglang"])
def test_the_package_or_its_folder(tmp_path: Path, inner: str) -> None:
    catalogue = extract_tree(tree(tmp_path, {}) / inner)

    assert set(catalogue.classes) == {f"{M}.memory_pool.KVCache", f"{M}.memory_pool.PairPool"}


def test_checkout(tmp_path: Path) -> None:
    tree(tmp_path / "python", {})

    assert len(extract_tree(tmp_path).classes) == 2


def test_messages_of_a_tree_are_kept(tmp_path: Path) -> None:
    catalogue = read(tmp_path, {})

    method = catalogue.classes[f"{M}.memory_pool.KVCache"].methods["get_key_buffer"]
    assert method.message == "no key"


def test_folder_without_sglang(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="holds no SGLang"):
        extract_tree(tmp_path)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="does not exist"):
        extract_tree(tmp_path / "nowhere")


def test_version_from_metadata(tmp_path: Path) -> None:
    tree(tmp_path, {})
    (tmp_path / "sglang-0.5.99.dist-info").mkdir()

    assert extract_tree(tmp_path).version == "0.5.99"


def test_subclasses_wherever_they_stand_but_in_tests(tmp_path: Path) -> None:
    in_a_test = "from sglang.srt.far.away import FarKVPool\nclass Fake(FarKVPool): pass"
    catalogue = read(
        tmp_path,
        {
            "srt/far/away.py": """
                from ..mem_cache import memory_pool as mp
                class Mixin: pass
                class FarKVPool(Mixin, mp.PairPool): pass
                """,
            "srt/far/local.py": """
                def make():
                    from sglang.srt.far.away import FarKVPool
                    class Local(FarKVPool): pass
                    return Local
                """,
            "test/fake.py": in_a_test,
            "srt/far/test_it.py": in_a_test,
        },
    )

    names = {own.name: own.is_pool for own in catalogue.classes.values()}
    assert names == {
        "KVCache": True,
        "PairPool": True,
        "FarKVPool": True,
        "Mixin": False,
        "Local": True,
    }


def test_a_class_of_the_same_name_is_another(tmp_path: Path) -> None:
    text = "class KVCache: pass\nclass OtherPool(KVCache): pass"

    assert "OtherPool" not in str(read(tmp_path, {"srt/other.py": text}).classes)


def test_file_that_does_not_parse_is_left_out(tmp_path: Path) -> None:
    catalogue = read(tmp_path, {"srt/broken.py": "class BrokenPool(KVCache:\n"})

    assert len(catalogue.classes) == 2


SUB_POOLS = {
    "constructor": ("self.x_pool = PairPool()", {"x_pool": {"PairPool"}}),
    "either": ("self.x = PairPool() if size else KOnly()", {"x": {"PairPool", "KOnly"}}),
    "list": ("self.x = [PairPool() for _ in range(2)]", {"x[]": {"PairPool"}}),
    "appended": ("self.x = []\n        self.x.append(KOnly())", {"x[]": {"KOnly"}}),
    "dict": ("self.x = {}\n        self.x[4] = KOnly()", {"x[]": {"KOnly"}}),
    "taken out of a dict": (
        "self.x = {4: KOnly()}\n        self.y = self.x.get(4)",
        {"x[]": {"KOnly"}, "y": {"KOnly"}},
    ),
    "class parameter": ("self.x = pool_cls()", {"x": {"PairPool"}}),
    "local class": ("kind = KOnly\n        self.x = kind()", {"x": {"KOnly"}}),
    "factory": ("self.x = self.make(KOnly)", {"x": {"KOnly"}}),
    "annotation": ("self.x: Optional[KOnly] = build()", {"x": {"KOnly"}}),
    "no pool": ("self.x = build()", {}),
}


@pytest.mark.parametrize(("body", "expected"), SUB_POOLS.values(), ids=SUB_POOLS)
def test_sub_pools(tmp_path: Path, body: str, expected: dict[str, set[str]]) -> None:
    source = f"""
    from typing import Optional
    from sglang.srt.mem_cache.memory_pool import KVCache, PairPool

    class KOnly(KVCache): pass

    class Parent(KVCache):
        def __init__(self, size, pool_cls=PairPool):
            {body.replace(chr(10), chr(10) + "    ")}

        def make(self, cls):
            return cls()
    """

    assert sub_pools(read(tmp_path, {"srt/mem_cache/parent.py": source}), "Parent") == expected


def test_sub_class_that_passes_other_classes(tmp_path: Path) -> None:
    source = """
    from sglang.srt.mem_cache.memory_pool import KVCache, PairPool

    class KOnly(KVCache): pass

    class Parent(KVCache):
        def __init__(self, pool_cls=PairPool):
            self.x_pool = pool_cls()

    class Child(Parent):
        def __init__(self, **kwargs):
            super().__init__(pool_cls=KOnly, **kwargs)
    """
    catalogue = read(tmp_path, {"srt/mem_cache/parent.py": source})

    assert sub_pools(catalogue, "Parent") == {"x_pool": {"PairPool"}}
    assert sub_pools(catalogue, "Child") == {"x_pool": {"KOnly"}}


def test_class_that_a_call_elsewhere_passes(tmp_path: Path) -> None:
    parent = """
    from sglang.srt.mem_cache.memory_pool import KVCache, PairPool

    class KOnlyPool(KVCache): pass

    class Parent(KVCache):
        def __init__(self, pool_cls=PairPool):
            self.x_pool = pool_cls()
    """
    builder = """
    from sglang.srt.mem_cache.parent import KOnlyPool, Parent

    def build():
        chosen = KOnlyPool
        return Parent(pool_cls=chosen)
    """
    files = {"srt/mem_cache/parent.py": parent, "srt/builder.py": builder}

    assert sub_pools(read(tmp_path, files), "Parent") == {"x_pool": {"PairPool", "KOnlyPool"}}


def test_holders_of_every_form(tmp_path: Path) -> None:
    source = """
    from typing import Optional
    from sglang.srt.mem_cache.memory_pool import KVCache, PairPool

    class Runner:
        declared: Optional[PairPool] = None

        def __init__(self, pool: KVCache, other):
            self.given = pool
            self.token_pool = other.token_to_kv_pool
            self.branch: PairPool = other.a
            if other:
                self.branch = other.b

        @property
        def pool(self) -> "PairPool":
            return self.given

        def get(self):
            return self.given

    class Backend(Runner):
        runner: Runner

    def current() -> KVCache:
        return None
    """
    catalogue = read(tmp_path, {"srt/runner.py": source})
    found = {
        (h.owner.removeprefix("sglang.srt.runner").lstrip("."), h.name, h.form): [
            c.rpartition(".")[2] for c in h.classes
        ]
        for h in catalogue.holders
        if h.owner.startswith("sglang.srt.runner") and "Backend" not in h.owner
    }

    assert found == {
        ("Runner", "declared", "attribute"): ["PairPool"],
        ("Runner", "given", "attribute"): ["KVCache"],
        ("Runner", "token_pool", "attribute"): ["KVCache"],
        ("Runner", "branch", "attribute"): ["KVCache"],
        ("Runner", "pool", "property"): ["PairPool"],
        ("Runner", "get", "method"): ["KVCache"],
        ("", "current", "function"): ["KVCache"],
    }
    backend = {h.name: h for h in catalogue.holders if h.owner.endswith("Backend")}
    assert backend["given"].classes == (f"{M}.memory_pool.KVCache",)
    assert backend["runner"].value_class == "sglang.srt.runner.Runner"


def test_names_that_a_module_passes_on(tmp_path: Path) -> None:
    files = {
        "srt/one.py": "from sglang.srt.mem_cache.memory_pool import PairPool as Renamed",
        "srt/two.py": "def f():\n    from sglang.srt.mem_cache.memory_pool import PairPool",
    }

    assert read(tmp_path, files).exports == {
        "sglang.srt.one": {"Renamed": f"{M}.memory_pool.PairPool"}
    }


def test_attributes_assigned_from_outside(tmp_path: Path) -> None:
    text = "def f(kv_pool):\n    kv_pool.extra = 1\n    kv_pool._prepare()\n"
    catalogue = read(tmp_path, {"srt/outside.py": text})

    assert (catalogue.outside_attributes, catalogue.outside_calls) == (("extra",), ("_prepare",))
    assert View(catalogue).has_attribute(f"{M}.memory_pool.PairPool", "extra") is None


def test_cache_gives_the_same_and_is_missed_after_a_change(tmp_path: Path) -> None:
    root, cache = tree(tmp_path / "tree", {}), tmp_path / "cache"

    first = extract_tree(root, cache=cache)
    assert extract_tree(root, cache=cache) == first

    tree(root, {"srt/mem_cache/more_pool.py": "from .memory_pool import PairPool\n"})
    assert len(list(cache.iterdir())) == 1
    assert extract_tree(root, cache=cache).exports != first.exports
    assert len(list(cache.iterdir())) == 2


def test_damaged_cache_is_read_anew(tmp_path: Path) -> None:
    root, cache = tree(tmp_path / "tree", {}), tmp_path / "cache"
    first = extract_tree(root, cache=cache)
    for path in cache.iterdir():
        path.write_text("{")

    assert extract_tree(root, cache=cache) == first
