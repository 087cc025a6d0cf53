"""Crashes, overruns and ctrl-C: what is known survives, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from kvlint.runtime.probes import Engine, RunOptions
from tests.runtime.real import changed_copy, run, runtime_python, tree, verdicts

CPU: tuple[Engine, ...] = ("cpu",)
POOLS = "sglang/srt/mem_cache/memory_pool.py"
NO_V = 'raise NotImplementedError("MHATokenToKOnlyPool does not allocate V")'
VALUE = f"def get_value_buffer(self, layer_id: int) -> torch.Tensor:\n        {NO_V}"
PAIR = (
    f"def get_kv_buffer(self, layer_id: int) -> Tuple[torch.Tensor, torch.Tensor]:\n        {NO_V}"
)


def test_a_crash_and_an_overrun_lose_only_their_own_probe(tmp_path: Path) -> None:
    broken = changed_copy(
        tree("0.5.23"),
        tmp_path / "tree",
        POOLS,
        {
            VALUE: VALUE.replace(NO_V, "import os; os.kill(os.getpid(), 9)"),
            PAIR: PAIR.replace(NO_V, "import time; time.sleep(600)"),
        },
    )
    names = ("get_cpu_copy", "get_kv_buffer", "get_value_buffer", "set_kv_buffer")
    words = [f"guard:MHATokenToKOnlyPool.{name}" for name in names]
    report = run(broken, *words, engines=CPU, options=RunOptions(timeout=8.0))
    assert verdicts(report) == {
        "guard:MHATokenToKOnlyPool.get_cpu_copy": "confirmed",
        "guard:MHATokenToKOnlyPool.get_kv_buffer": "timed-out",
        "guard:MHATokenToKOnlyPool.get_value_buffer": "crashed",
        "guard:MHATokenToKOnlyPool.set_kv_buffer": "confirmed",
    }
    crashed = next(result for result in report.results if result.verdict == "crashed")
    assert crashed.observed == "killed by SIGKILL"


def test_ctrl_c_leaves_no_process_and_reports_what_is_known(tmp_path: Path) -> None:
    marker = tmp_path / "cache"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "kvlint", "run", "--sglang", str(tree("0.5.23"))),
            *("--python", runtime_python()),
        ],
        env={**os.environ, "XDG_CACHE_HOME": str(marker)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(processes_with(marker)) > 2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "verdict=interrupted" in output
    assert "interrupted:" in errors
    assert "Traceback" not in errors
    wait_for(lambda: processes_with(marker) == [])


def test_a_killed_supervisor_takes_its_workers_along(tmp_path: Path) -> None:
    marker = tmp_path / "cache"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "kvlint", "run", "--sglang", str(tree("0.5.23"))),
            *("--python", runtime_python()),
        ],
        env={**os.environ, "XDG_CACHE_HOME": str(marker)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: len(processes_with(marker)) > 2)
    process.kill()
    process.wait()
    wait_for(lambda: processes_with(marker) == [])


def processes_with(marker: Path) -> list[int]:
    """Living processes whose environment names the marker: kvlint's own and its children."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(marker).encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_for(condition: object, seconds: float = 60.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)
