"""What is printed as the reason is true at the line where it is printed."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.inference.programs import POOLS, findings


def reasons(program: str, folder: Path) -> list[str]:
    """The evidence of the one finding in a program."""
    text = POOLS + dedent(program).lstrip("\n")
    [found] = findings({"program.py": text}, folder)
    return [step.text for step in found.evidence]


def test_condition_is_shown_where_it_holds(tmp_path: Path) -> None:
    program = """
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)
    """
    assert reasons(program, tmp_path) == ["`isinstance(pool, DeepSeekV4SingleKVPool)` holds here"]


def test_condition_of_one_closed_branch_is_not_shown_after_it(tmp_path: Path) -> None:
    program = """
        def f(pool: DeepSeekV4SingleKVPool | HiSparseC4DevicePool):
            if isinstance(pool, HiSparseC4DevicePool):
                print("c4")
            pool.get_kv_buffer(0)
    """
    assert reasons(program, tmp_path) == [
        "`pool` is annotated `DeepSeekV4SingleKVPool | HiSparseC4DevicePool`"
    ]


def test_alternatives_are_shown_as_one_condition(tmp_path: Path) -> None:
    program = """
        def f(pool):
            if isinstance(pool, DeepSeekV4SingleKVPool) or isinstance(pool, HiSparseC4DevicePool):
                pool.get_kv_buffer(0)
    """
    assert reasons(program, tmp_path) == [
        "`isinstance(pool, DeepSeekV4SingleKVPool) or isinstance(pool, HiSparseC4DevicePool)`"
        " holds here"
    ]


@pytest.mark.parametrize(
    ("refused", "shown"),
    [
        ("type(pool) is not {}", "type(pool) is {}"),
        ("type(pool) != {}", "type(pool) == {}"),
        ("type(pool) not in ({},)", "type(pool) in ({},)"),
        ("not isinstance(pool, {})", "isinstance(pool, {})"),
    ],
)
def test_refusal_is_shown_as_what_holds_after_it(refused: str, shown: str, tmp_path: Path) -> None:
    name = "DeepSeekV4SingleKVPool"
    program = f"""
        def f(pool):
            if {refused.format(name)}:
                return
            pool.get_kv_buffer(0)
    """
    assert reasons(program, tmp_path) == [f"`{shown.format(name)}` holds here"]
