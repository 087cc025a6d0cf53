"""`kvlint` run in a folder, in this process or in one of its own, and what must hold of any run."""

from __future__ import annotations

import io
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from kvlint.__main__ import main

STATUSES = frozenset((0, 1, 2, 3))
MOST_BYTES = 3 << 30
SECONDS = 30
"""A run that takes longer counts as one that does not end."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


@dataclass(frozen=True)
class Ended:
    status: int
    out: bytes
    err: bytes
    is_diff: bool = False
    """A diff holds the bytes of files as they are: it is made to be applied."""

    def faults(self) -> Iterator[str]:
        """What no run may do, whatever it is given."""
        if self.status not in STATUSES:
            yield f"exit status {self.status}"
        for name, text in (("output", self.out), ("errors", self.err)):
            for word in (b"Traceback (most recent", b"internal error", b"Internal error"):
                if word in text:
                    yield f"{word.decode()} in {name}: {text[-600:].decode('utf-8', 'replace')}"
            found = None if self.is_diff and text is self.out else _CONTROL.search(text)
            if found:
                near = text[max(0, found.start() - 60) : found.end() + 20]
                yield f"a control character in {name}: {near!r}"


def inside(folder: Path, *arguments: str) -> Ended:
    """Run in this process, which is a hundred times faster than one of its own."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        _in(folder),
        patch.multiple(
            sys, argv=["kvlint", *arguments], stdout=out, stderr=err, stdin=io.StringIO()
        ),
    ):
        try:
            main()
            status: object = 0
        except SystemExit as end:
            status = end.code
        out.flush()
        err.flush()
        code = status if isinstance(status, int) else 0
        return Ended(code, _bytes(out), _bytes(err), "--diff" in arguments)


def _bytes(stream: io.TextIOWrapper) -> bytes:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _limited() -> None:
    """What takes more is ended: /dev/zero has no end."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def alone(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Ended:
    """Run in a process of its own; status 124 where it does not end."""
    command = [sys.executable, "-I", "-m", "kvlint", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            preexec_fn=_limited,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        return Ended(124, b"", b"")
    return Ended(done.returncode, done.stdout, done.stderr)
