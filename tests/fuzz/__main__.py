"""The campaign at full size: `make fuzz`, or `python -m tests.fuzz --seed 7 --files 1000 ...`.

Prints each fault with what made it, and ends with 1 where there is one. A number of 0 leaves a
part out. The same seed makes the same files.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fuzz import formatting, hostile, kills, metamorphic, repositories

Part = Callable[[int, int, Path], list[str]]


def _rewritten(count: int, seed: int, folder: Path) -> list[str]:
    return [str(change) for change in metamorphic.campaign(count, seed, folder)]


PARTS: dict[str, tuple[Part, int, str]] = {
    "files": (hostile.campaign, 20_000, "hostile files, checked"),
    "fixes": (formatting.campaign, 10_000, "programs in other formats, fixed"),
    "kills": (kills.campaign, 300, "runs of --fix, killed"),
    "repositories": (repositories.campaign, 300, "malicious repositories, checked"),
    "programs": (_rewritten, 50_000, "rewritten programs, whose verdict stays"),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    for name, (_, usual, what) in PARTS.items():
        parser.add_argument(f"--{name}", type=int, default=usual, help=f"{what} ({usual:,})")
    options = parser.parse_args()
    found = 0
    for name, (part, _, what) in PARTS.items():
        count: int = getattr(options, name)
        if not count:
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kvlint-fuzz-") as folder:
            faults = part(count, options.seed, Path(folder))
        for fault in faults:
            print(f"{name}: {fault}\n")
        found += len(faults)
        seconds = time.monotonic() - started
        print(f"{name}: {count:,} {what}: {len(faults)} faults in {seconds:.0f} s", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
