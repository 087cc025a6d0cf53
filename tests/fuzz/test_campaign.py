"""A few hundred of everything that `make fuzz` does at full size, with fixed seeds."""

from __future__ import annotations

from pathlib import Path
from random import Random

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import formatting, hostile, kills, metamorphic, repositories
from tests.fuzz.verdicts import Program, marked, texts


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Program, ...]:
    return marked(texts(), tmp_path_factory.mktemp("programs"))


def test_the_verdict_of_a_rewritten_program_stays(
    programs: tuple[Program, ...], tmp_path: Path
) -> None:
    made = list(metamorphic.rewritten(programs, seed=1, count=300))

    assert [str(change) for change in metamorphic.changes(made, tmp_path)] == []


def test_every_rewrite_finds_programs_to_rewrite(programs: tuple[Program, ...]) -> None:
    """A rewrite that never finds a place tests nothing."""
    trees = [cst.parse_module(program.text) for program in programs]

    for name, rewrite in metamorphic.REWRITES.items():
        assert any(rewrite(tree, Random(0)) is not None for tree in trees), name


def test_a_lost_mark_is_noticed(tmp_path: Path) -> None:
    program = Program("p", "x = 1  # FOUND KV101\n")

    (change,) = metamorphic.changes(
        [metamorphic.Rewritten(program, ("none",), program.text)], tmp_path
    )
    assert (change.lost, change.new) == (((1, "KV101"),), ())


def test_hostile_files_end_in_no_fault(tmp_path: Path) -> None:
    assert hostile.campaign(400, 1, tmp_path) == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.binary(max_size=400), suffix=st.sampled_from(hostile.SUFFIXES))
def test_arbitrary_bytes_end_in_no_fault(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str
) -> None:
    folder = tmp_path_factory.mktemp("bytes") / "files"
    launch = b"python -m sglang.launch_server --attention-backend fa " + data

    assert hostile.faults_of_batch([(suffix, data), (suffix, launch)], folder, Random(0)) == []


def test_a_program_is_fixed_alike_however_it_is_written(tmp_path: Path) -> None:
    assert formatting.campaign(200, 1, tmp_path) == []


def test_a_killed_fix_leaves_whole_files(tmp_path: Path) -> None:
    assert kills.campaign(6, 1, tmp_path) == []


@pytest.mark.parametrize("plant", repositories.PLANTS, ids=lambda plant: plant.__name__)
def test_a_malicious_repository_does_no_harm(plant: repositories.Plant, tmp_path: Path) -> None:
    rng = Random(plant.__name__)
    for number in range(3):
        faults = repositories.faults_of_repository(tmp_path / str(number), rng, [plant])
        assert list(faults) == []
