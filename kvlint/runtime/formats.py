"""Reports as JSON (schema versioned), JUnit XML, and stable `key=value` lines."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from kvlint.runtime.probes import FAILURES, SCHEMA_VERSION, SKIPS, Report, Result, RunOptions

_CONTROL = re.compile(r"[^\x09\x0a\x0d\x20-\ud7ff\ue000-\ufffd]")


def repeat_command(result: Result, options: RunOptions) -> str:
    """The one command that runs this probe again."""
    parts = ["kvlint", "run", result.probe.id, "--engine", result.engine]
    if options.sglang:
        parts += ["--sglang", options.sglang]
    if options.python:
        parts += ["--python", options.python]
    if result.engine == "cuda" and options.device not in ("auto", "cpu"):
        parts += ["--device", options.device]
    return shlex.join(parts)


def as_json(report: Report, options: RunOptions) -> str:
    platform = report.platform
    data = {
        "schema_version": SCHEMA_VERSION,
        "tool": "kvlint run",
        "platform": {name: getattr(platform, name) for name in platform.__dataclass_fields__},
        "seconds": round(report.seconds, 2),
        "interrupted": report.interrupted,
        "summary": summary(report.results),
        "probes": [_result(result, options) for result in report.results],
        "accessors": report.accessors,
    }
    return json.dumps(data, indent=1, ensure_ascii=False, sort_keys=False) + "\n"


def summary(results: Iterable[Result]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.verdict] = counts.get(result.verdict, 0) + 1
    return dict(sorted(counts.items()))


def _result(result: Result, options: RunOptions) -> dict[str, Any]:
    probe = result.probe
    return {
        "id": probe.id,
        "kind": probe.kind,
        "pool": probe.pool,
        "accessor": probe.accessor,
        "rules": list(probe.rules),
        "engine": result.engine,
        "verdict": result.verdict,
        "expected": result.expected,
        "observed": result.observed,
        "details": list(result.details),
        "async_assert": result.async_assert,
        "seconds": round(result.seconds, 3),
        "repeat": repeat_command(result, options),
    }


def key_value_lines(results: Iterable[Result]) -> Iterable[str]:
    """One line a probe and engine; values are quoted where a shell would split them."""
    for result in results:
        pairs = {
            "probe": result.probe.id,
            "engine": result.engine,
            "verdict": result.verdict,
            "pool": result.probe.pool_name or "-",
            "accessor": result.probe.accessor or "-",
            "rules": ",".join(result.probe.rules) or "-",
            "observed": result.observed,
        }
        if result.async_assert:
            pairs["async_assert"] = result.async_assert
        yield " ".join(f"{name}={shlex.quote(value)}" for name, value in pairs.items())


def as_junit(report: Report, options: RunOptions) -> str:
    results = report.results
    failures = sum(1 for result in results if result.verdict in FAILURES)
    skipped = sum(1 for result in results if result.verdict in SKIPS)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuite name="kvlint run" tests="{len(results)}" failures="{failures}" '
        f'errors="0" skipped="{skipped}" time="{report.seconds:.2f}">',
    ]
    for result in results:
        lines.extend(_case(result, options))
    return "\n".join([*lines, "</testsuite>", ""])


def _case(result: Result, options: RunOptions) -> Iterable[str]:
    name = quoteattr(_clean(f"{result.probe.id} [{result.engine}]"))
    group = quoteattr(_clean(result.probe.pool_name or "ServerArgs"))
    yield f'  <testcase classname={group} name={name} time="{result.seconds:.3f}">'
    if result.verdict in FAILURES:
        text = [f"expected: {result.expected}", f"observed: {result.observed}", *result.details]
        body = escape(_clean("\n".join([*text, repeat_command(result, options)])))
        yield f"    <failure type={quoteattr(result.verdict)} message=" + (
            f"{quoteattr(_clean(result.observed))}>{body}</failure>"
        )
    elif result.verdict in SKIPS:
        message = quoteattr(_clean(f"{result.verdict}: {result.observed}"))
        yield f"    <skipped message={message}/>"
    yield "  </testcase>"


def _clean(text: str) -> str:
    return _CONTROL.sub("?", text)
