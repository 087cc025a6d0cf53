"""A copy of SGLang that was changed on purpose is caught, each change by the right verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.runtime.probes import Engine
from tests.runtime.real import changed_copy, run, tree, verdicts

CPU: tuple[Engine, ...] = ("cpu",)
POOLS = "sglang/srt/mem_cache/memory_pool.py"
GUARD = """        # Routed through MiniMaxSparseKVPool.set_index_k_buffer instead.
        raise NotImplementedError(
            "MHATokenToKOnlyPool: use set_index_k_buffer on the parent "
            "MiniMaxSparseKVPool — this pool does not store V"
        )
"""


@pytest.fixture
def broken(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    edits: dict[str, str] = request.param
    return changed_copy(tree("0.5.23"), tmp_path / "tree", POOLS, edits)


@pytest.mark.parametrize(
    "broken", [{GUARD: "        self.set_k_buffer(layer.layer_id, loc, cache_k)\n"}], indirect=True
)
def test_a_guard_that_was_removed_is_drift_and_its_rule_refuted(broken: Path) -> None:
    found = verdicts(run(broken, "MHATokenToKOnlyPool", "fix:KV201", engines=CPU))
    assert found["guard:MHATokenToKOnlyPool.set_kv_buffer"] == "drift"
    assert found["facts:MHATokenToKOnlyPool"] == "drift"
    assert found["fix:KV201"] == "refuted"


@pytest.mark.parametrize(
    "broken", [{'"MHATokenToKOnlyPool: use set_index': '"please use set_index'}], indirect=True
)
def test_another_message_is_drift(broken: Path) -> None:
    found = verdicts(run(broken, "KV201", engines=CPU))
    assert found["guard:MHATokenToKOnlyPool.set_kv_buffer"] == "drift"
    assert found["fix:KV201"] == "drift"
    assert found["necessity:k-only-global-layer"] == "confirmed"


@pytest.mark.parametrize(
    "broken",
    [
        {
            "        self.k_buffer[layer_id][loc] = cache_k\n\n    def get_value": (
                "        self.k_buffer[layer_id][loc + 1] = cache_k\n\n    def get_value"
            )
        }
    ],
    indirect=True,
)
def test_a_setter_off_by_one_row_is_broken(broken: Path) -> None:
    report = run(broken, "writer:MHATokenToKOnlyPool.set_k_buffer", "fix:KV201", engines=CPU)
    found = verdicts(report)
    assert found["writer:MHATokenToKOnlyPool.set_k_buffer"] == "broken"
    assert found["fix:KV201"] == "broken"
    details = next(r for r in report.results if r.probe.kind == "writer").details
    assert "k_buffer[0] row 18" in details[1]


@pytest.mark.parametrize(
    "broken",
    [
        {
            "sub_pool.set_k_buffer(mapped_id, loc, cache_idx_k)": (
                "sub_pool.set_k_buffer(mapped_id + 1, loc, cache_idx_k)"
            )
        }
    ],
    indirect=True,
)
def test_a_layer_off_by_one_is_broken(broken: Path) -> None:
    report = run(broken, "writer:MiniMaxSparseKVPool.set_index_k_buffer", "fix:KV201", engines=CPU)
    assert set(verdicts(report).values()) == {"broken"}
    details = next(r for r in report.results if r.probe.kind == "writer").details
    assert "index_k_pool.k_buffer[1]" in details[1]


@pytest.mark.parametrize(
    "broken",
    [{GUARD: "        self.k_buffer[0][loc] = cache_k\n" + GUARD}],
    indirect=True,
)
def test_a_guard_that_writes_before_it_raises_is_drift(broken: Path) -> None:
    report = run(broken, "guard:MHATokenToKOnlyPool.set_kv_buffer", engines=CPU)
    assert [result.verdict for result in report.results] == ["drift"]
    assert "it writes before it raises" in report.results[0].observed
