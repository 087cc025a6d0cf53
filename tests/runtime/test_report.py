"""Exit codes and report formats."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from kvlint.runtime.formats import as_json, as_junit, key_value_lines
from kvlint.runtime.probes import Platform, Probe, Report, Result, RunOptions, Verdict, exit_code

PROBE = Probe(
    id="guard:MHATokenToKOnlyPool.set_kv_buffer",
    kind="guard",
    pool="sglang.srt.mem_cache.memory_pool.MHATokenToKOnlyPool",
    accessor="set_kv_buffer",
    title="the guard raises",
    engines=("cpu",),
    rules=("KV201",),
    expected="NotImplementedError",
)
PLATFORM = Platform(sglang="0.5.23", sglang_source="unpacked", python="3.11.7", torch="2.13.0")


def report(*verdicts: Verdict) -> Report:
    results = tuple(
        Result(PROBE, "cpu", verdict, PROBE.expected, "returned <\x01>", ("a & b",))
        for verdict in verdicts
    )
    return Report(PLATFORM, results)


@pytest.mark.parametrize(
    ("verdicts", "code", "strict"),
    [
        (("confirmed",), 0, 0),
        (("confirmed", "needs-cuda"), 0, 1),
        (("confirmed", "timed-out"), 0, 1),
        (("confirmed", "refuted"), 1, 1),
        (("confirmed", "drift"), 1, 1),
        (("confirmed", "broken"), 1, 1),
        (("confirmed", "crashed"), 1, 1),
        (("cannot-build", "needs-cuda"), 2, 2),
        ((), 2, 2),
    ],
)
def test_exit_codes(verdicts: tuple[Verdict, ...], code: int, strict: int) -> None:
    assert exit_code(report(*verdicts), require_all=False) == code
    assert exit_code(report(*verdicts), require_all=True) == strict


def test_json_has_versions_verdicts_and_the_command_that_repeats() -> None:
    data = json.loads(as_json(report("drift"), RunOptions(sglang="my tree")))
    assert data["schema_version"] == 1
    assert data["platform"]["sglang"] == "0.5.23"
    assert data["summary"] == {"drift": 1}
    assert data["probes"][0]["repeat"] == (
        "kvlint run guard:MHATokenToKOnlyPool.set_kv_buffer --engine cpu --sglang 'my tree'"
    )


def test_junit_is_well_formed_whatever_was_observed() -> None:
    suite = ET.fromstring(as_junit(report("confirmed", "drift", "needs-cuda"), RunOptions()))
    assert suite.attrib["tests"] == "3"
    assert suite.attrib["failures"] == "1"
    assert suite.attrib["skipped"] == "1"
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["message"] == "returned <?>"


def test_a_key_value_line_is_one_shell_word_a_pair() -> None:
    (line,) = key_value_lines(report("confirmed").results)
    assert line.startswith(
        "probe=guard:MHATokenToKOnlyPool.set_kv_buffer engine=cpu verdict=confirmed "
        "pool=MHATokenToKOnlyPool accessor=set_kv_buffer rules=KV201 observed="
    )
