"""How fast kvlint is beside ast-grep, Semgrep and Ruff, all measured in the same run.

    python3 benchmarks/run.py [--tree FOLDER] [--runs N] [--json FILE]

FOLDER holds SGLang 0.5.23 (`sglang-0.5.23/sglang`); without it the packages that `dev.py trees`
fetches are used. The other tools are installed from PyPI into a virtual environment in the cache
folder, never into the project. Wants hyperfine (`apt install hyperfine`). A number is worth nothing
beside a number of another day or machine, so ratios are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OTHERS = ("ast-grep-cli", "semgrep", "ruff")
FIVE = (
    "srt/layers/attention/triton_backend.py",
    "srt/layers/attention/flashinfer_backend.py",
    "srt/models/deepseek_v4.py",
    "srt/mem_cache/radix_cache.py",
    "srt/managers/schedule_batch.py",
)


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvlint-ci"


def other_tools() -> Path:
    """The folder with the commands of the other tools, installed on the first call."""
    folder = cache() / "benchmark-tools"
    if not (folder / "bin" / "semgrep").exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", *OTHERS], check=True)
    return folder / "bin"


def sglang(folder: str | None) -> Path:
    if folder is None:
        trees = subprocess.run(
            [sys.executable, ROOT / "dev.py", "trees"], check=True, capture_output=True, text=True
        )
        folder = trees.stdout.splitlines()[-1] + "/sglang-0.5.23"
    path = Path(folder).resolve()
    return path / "sglang" if (path / "sglang").is_dir() else path


def commands(tree: Path, tools: Path, scratch: Path) -> dict[str, dict[str, str]]:
    """Group -> name -> shell command. The first of each group is kvlint's."""
    python = ROOT / ".venv" / "bin" / "python"
    kvlint = f"{python if python.exists() else sys.executable} -m kvlint"
    rule = scratch / "rule.yml"
    rule.write_text(
        "rules:\n- {id: pair, languages: [python], severity: ERROR, message: pair,"
        " pattern: $X.get_kv_buffer(...)}\n"
    )
    here = shlex.quote(str(tree))
    five = " ".join(shlex.quote(str(tree / name)) for name in FIVE)
    grep = f"{tools}/ast-grep run --lang python --pattern '$X.get_kv_buffer($$$)'"
    semgrep = (
        f"{tools}/semgrep scan --quiet --metrics off --disable-version-check --no-git-ignore"
        f" --max-target-bytes 0 --config {rule}"
    )
    ruff = f"{tools}/ruff check --isolated --no-cache --quiet --exit-zero"
    return {
        "whole package": {
            "kvlint, cold": f"{kvlint} check --no-cache --sglang {here} {here}",
            "kvlint, warm": f"{kvlint} check --sglang {here} {here}",
            "ast-grep, one pattern": f"{grep} {here}",
            "semgrep, one pattern": f"{semgrep} {here}",
            "ruff, no cache": f"{ruff} {here}",
        },
        "five files": {
            "kvlint, cold": f"{kvlint} check --no-cache --sglang 0.5.23 {five}",
            "ast-grep, one pattern": f"{grep} {five}",
            "semgrep, one pattern": f"{semgrep} {five}",
            "ruff, no cache": f"{ruff} {five}",
        },
        "start-up": {
            "kvlint --version": f"{kvlint} --version",
            "ruff --version": f"{tools}/ruff --version",
            "python -c pass": f"{python if python.exists() else sys.executable} -c pass",
        },
    }


@dataclass(frozen=True)
class Timing:
    """Mean seconds of a command: on the clock, and of all processors together."""

    wall: float
    processor: float


def measure(group: dict[str, str], runs: int, scratch: Path) -> dict[str, Timing]:
    """Times each command, run in `scratch` so that kvlint's cache is kept there."""
    report = scratch / "report.json"
    names = [argument for name in group for argument in ("--command-name", name)]
    subprocess.run(
        [
            *("hyperfine", "--style", "basic", "--warmup", "1", "--runs", str(runs)),
            *("--ignore-failure", "--export-json", str(report), *names, *group.values()),
        ],
        check=True,
        cwd=scratch,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    results = json.loads(report.read_text())["results"]
    return {
        result["command"]: Timing(result["mean"], result["user"] + result["system"])
        for result in results
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tree")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if shutil.which("hyperfine") is None:
        raise SystemExit("hyperfine is missing: apt install hyperfine")
    tools, tree = other_tools(), sglang(options.tree)
    print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, {tree}"
    )
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for title, group in commands(tree, tools, Path(folder)).items():
            results[title] = measured = measure(group, options.runs, Path(folder))
            first = next(iter(measured.values())).wall
            print(f"\n{title:<28}{'seconds':>10}{'x kvlint':>10}{'CPU':>10}")
            for name, time in measured.items():
                ratio = time.wall / first
                print(f"  {name:<26}{time.wall:>10.3f}{ratio:>10.2f}{time.processor:>10.3f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2, default=asdict) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
