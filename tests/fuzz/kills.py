"""`kvlint check --fix` killed at any moment: each file is the old one or the new one, whole."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.fuzz.command import alone
from tests.fuzz.formatting import fixable

FILES = 24
LONGEST = 1.2
"""Seconds in which a run over that many files has begun, written them all, and mostly ended."""
_OPTIONS = ("check", ".", "--sglang", "0.5.23", "--fix", "--unsafe-fixes")


def faults_of_kill(before: dict[str, bytes], folder: Path, delay: float) -> Iterator[str]:
    """Fix the files, be killed after so many seconds, look, and fix what is left."""
    folder.mkdir(parents=True)
    for name, data in before.items():
        (folder / name).write_bytes(data)
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "kvlint", *_OPTIONS],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(delay)  # the moment is what varies: nothing is waited for
    process.send_signal(signal.SIGKILL)
    process.wait()
    torn = {name: (folder / name).read_bytes() for name in before}
    ended = alone(folder, *_OPTIONS)
    yield from ended.faults()
    after = {name: (folder / name).read_bytes() for name in before}
    for name, data in torn.items():
        if data not in (before[name], after[name]):
            yield f"killed after {delay:.3f} s: {name} is neither old nor new: {data!r}"
    strangers = {p.name for p in folder.iterdir()} - before.keys() - {".kvlint_cache"}
    if strangers:
        yield f"killed after {delay:.3f} s: the next run leaves {sorted(strangers)}"


def files(folder: Path) -> dict[str, bytes]:
    """Programs that are fixed, each in a file."""
    programs = [text for _, text in fixable(folder)]
    return {f"p{number}.py": text.encode() for number, text in enumerate(programs[:FILES])}


def campaign(count: int, seed: int, folder: Path) -> list[str]:
    """Faults of that many kills."""
    rng = Random(seed)
    (folder / "seeds").mkdir()
    before = files(folder / "seeds")
    faults: list[str] = []
    for number in range(count):
        faults += faults_of_kill(before, folder / f"kill{number}", rng.uniform(0.1, LONGEST))
    return faults
