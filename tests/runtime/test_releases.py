"""Every guard of the real releases, and the three records, on a CPU."""

from __future__ import annotations

from collections import Counter

import pytest

from kvlint.runtime.probes import Report, exit_code
from tests.runtime.real import run, tree, verdicts

# What a CPU without these packages cannot build, by class and reason.
UNBUILT = {
    "_DummyKVCache": "the module mlx is missing",
    "DSV4NPUTokenToKVPool": "the module torch_npu is missing",
    "NPUDeepSeekV4IndexerPool": "the module torch_npu is missing",
    "NPUDeepSeekV4SingleKVPool": "the module torch_npu is missing",
    "PageMajorMHATokenToKVPool": "SGLang refuses to build it",
}


@pytest.fixture(scope="module", params=["0.5.16", "0.5.19", "0.5.23"])
def report(request: pytest.FixtureRequest) -> Report:
    return run(tree(request.param))


def test_everything_is_confirmed_or_named_with_its_reason(report: Report) -> None:
    assert exit_code(report, require_all=False) == 0
    for result in report.results:
        if result.verdict == "cannot-build":
            assert result.observed.startswith(UNBUILT[result.probe.pool_name])
        elif result.verdict != "confirmed":
            assert (result.probe.id, result.verdict) == ("fix:KV102", "needs-cuda")


def test_every_guard_of_a_pool_that_can_be_built_is_confirmed(report: Report) -> None:
    guards = [result for result in report.results if result.probe.kind == "guard"]
    built = [result for result in guards if result.probe.pool_name not in UNBUILT]
    if report.platform.sglang == "0.5.16":
        built = [result for result in guards if result.verdict != "cannot-build"]
    assert {result.verdict for result in built} == {"confirmed"}
    counts = Counter(report.platform.sglang for _ in built)
    assert counts == {report.platform.sglang: len(built)}
    assert all("no byte changed" in result.observed for result in built)


def test_the_three_records_are_confirmed_fixed_and_necessary(report: Report) -> None:
    found = verdicts(report)
    for record in (
        "guard:DeepSeekV4SingleKVPool.get_kv_buffer",
        "guard:DeepSeekV4SingleKVPool.get_value_buffer",
        "guard:MHATokenToKOnlyPool.set_kv_buffer",
        "guard:NoOpMHATokenToKVPool.set_kv_buffer",
        "fix:KV101",
        "fix:KV201",
        "fix:KV301",
        "necessity:shared-buffer-value-store",
        "necessity:k-only-global-layer",
        "necessity:no-op-placeholder",
    ):
        assert found[record] == "confirmed", record


def test_no_misuse_is_seen_by_the_async_assertions(report: Report) -> None:
    misuses = [result for result in report.results if result.probe.kind == "necessity"]
    assert misuses
    assert {result.async_assert for result in misuses} == {"silent"}


def test_the_observed_matrix_names_what_each_call_did(report: Report) -> None:
    cell = report.accessors["DeepSeekV4SingleKVPool"]["get_value_buffer"]
    assert cell == {
        "catalogue": "guard",
        "observed": "raised NotImplementedError: Use get_key_buffer instead.",
    }
