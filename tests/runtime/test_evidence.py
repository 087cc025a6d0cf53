"""What rules show as runtime evidence is made from the kept reports, and is up to date."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvlint.cli.rules import document
from kvlint.rules.rule import builtin_rules
from kvlint.runtime import evidence

ROOT = Path(__file__).parents[2]


def test_the_generated_files_are_those_of_the_kept_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = sorted((ROOT / "docs" / "evidence").glob("sglang-*.json"))
    assert kept
    for path in kept:
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(evidence, "_DOCS", tmp_path)
    monkeypatch.setattr(evidence, "_SUMMARY", tmp_path / "evidence.json")
    evidence.write([])
    assert (tmp_path / "README.md").read_text("utf-8") == (
        ROOT / "docs" / "evidence" / "README.md"
    ).read_text("utf-8")
    assert (tmp_path / "evidence.json").read_text("utf-8") == (
        ROOT / "kvlint" / "evidence.json"
    ).read_text("utf-8")


def test_a_rule_shows_the_evidence_of_every_release() -> None:
    rule = next(rule for rule in builtin_rules() if rule.code == "KV201")
    text = document(rule)
    assert "## Runtime evidence" in text
    for version in ("0.5.16", "0.5.19", "0.5.23"):
        assert f"- SGLang {version}, torch " in text


def test_reports_keep_no_text_of_sglang_and_no_folder() -> None:
    for path in (ROOT / "docs" / "evidence").glob("sglang-*.json"):
        data = json.loads(path.read_text("utf-8"))
        assert data["schema_version"] == 1
        assert "Use get_key_buffer instead" not in path.read_text("utf-8")
        assert all("repeat" not in probe for probe in data["probes"])


def test_a_raised_text_is_cut_and_the_bytes_are_kept() -> None:
    probe = {
        "observed": "raised ValueError: no: not so, 12 bytes changed: k_buffer[0] row 1: 12 bytes",
        "details": ["fa: ValueError: nothing of the kind"],
    }
    report = {"probes": [probe], "accessors": {}, "seconds": 1.0}
    assert evidence.lasting(report)["probes"] == [
        {
            "observed": "raised ValueError, 12 bytes changed: k_buffer[0] row 1: 12 bytes",
            "details": ["fa: ValueError"],
        }
    ]
