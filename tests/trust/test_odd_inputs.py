"""Settings, baselines, requirements and caches that nobody would write: named with their file and
line, or passed by; never an internal error, and never the end of what else is checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import kvlint as run

DIGITS, BRACKETS = "9" * 5000, "[" * 5000
BAD = (
    "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
    "def f(pool: DeepSeekV4SingleKVPool):\n"
    "    return pool.get_value_buffer(0)\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


FAULTS = {
    "kvlint.toml": [
        (f"x = {DIGITS}", "kvlint.toml:1:"),
        (f"# one\nx = {BRACKETS}", "kvlint.toml:2:"),
        ("# one\nx" + ".x" * 20_000 + " = 1", "kvlint.toml:2: is not valid TOML: a key of more"),
        ('"\\""' + '  . "\\""' * 5_000 + " = 1", "kvlint.toml:1:"),
        ("x = {y" + ".y" * 5_000 + " = 1}", "kvlint.toml:1:"),
        ("[[x" + ".x" * 5_000 + "]]", "kvlint.toml:1:"),
        (f'sglang = "{DIGITS}"', "is neither a version"),
        ('baseline = "a\\u0000b"', "kvlint.toml:1:"),
        ('extend-rules = ["a\\u0000b"]', "kvlint.toml:1:"),
        ('sglang = "a\\u0000b"', "kvlint.toml:1:"),
        ('\nexclude = ["!"]', "kvlint.toml:2:"),
        ('extend-exclude = ["[z-a]"]', "kvlint.toml:1:"),
        ('[per-file-ignores]\n"[z-a]" = ["KV101"]', "kvlint.toml:1:"),
    ],
    "pyproject.toml": [
        ("tool = 1 # kvlint", "pyproject.toml:1:"),
        ("tool = [1] # kvlint", "pyproject.toml:1:"),
        ("[tool]\nkvlint = 1", "pyproject.toml:"),
        (f"# kvlint\nx = {DIGITS}", "pyproject.toml:2:"),
        (f"# kvlint\nx = {BRACKETS}", "pyproject.toml:2:"),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [(name, text, place) for name, cases in FAULTS.items() for text, place in cases],
)
def test_settings_are_named_with_their_line(
    project: Path, name: str, text: str, place: str
) -> None:
    (project / name).write_text(text + "\n")
    done = run("check", ".", cwd=project)
    assert done.returncode == 2
    assert place in done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    "text", [f'{{"version": {DIGITS}}}', BRACKETS, "[]", '{"version": 1}', "\x00", "\ud800"]
)
def test_baselines(project: Path, text: str) -> None:
    (project / "known.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    done = run("check", ".", "--baseline", "known.json", cwd=project)
    assert done.returncode == 2
    assert "known.json" in done.stderr
    assert "internal error" not in done.stderr


REQUIREMENTS = ["sglang===foo", "sglang==", "sglang @ file:///x", "sglang==1!0"]
REQUIREMENTS += [f"sglang{sign}{DIGITS}" for sign in ("==", ">=", "===", "~=0.")]


@pytest.mark.parametrize("text", REQUIREMENTS)
def test_requirements(project: Path, text: str) -> None:
    (project / "requirements.txt").write_text(text + "\n")
    done = run("check", ".", cwd=project)
    assert done.returncode == 1


@pytest.mark.parametrize(
    "text", ["!", "[z-a]", "\\", "a" * 10_000, "*a" * 200, "**/" * 500, "\udcff"]
)
def test_patterns_of_git_that_are_none(project: Path, text: str) -> None:
    (project / ".gitignore").write_bytes(text.encode("utf-8", "surrogateescape") + b"\nother.py\n")
    (project / "other.py").write_text(BAD)
    done = run("check", ".", cwd=project, timeout=60)
    assert done.returncode in (0, 1)
    assert "other.py" not in done.stdout
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    "metadata", [b"", b"Name: sglang\n", b"Version: foo\nName: sglang\n", b"\xff\xfe\x00", None]
)
def test_metadata_of_an_installed_sglang(project: Path, metadata: bytes | None) -> None:
    info = project / ".venv" / "lib" / "python3.11" / "site-packages" / "sglang-0.5.19.dist-info"
    info.mkdir(parents=True)
    if metadata is not None:
        (info / "METADATA").write_bytes(metadata)
    done = run("check", ".", cwd=project)
    assert done.returncode == 1
    assert "internal error" not in done.stderr


def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    program = (
        "import os, subprocess, sys; os.rmdir(os.getcwd());"
        "sys.exit(subprocess.run([sys.executable, '-m', 'kvlint', 'check', '.']).returncode)"
    )
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run([sys.executable, "-c", program], cwd=gone, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


WRONG = ["{}", "[]", "null", "1", '"x"', '{"for": 1}', '{"key": 1, "files": 1, "definers": 2}']


@pytest.mark.parametrize("body", WRONG)
def test_cache_entries_that_are_well_formed_and_wrong(project: Path, body: str) -> None:
    """Sealed as kvlint's own, as after a fault of kvlint's."""
    from kvlint.source.kept import write_sealed

    first = run("check", ".", cwd=project)
    home = project / ".kvlint_cache"
    for path in home.rglob("*"):
        if path.is_file() and path.name not in (".gitignore", "CACHEDIR.TAG"):
            write_sealed(home, path, body.encode())
    again = run("check", ".", cwd=project)
    assert (again.returncode, again.stdout) == (first.returncode, first.stdout)
