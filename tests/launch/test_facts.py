"""What each release accepts, and that it is what the release's own source says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvlint.launch.facts import RELEASES, embedded_versions, facts_for, releases_with_backend
from kvlint.launch.from_source import ExtractionError, release_facts, stored

TREES = os.environ.get("KVLINT_TREES")


def test_releases_are_ordered_as_versions() -> None:
    assert embedded_versions() == (
        "0.5.12.post1",
        "0.5.14",
        "0.5.16",
        "0.5.19",
        "0.5.21",
        "0.5.23",
    )


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("0.5.16", "0.5.16"),
        ("0.5.20", "0.5.19"),
        ("0.6.0", "0.5.23"),
        ("0.4.0", "0.5.12.post1"),
        ("0.5.23+cu130", "0.5.23"),
        ("unversioned", "0.5.23"),
    ],
)
def test_the_nearest_older_release_serves(wanted: str, given: str) -> None:
    assert facts_for(wanted).version == given


@pytest.mark.parametrize("version", embedded_versions())
def test_preconditions_of_the_no_op_pool(version: str) -> None:
    noop = facts_for(version).noop_pool
    assert noop.prefill_backends == ("fa3", "fa4")
    assert noop.requires == {
        "is_embedding": True,
        "chunked_prefill_size": -1,
        "disable_radix_cache": True,
    }
    assert noop.at_most == {"attn_cp_size": 1}


def test_fa_is_a_choice_of_no_release() -> None:
    assert releases_with_backend("fa") == ()
    assert releases_with_backend("fa3") == embedded_versions()


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("--attn-cp-size", ("attn_cp_size", "value")),
        ("--attention-context-parallel-size", ("attn_cp_size", "value")),
        ("--model", ("model_path", "value")),
        ("--prefill-only", ("prefill_only_disable_kv_cache", "flag")),
        ("--no-ple-offload-embedding", ("ple_offload_embedding", "switch")),
        ("--disable", None),
        ("--unheard-of", None),
    ],
)
def test_options_are_read_as_argparse_reads_them(name: str, option: tuple[str, str] | None) -> None:
    assert facts_for("0.5.23").option(name) == option


@pytest.mark.skipif(not TREES, reason="KVLINT_TREES names no folder with SGLang's trees")
@pytest.mark.parametrize("version", embedded_versions())
def test_extracting_a_release_again_gives_the_same(version: str) -> None:
    tree = Path(TREES or "") / f"sglang-{version}"
    if not tree.is_dir():
        pytest.skip(f"{tree} is not there")
    kept = (RELEASES / f"{version}.json").read_text(encoding="utf-8")
    assert stored(release_facts(tree)) == kept


def test_a_tree_without_sglang_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExtractionError, match=r"holds no sglang/srt/server_args\.py"):
        release_facts(tmp_path)
