"""Runs the kvlint command the way a person does, and reads its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Found:
    """One finding: `path` as given on the command line, or below it."""

    path: Path
    line: int
    code: str
    severity: str
    message: str


def kvlint(
    *arguments: str | Path,
    cwd: Path | None = None,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kvlint", *(str(argument) for argument in arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=timeout,
        env={**os.environ, **(environment or {})},
    )


def script() -> Path:
    """The installed command, which Python starts without the working folder in its path."""
    return Path(sys.executable).with_name("kvlint")


def check(*arguments: str | Path, cwd: Path | None = None) -> list[Found]:
    """Findings of `kvlint check ARGUMENTS`, sorted. Fails on a usage error."""
    done = kvlint("check", "--no-cache", "--output-format", "json", *arguments, cwd=cwd)
    if done.returncode not in (0, 1):
        raise AssertionError(f"kvlint check ended with {done.returncode}:\n{done.stderr}")
    base = cwd or Path.cwd()
    return sorted(
        Found(
            (base / finding["path"]).resolve(),
            finding["line"],
            finding["code"],
            finding["severity"],
            finding["message"],
        )
        for finding in json.loads(done.stdout)["findings"]
    )


def by_file(findings: list[Found]) -> dict[Path, list[Found]]:
    files: dict[Path, list[Found]] = {}
    for finding in findings:
        files.setdefault(finding.path, []).append(finding)
    return files
