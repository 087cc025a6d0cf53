"""A scratch project, and kvlint run in it without the cost of a new process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kvlint.__main__ import main

HEAD = (
    "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n\n\n"
    "def latent(pool: DeepSeekV4SingleKVPool, layer_id: int):\n"
)
BAD = HEAD + "    k, v = pool.get_kv_buffer(layer_id)\n    return k\n"
FIXED = HEAD + "    k = pool.get_key_buffer(layer_id)\n    return k\n"
GOOD = HEAD + "    return pool.get_key_buffer(layer_id)\n"
UNSAFE = HEAD + "    return pool.get_value_buffer(layer_id)\n"


@dataclass(frozen=True)
class Done:
    """How a command ended: exit status, standard output (also as bytes) and standard error."""

    status: int
    out: str
    err: str
    out_bytes: bytes


Kvlint = Callable[..., Done]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project that is the working folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "kvlint.toml").write_text('sglang = "0.5.23"\n')
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("KVLINT_TRACEBACK", "1")
    return folder


@pytest.fixture
def kvlint(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Kvlint:
    """Runs `kvlint ARGUMENTS`; `stdin` is what standard input holds."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["kvlint", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        status = ended.value.code
        return Done(
            status if isinstance(status, int) else 0,
            out.decode("utf-8", "replace"),
            err.decode("utf-8", "replace"),
            out,
        )

    return run
