"""Which probes there are, and what the options select. Needs neither torch nor SGLang."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvlint.catalogue.embed import load_embedded
from kvlint.catalogue.resolve import View
from kvlint.findings import Finding, Span
from kvlint.rules.rule import builtin_rules
from kvlint.runtime.confirm import probes_for
from kvlint.runtime.plan import SelectionError, plan_probes, select
from kvlint.runtime.probes import Probe, RunOptions
from kvlint.runtime.releases import Interpreter, RunError, child_environment, find_release
from kvlint.runtime.session import engines_for


@pytest.fixture(scope="module")
def probes() -> tuple[Probe, ...]:
    return plan_probes(View(load_embedded("0.5.23")), builtin_rules())


def finding(code: str, accessor: str, *classes: str) -> Finding:
    return Finding(
        code=code,
        name="any",
        path=Path("model.py"),
        span=Span(1, 1, 1, 2),
        severity="error",
        message="",
        receiver_classes=classes,
        accessor=accessor,
    )


def test_probe_ids_are_unique(probes: tuple[Probe, ...]) -> None:
    ids = [probe.id for probe in probes]
    assert len(ids) == len(set(ids))


def test_abstract_classes_have_no_probe(probes: tuple[Probe, ...]) -> None:
    assert not {"KVCache", "BaseSWAKVPool"} & {probe.pool_name for probe in probes}


def test_the_guards_of_the_records_name_their_rules(probes: tuple[Probe, ...]) -> None:
    rules = {probe.id: probe.rules for probe in probes}
    assert rules["guard:DeepSeekV4SingleKVPool.get_kv_buffer"] == ("KV101",)
    assert rules["guard:DeepSeekV4SingleKVPool.set_kv_buffer"] == ("KV102",)
    assert rules["guard:MHATokenToKOnlyPool.set_kv_buffer"] == ("KV201",)
    assert rules["guard:NoOpMHATokenToKVPool.set_kv_buffer"] == ("KV301",)
    assert rules["guard:MiniMaxSparseKVPool.move_kv_cache"] == ("KV103",)


def test_a_guard_inherited_from_the_base_is_a_probe_of_each_class(
    probes: tuple[Probe, ...],
) -> None:
    assert "guard:DeepSeekV4IndexerPool.get_cpu_copy" in {probe.id for probe in probes}


def test_selection_by_rule_class_kind_and_id(probes: tuple[Probe, ...]) -> None:
    assert {probe.kind for probe in select(probes, ["KV201"])} == {"guard", "fix", "necessity"}
    assert {p.pool_name for p in select(probes, ["SWAKVPool"])} == {"SWAKVPool"}
    assert len(select(probes, ["launch"])) == 4
    assert [p.id for p in select(probes, ["fix:KV101"])] == ["fix:KV101"]
    assert select(probes, []) == probes


def test_a_word_that_names_nothing_is_an_error(probes: tuple[Probe, ...]) -> None:
    with pytest.raises(SelectionError, match="KV999 names no rule"):
        select(probes, ["KV101", "KV999"])


def test_a_finding_is_matched_to_the_guards_of_its_classes(probes: tuple[Probe, ...]) -> None:
    found = probes_for(
        finding("KV101", "get_kv_buffer", "DeepSeekV4SingleKVPool", "HiSparseC4DevicePool"), probes
    )
    assert [probe.id for probe in found] == [
        "guard:DeepSeekV4SingleKVPool.get_kv_buffer",
        "guard:HiSparseC4DevicePool.get_kv_buffer",
    ]


def test_a_sub_pool_write_is_matched_to_its_misuse(probes: tuple[Probe, ...]) -> None:
    found = probes_for(finding("KV202", "full_kv_pool.set_kv_buffer", "HybridLinearKVPool"), probes)
    assert [probe.id for probe in found] == ["necessity:hybrid-global-layer"]


def test_an_absent_attribute_gets_a_probe_of_its_own(probes: tuple[Probe, ...]) -> None:
    found = probes_for(finding("KV104", "end_layer", "HybridLinearKVPool"), probes)
    assert [probe.id for probe in found] == ["absent:HybridLinearKVPool.end_layer"]


def test_a_guard_that_was_published_is_expected_of_a_tree_without_it() -> None:
    published = load_embedded("0.5.23")
    qualname = "sglang.srt.mem_cache.memory_pool.MiniMaxSparseKVPool"
    own = published.classes[qualname]
    methods = {name: method for name, method in own.methods.items() if name != "move_kv_cache"}
    classes = {**published.classes, qualname: replace(own, methods=methods)}
    tree = replace(published, classes=classes)
    found = {probe.id: probe for probe in plan_probes(View(tree), (), View(published))}
    guard = found["guard:MiniMaxSparseKVPool.move_kv_cache"]
    assert guard.data["exception"] == "NotImplementedError"
    assert found["facts:MiniMaxSparseKVPool"].data["changed"] == [
        "move_kv_cache: guard as published, absent in this tree"
    ]


def test_engines_of_devices() -> None:
    assert engines_for(RunOptions(device="cpu")) == ("cpu", "triton-interpreter")
    assert engines_for(RunOptions(device="cuda:1")) == ("cuda",)
    assert engines_for(RunOptions(device="all")) == ("cpu", "triton-interpreter", "cuda")
    assert engines_for(RunOptions(engine="triton-interpreter")) == ("triton-interpreter",)
    with pytest.raises(RunError, match="--device tpu"):
        engines_for(RunOptions(device="tpu"))
    with pytest.raises(RunError, match="--engine gpu"):
        engines_for(RunOptions(engine="gpu"))


def test_children_inherit_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SGLANG_API_KEY"):
        monkeypatch.setenv(name, "hidden")
    assert "hidden" not in child_environment("cpu").values()
    assert child_environment("triton-interpreter")["TRITON_INTERPRET"] == "1"
    assert "TRITON_INTERPRET" not in child_environment("cuda")


@pytest.mark.parametrize("version", ["0.0.0.dev9596+g29b7f22d8", "unknown", "0.5.24.dev12+g1"])
def test_a_tree_without_a_released_number_has_the_same_probes(version: str) -> None:
    released = load_embedded("0.5.23")
    tree = replace(released, version=version, release=None)

    assert plan_probes(View(tree), builtin_rules()) == plan_probes(View(released), builtin_rules())


def test_a_clone_is_shown_under_the_version_that_its_build_wrote(tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "version.py").write_text('__version__ = "0.0.0.dev0"\n')
    (package / "_version.py").write_text("__version__ = version = '0.5.24.dev12+g1234567'\n")

    release = find_release(str(tmp_path), Interpreter("python", {}))

    assert release.version == "0.5.24.dev12+g1234567"
