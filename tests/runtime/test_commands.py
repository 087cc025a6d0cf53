"""`kvlint run FILE.py`, `kvlint doctor`, and what they say where nothing can run."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from kvlint.runtime.probes import DoctorOptions, RunOptions
from kvlint.runtime.session import doctor_command, run_command
from tests.runtime.real import runtime_python, tree

MODEL = """\
from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool
from sglang.srt.mem_cache.memory_pool import HybridLinearKVPool, MiniMaxSparseKVPool


def read(pool: DeepSeekV4SingleKVPool, layer_id):
    return pool.get_value_buffer(layer_id)


def store(pool: MiniMaxSparseKVPool, layer, loc, k, v):
    pool.index_k_pool.set_kv_buffer(layer, loc, k, v)


def write(pool: HybridLinearKVPool, layer, loc, k, v):
    pool.full_kv_pool.set_kv_buffer(layer, loc, k, v)
    return pool.end_layer
"""


def test_each_finding_of_a_file_is_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL, "utf-8")
    options = RunOptions(
        selection=(str(file),),
        sglang=str(tree("0.5.23")),
        python=runtime_python(),
        device="cpu",
        output_format="json",
    )
    assert run_command(options) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [(one["line"], one["code"], one["status"]) for one in findings] == [
        (6, "KV101", "confirmed on cpu"),
        (10, "KV201", "confirmed on cpu"),
        (14, "KV202", "confirmed on cpu"),
        (15, "KV104", "confirmed on cpu"),
    ]
    assert "absent:HybridLinearKVPool.end_layer" in {p["id"] for p in findings[3]["probes"]}


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_the_extra_one_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command(RunOptions(python=sys.executable)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install 'sglang-kvlint[run]'" in line


def test_a_missing_tree_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    options = RunOptions(sglang="/no/such/tree", python=runtime_python())
    assert run_command(options) == 2
    assert capsys.readouterr().err == "kvlint run: --sglang /no/such/tree: no such folder\n"


def test_a_word_that_names_nothing_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    options = RunOptions(("KV999",), sglang=str(tree("0.5.23")), python=runtime_python())
    assert run_command(options) == 2
    assert "KV999 names no rule, pool class or probe" in capsys.readouterr().err


def test_no_gpu_is_needs_cuda_and_nothing_could_run(capsys: pytest.CaptureFixture[str]) -> None:
    options = RunOptions(
        ("guard:MHATokenToKOnlyPool.set_kv_buffer",),
        sglang=str(tree("0.5.23")),
        python=runtime_python(),
        engine="cuda",
    )
    code = run_command(options)
    output = capsys.readouterr().out
    if "verdict=confirmed" in output:
        pytest.skip("this machine has a GPU")
    assert code == 2
    assert "engine=cuda verdict=needs-cuda" in output


def test_the_doctor_finds_the_environment_complete(capsys: pytest.CaptureFixture[str]) -> None:
    options = DoctorOptions(
        sglang=str(tree("0.5.23")), python=runtime_python(), output_format="json"
    )
    assert doctor_command(options) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["import of pools"]["state"] == "ok"
    assert checks["sglang"]["text"].startswith("0.5.23 ")


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_the_doctor_says_what_mends_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor_command(DoctorOptions(python=sys.executable, output_format="json")) == 2
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["torch"]["mend"] == "pip install 'sglang-kvlint[run]'"
