"""Nothing of the working folder is ever imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import kvlint, script

_LOADED = """
import sys
from kvlint.__main__ import main
import kvlint.cli.app, kvlint.cli.check, kvlint.engine.fix, kvlint.interpret.flow
import libcst, packaging, pathspec, re2, rich.console, ruamel.yaml, tree_sitter, tree_sitter_bash
import tree_sitter_json, tree_sitter_toml, typer
print("\\n".join({name.partition(".")[0] for name in sys.modules}))
"""
_BEFORE_KVLINT = "import runpy, sys; print('\\n'.join({n.partition('.')[0] for n in sys.modules}))"
NEWER = 'type Pool = int\ndef f[T](pool: "MHATokenToKOnlyPool") -> T: ...\n'
COMMANDS = [
    ["check", ".", "--no-cache"],
    ["check", ".", "--fix"],
    ["check", ".", "--diff", "--unsafe-fixes"],
    ["check", ".", "--output-format", "sarif"],
    ["pools", "MHATokenToKVPool"],
    ["rules"],
    ["rule", "KV101"],
    ["config", "."],
    ["args", "--", "python -m sglang.launch_server --model-path m"],
    ["doctor"],
]


def modules(program: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def names() -> set[str]:
    """Every module that Python, kvlint or its dependencies have, apart from kvlint's own."""
    known = set(sys.stdlib_module_names) | modules(_LOADED)
    return known - {"__main__", "kvlint", "sys", "builtins"}


def plant(folder: Path, names: set[str]) -> Path:
    ran = folder / "RAN"
    for name in names:
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write({name!r})\n")
    (folder / "newer.py").write_text(NEWER)
    (folder / "kvlint.toml").write_text('sglang = "0.5.23"\n')
    return ran


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_planted_module_runs(tmp_path: Path, names: set[str], command: list[str]) -> None:
    ran = plant(tmp_path, names)
    subprocess.run([script(), *command], cwd=tmp_path, capture_output=True, check=False)
    assert not ran.exists(), ran.read_text()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nor_does_one_with_python_m(tmp_path: Path, names: set[str], command: list[str]) -> None:
    """What `python -m` itself imports before kvlint is its own: it looks there first."""
    ran = plant(tmp_path, names - modules(_BEFORE_KVLINT))
    arguments = [sys.executable, "-m", "kvlint", *command]
    subprocess.run(arguments, cwd=tmp_path, capture_output=True, check=False)
    assert not ran.exists(), ran.read_text()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads that syntax itself")
def test_newer_syntax_is_still_told_from_a_mistake(tmp_path: Path, names: set[str]) -> None:
    plant(tmp_path, names)
    done = subprocess.run(
        [script(), "check", "newer.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "uses syntax newer than Python" in done.stdout


@pytest.mark.parametrize("command", [["run", "KV101"], ["check", ".", "--confirm"]])
def test_nothing_is_executed_where_that_is_forbidden(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "a.py").write_text("pool = 1\n")
    done = kvlint(*command, cwd=tmp_path, environment={"KVLINT_NO_RUN": "1"})
    assert done.returncode == 2
    assert "KVLINT_NO_RUN forbids" in done.stderr
