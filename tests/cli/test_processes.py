"""Large runs are split over processes: the same result, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvlint.engine import processes
from kvlint.engine import schedule as runner
from tests.cli.conftest import BAD, HEAD, Kvlint


def fill(project: Path, files: int) -> None:
    for number in range(files):
        (project / f"bad{number:03}.py").write_text(BAD)


def test_processes_say_what_one_process_says(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(project, 30)
    (project / "broken.py").write_text("def f(pool: KVCache:\n")
    one = kvlint("check", ".", "--no-cache", "--jobs", "1", "--output-format", "json")
    monkeypatch.setattr(runner, "PARALLEL_BYTES", 0)
    several = kvlint("check", ".", "--no-cache", "--jobs", "3", "--output-format", "json")
    assert several == one


def test_small_runs_start_no_process(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(project, 5)

    def refuse(*arguments: object) -> None:
        raise AssertionError("a process pool was made")

    monkeypatch.setattr(processes, "ProcessPoolExecutor", refuse)
    assert kvlint("check", ".", "--no-cache", "--jobs", "4").status == 1


def test_workers_share_the_cache(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(project, 12)
    monkeypatch.setattr(runner, "PARALLEL_BYTES", 0)
    first = kvlint("check", ".", "--jobs", "2")
    monkeypatch.setattr(runner, "check_files", lambda request: pytest.fail("analysed again"))
    assert kvlint("check", ".", "--jobs", "2") == first


def test_a_worker_that_dies_is_an_error_with_advice(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(project, 6)
    monkeypatch.setattr(runner, "PARALLEL_BYTES", 0)
    monkeypatch.setattr(runner, "check_files", lambda request: os._exit(9))
    done = kvlint("check", ".", "--no-cache", "--jobs", "2")
    assert done.status == 2
    assert "try again with --jobs 1" in done.err


def test_ctrl_c_leaves_no_process_and_no_half_written_file(project: Path) -> None:
    body = "    k, v = pool.get_kv_buffer(layer_id)\n" * 400
    for number in range(120):
        (project / f"bad{number:03}.py").write_text(HEAD + body)
    command = [sys.executable, "-m", "kvlint", "check", ".", "--jobs", "2"]
    process = subprocess.Popen(
        command,
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(members(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert members(process.pid) == []
    cache = project / ".kvlint_cache"
    assert not list(cache.rglob(".new-*"))


def members(group: int) -> list[int]:
    """The processes of a process group that are running."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(folder.name))
    return found
