"""Reports of `kvlint run` as lasting evidence: what each rule's documentation shows.

`python -m kvlint.runtime.evidence REPORT.json ...` writes, from JSON reports and nothing else,

- docs/evidence/sglang-VERSION-ENGINE.json, the reports without what changes from run to run;
- docs/evidence/README.md, the same for people;
- kvlint/evidence.json, what `kvlint rule` shows of it.

Imports neither torch nor SGLang.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_SUMMARY = Path(__file__).parent.parent / "evidence.json"
_DOCS = Path(__file__).parents[2] / "docs" / "evidence"
# An exception with its text, up to what kvlint says of the bytes.
_RAISED = re.compile(
    r"\b(\w*(?:Error|Exception)): .*?(, no byte changed|, \d+ bytes changed.*|\)?$)"
)
_SHOWN = ("guard", "fix", "necessity", "writer", "launch")
_NOTE = """\
# Runtime evidence

Written by `python -m kvlint.runtime.evidence` from reports of `kvlint run --output-format json`,
and never by hand. Each report was made on the unmodified wheel of that SGLang release.

**No report here is from a GPU.** The CUDA path is the same code on another device, and it is
unproven: what needs the fused CUDA store kernels is reported as `needs-cuda`, and nothing is
claimed about it. To add a report from a GPU machine: `kvlint run --device cuda --output-format
json --output-file cuda.json`, then `python -m kvlint.runtime.evidence cuda.json`.
"""


def section(code: str) -> str:
    """The lines under "Runtime evidence" of one rule, "" where no probe names it."""
    if not _SUMMARY.is_file():
        return ""
    rules: dict[str, list[str]] = json.loads(_SUMMARY.read_text("utf-8"))
    return "\n".join(rules.get(code, ()))


def write(reports: Sequence[Path]) -> None:
    """Write the evidence of these reports, and of those that are kept for other releases."""
    _DOCS.mkdir(parents=True, exist_ok=True)
    for path in reports:
        data = lasting(json.loads(path.read_text("utf-8")))
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        (_DOCS / f"{_name(data)}.json").write_text(text, "utf-8")
    kept = [json.loads(path.read_text("utf-8")) for path in sorted(_DOCS.glob("sglang-*.json"))]
    _SUMMARY.write_text(json.dumps(_by_rule(kept), indent=1, ensure_ascii=False) + "\n", "utf-8")
    (_DOCS / "README.md").write_text(_readme(kept), "utf-8")


def lasting(report: dict[str, Any]) -> dict[str, Any]:
    """The report without times, without the command, which names the reporter's folders, and
    without SGLang's texts: that they agreed is the verdict, and the run shows them."""
    kept = {key: value for key, value in report.items() if key not in ("seconds", "interrupted")}
    accessors = {
        pool: {name: _bare(cell) for name, cell in cells.items()}
        for pool, cells in report["accessors"].items()
    }
    return {**kept, "probes": [_bare(probe) for probe in report["probes"]], "accessors": accessors}


def _bare(facts: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in facts.items() if key not in ("seconds", "repeat")}
    for name in ("expected", "observed", "async_assert"):
        if name in kept:
            kept[name] = _without_text(kept[name])
    if "details" in kept:
        kept["details"] = [_without_text(line) for line in kept["details"]]
    return kept


def _without_text(text: str) -> str:
    return _RAISED.sub(r"\1\2", text)


def _name(report: dict[str, Any]) -> str:
    engines = {probe["engine"] for probe in report["probes"]}
    return f"sglang-{report['platform']['sglang']}-{'cuda' if 'cuda' in engines else 'cpu'}"


def _by_rule(reports: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """Rule -> one line a release: how many probes were confirmed, and what was not and why."""
    found: dict[str, list[str]] = {}
    for report in reports:
        codes = {code for probe in report["probes"] for code in probe["rules"]}
        for code in sorted(codes):
            probes = [
                probe
                for probe in report["probes"]
                if code in probe["rules"] and probe["kind"] in _SHOWN
            ]
            if probes:
                found.setdefault(code, []).append(_line(report["platform"], probes))
    return dict(sorted(found.items()))


def _line(platform: dict[str, str], probes: list[dict[str, Any]]) -> str:
    counts: dict[str, list[str]] = {}
    for probe in probes:
        counts.setdefault(probe["verdict"], []).append(probe["engine"])
    parts = []
    for verdict, engines in sorted(counts.items()):
        where = ", ".join(dict.fromkeys(engines))
        parts.append(f"{len(engines)} {verdict} on {where}")
    return f"- SGLang {platform['sglang']}, torch {platform['torch']}: {'; '.join(parts)}."


def _readme(reports: list[dict[str, Any]]) -> str:
    parts = [_NOTE, "## Releases\n", _releases(reports), "## Rules\n"]
    for code, lines in _by_rule(reports).items():
        parts.append(f"### {code}\n\n" + "\n".join(lines) + "\n")
        shown = _shown(reports, code)
        if shown:
            parts.append("\n".join(shown) + "\n")
    return "\n".join(parts)


def _releases(reports: list[dict[str, Any]]) -> str:
    rows = ["| SGLang | torch | triton | Python | device | verdicts |", "|---|---|---|---|---|---|"]
    for report in reports:
        platform = report["platform"]
        verdicts = ", ".join(f"{count} {name}" for name, count in report["summary"].items())
        cells = [platform[name] for name in ("sglang", "torch", "triton", "python")]
        rows.append(f"| {' | '.join([*cells, platform['device'] or 'CPU', verdicts])} |")
    return "\n".join(rows) + "\n"


def _shown(reports: list[dict[str, Any]], code: str) -> list[str]:
    """What the newest report saw of a rule's fixes, misuses and launches."""
    lines = []
    for probe in reports[-1]["probes"]:
        if code in probe["rules"] and probe["kind"] in ("fix", "necessity", "launch"):
            observed = probe["observed"].replace("|", "\\|")
            silent = f" (with SGLang's assertions on: {probe['async_assert']})"
            tail = silent if probe["async_assert"] else ""
            lines.append(
                f"- `{probe['id']}`, {probe['verdict']} on {probe['engine']}: {observed}{tail}"
            )
    return lines


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("usage: python -m kvlint.runtime.evidence REPORT.json ...", file=sys.stderr)
        return 2
    write([Path(argument) for argument in arguments])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
