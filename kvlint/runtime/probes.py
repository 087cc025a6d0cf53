"""Probes, verdicts and reports as plain data. Imports nothing but the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

SCHEMA_VERSION = 1

Engine = Literal["cpu", "triton-interpreter", "cuda"]
ProbeKind = Literal["guard", "facts", "fix", "necessity", "writer", "launch"]
Verdict = Literal[
    "confirmed",
    "refuted",
    "drift",
    "broken",
    "needs-cuda",
    "cannot-build",
    "timed-out",
    "crashed",
    "interrupted",
]

ENGINES: tuple[Engine, ...] = ("cpu", "triton-interpreter", "cuda")
FAILURES: frozenset[Verdict] = frozenset(("refuted", "drift", "broken", "crashed"))
SKIPS: frozenset[Verdict] = frozenset(("needs-cuda", "cannot-build", "timed-out", "interrupted"))


@dataclass(frozen=True, slots=True)
class Probe:
    """One claim to be shown by execution.

    `pool` is the qualified name of the class that is built, "" for launch probes. `expected` is
    what SGLang's source or the rule says, as text and as data for the child.
    """

    id: str
    kind: ProbeKind
    pool: str
    accessor: str
    title: str
    engines: tuple[Engine, ...]
    rules: tuple[str, ...] = ()
    expected: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pool_name(self) -> str:
        return self.pool.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Result:
    """What one probe showed on one engine.

    `details` are lines for people: bytes that moved, tracebacks, the reason of a skip.
    `async_assert` tells what SGLang's own range checks made of a misuse, "" where not asked.
    """

    probe: Probe
    engine: Engine
    verdict: Verdict
    expected: str
    observed: str
    details: tuple[str, ...] = ()
    seconds: float = 0.0
    async_assert: str = ""


@dataclass(frozen=True, slots=True)
class Platform:
    """The versions a report stands for. Empty texts where something is not there."""

    sglang: str
    sglang_source: str
    python: str
    torch: str = ""
    triton: str = ""
    numpy: str = ""
    driver: str = ""
    device: str = ""
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    platform: Platform
    results: tuple[Result, ...]
    accessors: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """class -> accessor -> what the catalogue says and what a call did: the observed matrix."""
    seconds: float = 0.0
    interrupted: bool = False

    def count(self, verdict: Verdict) -> int:
        return sum(1 for result in self.results if result.verdict == verdict)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """`kvlint run` as asked for. `selection`: rules, classes, probe ids or Python files."""

    selection: tuple[str, ...] = ()
    sglang: str | None = None
    python: str | None = None
    device: str = "auto"
    engine: str | None = None
    jobs: int = 0
    timeout: float = 60.0
    memory_mb: int = 4096
    list_only: bool = False
    require_all: bool = False
    output_format: str = "text"
    output_file: Path | None = None
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    sglang: str | None = None
    python: str | None = None
    output_format: str = "text"


def exit_code(report: Report, require_all: bool) -> int:
    """0: something was confirmed and nothing failed. 1: something failed, or was skipped while
    all is required. 2: nothing could run."""
    verdicts = {result.verdict for result in report.results}
    if verdicts & FAILURES:
        return 1
    if "confirmed" not in verdicts:
        return 2
    if require_all and verdicts & SKIPS:
        return 1
    return 0
