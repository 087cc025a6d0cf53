"""Findings of `kvlint check`, confirmed on the real pools.

Each finding is matched to the probes that show its claim: the guard of each class that its
receiver can be, the absence of an attribute, or what its rule's misuse does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kvlint.catalogue.model import Catalogue
from kvlint.engine.analysis import Request, check_files
from kvlint.findings import Finding
from kvlint.launch.facts import LaunchRelease
from kvlint.rules.rule import builtin_rules
from kvlint.runtime.probes import FAILURES, SCHEMA_VERSION, Engine, Probe, Result, RunOptions
from kvlint.runtime.releases import (
    Interpreter,
    Release,
    RunError,
    find_release,
    inspect_interpreter,
    require_extra,
)
from kvlint.source.writing import write_whole


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A finding with what its probes showed; no results where no probe matches it."""

    finding: Finding
    results: tuple[Result, ...]

    @property
    def status(self) -> str:
        """ "confirmed on cpu", or why it is not: a verdict with its engine, or "no probe"."""
        if not self.results:
            return "no probe"
        failed = [result for result in self.results if result.verdict in FAILURES]
        if failed:
            return f"{failed[0].verdict} on {failed[0].engine}"
        confirmed = [r for r in self.results if r.verdict == "confirmed"]
        if confirmed:
            engines: dict[Engine, None] = dict.fromkeys(result.engine for result in confirmed)
            return f"confirmed on {', '.join(engines)}"
        return f"{self.results[0].verdict} on {self.results[0].engine}"

    @property
    def failed(self) -> bool:
        return any(result.verdict in FAILURES for result in self.results)


def probes_for(finding: Finding, probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """The probes that show a finding's claim, the most direct kind that there is."""
    accessor = finding.accessor.rpartition(".")[2]
    classes = set(finding.receiver_classes)
    own = [probe for probe in probes if probe.pool_name in classes]
    guards = [p for p in own if p.kind == "guard" and p.accessor == accessor]
    if guards:
        return tuple(guards)
    if finding.code == "KV104":
        return tuple(_absence(probe, accessor) for probe in own if probe.kind == "facts")
    misuses = [p for p in probes if p.kind == "necessity" and finding.code in p.rules]
    nearest = [probe for probe in misuses if probe.pool_name in classes]
    if nearest or misuses:
        return tuple(nearest or misuses)
    return tuple(p for p in probes if finding.code in p.rules and p.kind in ("fix", "launch"))


def _absence(facts: Probe, attribute: str) -> Probe:
    """The probe that one attribute is absent on instances of a class."""
    return replace(
        facts,
        id=f"absent:{facts.pool_name}.{attribute}",
        accessor=attribute,
        expected=f"no {attribute}",
        data={"accessors": {attribute: {"kind": "absent"}}, "called": []},
    )


def confirm_findings(findings: Iterable[Finding], options: RunOptions) -> tuple[Confirmation, ...]:
    """Run the probes of these findings. Raises RunError where nothing can run."""
    interpreter, release, catalogue = _setting(options)
    return _confirm(tuple(findings), interpreter, release, catalogue, options)


def _setting(options: RunOptions) -> tuple[Interpreter, Release, Catalogue]:
    from kvlint.runtime.session import catalogue_of

    interpreter = inspect_interpreter(options.python)
    require_extra(interpreter)
    release = find_release(options.sglang, interpreter)
    return interpreter, release, catalogue_of(release)


def _confirm(
    findings: tuple[Finding, ...],
    interpreter: Interpreter,
    release: Release,
    catalogue: Catalogue,
    options: RunOptions,
) -> tuple[Confirmation, ...]:
    from kvlint.runtime.session import all_probes, engines_for, run_probes

    known = all_probes(release, catalogue)
    matched = [(finding, probes_for(finding, known)) for finding in findings]
    wanted = tuple({probe.id: probe for _, probes in matched for probe in probes}.values())
    results: tuple[Result, ...] = ()
    if wanted:
        report = run_probes(interpreter, release, wanted, engines_for(options), options)
        results = report.results
    return tuple(
        Confirmation(finding, tuple(r for r in results if r.probe.id in {p.id for p in probes}))
        for finding, probes in matched
    )


def confirm_files(files: Sequence[Path], options: RunOptions) -> int:
    """Check the files, confirm what is found, and print it. The exit code is that of `run`."""
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise RunError(f"{missing[0]}: no such file")
    others = [word for word in options.selection if not word.endswith(".py")]
    if others:
        raise RunError(f"{others[0]}: name files, or rules and classes, but not both")
    interpreter, release, catalogue = _setting(options)
    findings = find(files, catalogue, release.root / "sglang")
    confirmations = _confirm(findings, interpreter, release, catalogue, options)
    _print(confirmations, release, options)
    if any(one.failed for one in confirmations):
        return 1
    confirmed = [one for one in confirmations if one.status.startswith("confirmed")]
    if findings and not confirmed:
        return 2
    return 1 if options.require_all and len(confirmed) < len(findings) else 0


def find(files: Sequence[Path], catalogue: Catalogue, package: Path) -> tuple[Finding, ...]:
    """The findings in files, against the catalogue of the very tree that will run."""
    paths = tuple(file.absolute() for file in files)
    request = Request(
        files=paths,
        roots=tuple(dict.fromkeys(path.parent for path in paths)),
        rules=builtin_rules(),
        catalogue=catalogue,
        named=frozenset(paths),
        launch=LaunchRelease(catalogue.version, package),
    )
    results = check_files(request)
    for result in results:
        if result.error is not None:
            raise RunError(f"{result.path}: {result.error.message}")
    return tuple(sorted((f for r in results for f in r.findings), key=lambda f: f.sort_key))


def _print(confirmations: Sequence[Confirmation], release: Release, options: RunOptions) -> None:
    if options.output_format == "json":
        text = json.dumps(_data(confirmations, release), indent=1, ensure_ascii=False) + "\n"
    else:
        text = "".join(_lines(confirmations))
    if options.output_file is not None:
        write_whole(options.output_file, text.encode())
    else:
        sys.stdout.write(text)
    confirmed = sum(1 for one in confirmations if one.status.startswith("confirmed"))
    print(
        f"{confirmed} of {len(confirmations)} findings confirmed on SGLang {release.version}",
        file=sys.stderr,
    )


def _lines(confirmations: Sequence[Confirmation]) -> Iterable[str]:
    for one in confirmations:
        finding = one.finding
        place = f"{finding.path}:{finding.span.line}:{finding.span.column}"
        yield f"{place}: {finding.code} {finding.message} [{one.status}]\n"
        for result in one.results:
            yield f"    {result.probe.id} on {result.engine}: {result.observed}\n"


def _data(confirmations: Sequence[Confirmation], release: Release) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "sglang": release.version,
        "findings": [
            {
                "code": one.finding.code,
                "path": str(one.finding.path),
                "line": one.finding.span.line,
                "column": one.finding.span.column,
                "status": one.status,
                "probes": [
                    {
                        "id": result.probe.id,
                        "engine": result.engine,
                        "verdict": result.verdict,
                        "observed": result.observed,
                    }
                    for result in one.results
                ],
            }
            for one in confirmations
        ],
    }
