"""What each release accepts, and that it is what the release's own source says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvlint.launch.facts import (
    RELEASES,
    LaunchRelease,
    embedded_versions,
    facts_for,
    releases_with_backend,
)
from kvlint.launch.from_source import ExtractionError, release_facts, stored
from tests.launch.asking import findings

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
        ("0.0.0.dev9596+g29b7f22d8", "0.5.23"),
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


def test_between_two_releases_only_what_both_lack_is_unknown() -> None:
    between = facts_for("0.5.22")

    assert not facts_for("0.5.21").accepts("llada2_cfg_flashinfer")
    assert between.accepts("llada2_cfg_flashinfer")
    assert not between.accepts("fa")
    assert between.shown == "0.5.21 and 0.5.23"


@pytest.mark.parametrize(
    ("version", "severity"), [("0.5.23", "error"), ("0.5.22", "error"), ("0.6.0", "warning")]
)
def test_a_name_that_left_may_come_back_in_a_later_release(version: str, severity: str) -> None:
    text = "python -m sglang.launch_server --model m --attention-backend dual_chunk_flash_attn\n"
    (found,) = findings("serve.sh", text, version)

    assert (found.code, found.severity) == ("KV305", severity)


def test_a_tree_says_its_own_choices(tmp_path: Path) -> None:
    arguments = tmp_path / "sglang/srt/server_args.py"
    arguments.parent.mkdir(parents=True)
    arguments.write_text(
        'ATTENTION_BACKEND_CHOICES = ["triton", "own"]\n'
        "def add(parser):\n"
        '    parser.add_argument("--attention-backend", choices=ATTENTION_BACKEND_CHOICES)\n'
    )
    facts = LaunchRelease("0.5.22", tmp_path / "sglang").facts()

    assert (facts.shown, facts.attention_backends) == ("0.5.22", ("triton", "own"))
    assert facts.noop_pool.prefill_backends == ()


def test_a_tree_whose_arguments_do_not_parse_says_nothing(tmp_path: Path) -> None:
    arguments = tmp_path / "sglang/srt/server_args.py"
    arguments.parent.mkdir(parents=True)
    arguments.write_text("def (:\n")
    facts = LaunchRelease("0.5.23", tmp_path / "sglang").facts()

    assert (facts.attention_backends, facts.options) == ((), {})


def test_a_package_without_arguments_has_those_of_its_version(tmp_path: Path) -> None:
    assert LaunchRelease("0.5.19", tmp_path).facts() == facts_for("0.5.19")
