"""`kvlint pools`."""

from __future__ import annotations

import json

import pytest

from kvlint.cli.pools import show_pools


def test_matrix_fits_100_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_pools(None, "0.5.23", None) == 0

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    (row,) = [line.split() for line in lines if line.startswith("DeepSeekV4SingleKVPool")]
    assert row[1:] == ["yes", "GUARD", "GUARD", "GUARD", "-", "GUARD", "GUARD", "-"]


def test_matrix_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    show_pools(None, "0.5.23", None, "json")

    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["sglang"], len(document["classes"])) == (1, "0.5.23", 43)


def test_one_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_pools("MHATokenToKOnlyPool", "0.5.23", None) == 0

    out = capsys.readouterr().out
    assert "MRO: MHATokenToKOnlyPool > KVCache > ABC" in out
    assert "set_kv_buffer raises NotImplementedError: MHATokenToKOnlyPool: use" in out
    assert "MiniMaxSparseKVPool.index_k_pool" in out


def test_misspelt_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_pools("MHATokenToKOnylPool", "0.5.23", None) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "did you mean MHATokenToKOnlyPool" in captured.err


def test_unknown_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_pools(None, "soon", None) == 2
    assert "neither a version" in capsys.readouterr().err


def test_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_pools(None, None, ("0.5.19", "0.5.23")) == 0

    out = capsys.readouterr().out
    assert "+ HiSparseMHAMainPool: derived from MHATokenToKVPool" in out
    assert "- UnifiedMHATokenToKVPool.get_cpu_copy: works now" in out
    assert "~ MHATokenToKVPool.get_cpu_copy: +req_pool_index=..." in out


def test_difference_of_a_release_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    show_pools(None, None, ("0.5.23", "0.5.23"), "json")

    assert json.loads(capsys.readouterr().out)["changes"] == []
