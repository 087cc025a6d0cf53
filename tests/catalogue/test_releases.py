"""The embedded releases, and the trees they are made from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvlint.catalogue.embed import dump, embedded_versions, load_embedded
from kvlint.catalogue.families import family_of
from kvlint.catalogue.resolve import View
from kvlint.catalogue.tables import find_class

EMBEDDED = ("0.5.12.post1", "0.5.14", "0.5.16", "0.5.19", "0.5.21", "0.5.23")


def latest() -> View:
    return View(load_embedded("0.5.23"))


def named(view: View, name: str) -> str:
    own = find_class(view, name)
    assert own is not None
    return own.qualname


def test_embedded_versions_are_in_order() -> None:
    assert embedded_versions() == EMBEDDED


@pytest.mark.parametrize("version", EMBEDDED)
def test_rebuilding_gives_the_same_bytes(version: str) -> None:
    from kvlint.catalogue.embed import FOLDER
    from kvlint.catalogue.extract import read_tree

    folder = os.environ.get("KVLINT_TREES")
    tree = Path(folder or "") / f"sglang-{version}"
    if folder is None or not tree.is_dir():
        pytest.skip("KVLINT_TREES names no folder with this release")

    assert dump(*read_tree(tree)) == (FOLDER / f"{version}.json").read_bytes()


def test_classes_and_guards_of_0_5_23() -> None:
    """Counted independently: 43 classes, 60 methods that only raise."""
    pools = [own for own in load_embedded("0.5.23").classes.values() if own.is_pool]
    guards = [
        method
        for own in pools
        for method in own.methods.values()
        if method.kind == "guard" or (method.kind == "abstract" and method.exception)
    ]

    assert (len(pools), len(guards)) == (43, 60)


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("HybridLinearKVPool", "end_layer"),
        ("DeepSeekV4TokenToKVPool", "k_buffer"),
        ("MHATokenToKOnlyPool", "get_contiguous_buf_infos"),
        ("DeepSeekV4SingleKVPool", "get_contiguous_buf_infos"),
        ("NPUMLATokenToKVPool", "kv_buffer"),
    ],
)
def test_absent_attributes(name: str, attribute: str) -> None:
    view = latest()

    assert view.accessor(named(view, name), attribute).kind == "absent"


@pytest.mark.parametrize(
    ("version", "name", "accessor", "kind"),
    [
        ("0.5.23", "MiniMaxSparseKVPool", "move_kv_cache", "guard"),
        ("0.5.23", "HiSparseDSATokenToKVPool", "get_cpu_copy", "guard"),
        ("0.5.23", "MiniMaxSparseKVPool", "get_cpu_copy", "guard"),
        ("0.5.16", "UnifiedMHATokenToKVPool", "get_cpu_copy", "works"),
        ("0.5.19", "UnifiedMHATokenToKVPool", "get_cpu_copy", "guard"),
        ("0.5.23", "UnifiedMHATokenToKVPool", "get_cpu_copy", "works"),
    ],
)
def test_guards_by_release(version: str, name: str, accessor: str, kind: str) -> None:
    view = View(load_embedded(version))

    assert view.accessor(named(view, name), accessor).kind == kind


@pytest.mark.parametrize(
    ("family", "names"),
    [
        (
            "single-kv",
            {
                "DeepSeekV4SingleKVPool",
                "DeepSeekV4UniformFP8KVPool",
                "HiSparseC4DevicePool",
                "NPUDeepSeekV4SingleKVPool",
            },
        ),
        ("k-only", {"MHATokenToKOnlyPool", "NPUMHATokenToKOnlyPool", "MiniMaxM3Nvfp4IndexKPool"}),
        ("no-op", {"NoOpMHATokenToKVPool"}),
    ],
)
def test_families(family: str, names: set[str]) -> None:
    view = latest()
    found = {q.rpartition(".")[2] for q in view.pools() if family_of(view, q) == family}

    assert found == names


@pytest.mark.parametrize(
    ("parent", "attribute", "names"),
    [
        ("MiniMaxSparseKVPool", "index_k_pool", {"MHATokenToKOnlyPool"}),
        ("NPUMiniMaxSparseKVPool", "index_k_pool", {"NPUMHATokenToKOnlyPool"}),
        ("MiniMaxSparseKVPool", "main_pool", {"MHATokenToKVPool", "HiSparseMHAMainPool"}),
        ("UnifiedSWAKVPool", "swa_kv_pool", {"UnifiedMHATokenToKVPool"}),
        (
            "DeepSeekV4TokenToKVPool",
            "swa_kv_pool",
            {"DeepSeekV4SingleKVPool", "DeepSeekV4UniformFP8KVPool"},
        ),
        ("DeepSeekV4TokenToKVPool", "c4_indexer_kv_pool", {"DeepSeekV4IndexerPool"}),
        ("DSV4NPUTokenToKVPool", "c4_kv_pool", {"NPUDeepSeekV4SingleKVPool"}),
    ],
)
def test_sub_pools(parent: str, attribute: str, names: set[str]) -> None:
    view = latest()
    found = view.sub_pool_classes(named(view, parent), attribute)

    assert {qualname.rpartition(".")[2] for qualname in found} == names


def test_parents_of_a_sub_pool() -> None:
    view = latest()
    found = view.parents_of(named(view, "MHATokenToKOnlyPool"))

    assert {(parent.rpartition(".")[2], name) for parent, name in found} == {
        ("MiniMaxSparseKVPool", "index_k_pool")
    }


@pytest.mark.parametrize(
    ("owner", "name", "classes"),
    [
        ("model_executor.model_runner.ModelRunner", "token_to_kv_pool", ["KVCache"]),
        ("model_executor.forward_context", "get_token_to_kv_pool", ["KVCache"]),
        ("mem_cache.allocator.base.BaseTokenToKVPoolAllocator", "get_kvcache", ["KVCache"]),
        ("mem_cache.allocator.swa.SWATokenToKVPoolAllocator", "get_kvcache", ["BaseSWAKVPool"]),
        (
            "layers.attention.deepseek_v4_backend.DeepseekV4AttnBackend",
            "token_to_kv_pool",
            ["DeepSeekV4TokenToKVPool"],
        ),
        ("layers.attention.base_attn_backend.AttentionBackend", "token_to_kv_pool", ["KVCache"]),
    ],
)
def test_holders(owner: str, name: str, classes: list[str]) -> None:
    holders = load_embedded("0.5.23").holders
    found = [h for h in holders if (h.owner, h.name) == (f"sglang.srt.{owner}", name)]

    assert [[c.rpartition(".")[2] for c in h.classes] for h in found] == [classes]


def test_only_recorded_messages_are_embedded() -> None:
    texts = {
        method.message
        for version in EMBEDDED
        for own in load_embedded(version).classes.values()
        for method in own.methods.values()
        if method.message
    }

    assert len(texts) == 3
    assert "Use get_key_buffer instead." in texts


def test_backends() -> None:
    backends = load_embedded("0.5.23").backends

    assert "fa3" in backends
    assert "fa" not in backends
