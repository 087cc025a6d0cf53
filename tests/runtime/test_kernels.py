"""kvlint's Triton kernels, in the environment that has torch and triton."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kvlint.runtime.releases import child_environment
from tests.runtime.real import runtime_python

ROOT = Path(__file__).parents[2]


def test_the_kernels_agree_with_torch_under_the_interpreter() -> None:
    environment = child_environment("triton-interpreter")
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [
            *(runtime_python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest"),
            *("-c", "/dev/null", str(ROOT / "tests" / "runtime" / "kernel_cases.py")),
        ],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
