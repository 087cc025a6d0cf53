"""What comes from a checked repository reaches no terminal and no log raw."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kvlint.output.streams import harmless
from tests.running import kvlint as run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file names with odd characters")
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMAND = re.compile(r"^\s*::|##\[", re.M)
BAD = (
    "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
    "def f(pool: DeepSeekV4SingleKVPool, s):\n"
    "    k, _ = pool.get_kv_buffer(0)  # \x1b[2J \u202e ##[error]x\n"
    "    return k\n"
)
NAMES = [
    "::stop-commands::tok.py",
    "a\x1b]0;title\x07b.py",
    "a\n::error::x.py",
    "##[error]x.py",
    "c\u202egnp.py",
    "d\x9b31m.py",
    "e\rf.py",
    "f\u061cg.py",
]
FORMATS = ["text", "concise", "json", "sarif", "github", "gitlab", "junit"]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "kvlint.toml").write_text('sglang = "0.5.23"\n')
    for name in NAMES:
        (tmp_path / name).write_text(BAD)
        (tmp_path / f"x{name}").write_text("def f(:\n")
    (tmp_path / "no\x1b[2J.py").write_bytes(b"\xff\xfe\x00")
    return tmp_path


def is_harmless(text: str, output_format: str = "text") -> None:
    assert not RAW.search(text)
    if output_format == "github":
        lines = text.splitlines()
        assert all(re.match(r"::(error|warning|notice) ", line) for line in lines)
        assert "##[" not in text
    else:
        assert not COMMAND.search(text)


@pytest.mark.parametrize("output_format", FORMATS)
def test_names_and_lines_of_code(hostile: Path, output_format: str) -> None:
    environment = {"GITHUB_ACTIONS": "true"}
    done = run(
        *("check", ".", "--output-format", output_format), cwd=hostile, environment=environment
    )
    assert done.returncode == 2
    is_harmless(done.stdout, output_format)
    is_harmless(done.stderr)
    if output_format in ("json", "sarif", "gitlab"):
        assert json.loads(done.stdout)
    if output_format == "junit":
        ElementTree.fromstring(done.stdout)


@pytest.mark.parametrize("arguments", [["--diff"], ["--fix", "--show-fixes"], ["--statistics"]])
def test_fixes_and_their_texts(hostile: Path, arguments: list[str]) -> None:
    done = run(
        *("check", ".", "--unsafe-fixes" if arguments[0] != "--statistics" else "--pedantic"),
        *arguments,
        cwd=hostile,
        environment={"GITHUB_ACTIONS": "true"},
    )
    is_harmless(done.stderr)
    assert not COMMAND.search(done.stdout)


ESCAPED = r"\u001b[2J\u202e\n::error::x"
SETTINGS = [
    f'extend-rules = ["{ESCAPED}.md"]',
    f'baseline = "{ESCAPED}"',
    f'sglang = "{ESCAPED}"',
    f'sglang = "/{ESCAPED}"',
    f'select = ["{ESCAPED}"]',
    f'"{ESCAPED}" = 1',
    f'output-format = "{ESCAPED}"',
    f'exclude = ["[z-a]{ESCAPED}"]',
    "x = \x1b[2J",
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("command", [["check", "."], ["config", "."], ["rules"], ["pools"]])
def test_settings(tmp_path: Path, settings: str, command: list[str]) -> None:
    (tmp_path / "kvlint.toml").write_text(settings + "\n")
    (tmp_path / "a.py").write_text("pool = 1\n")
    done = run(*command, cwd=tmp_path, environment={"GITHUB_ACTIONS": "true"})
    is_harmless(done.stdout)
    is_harmless(done.stderr)
    assert "internal error" not in done.stderr


def test_the_version_that_a_checked_tree_gives_itself(tmp_path: Path) -> None:
    folder = tmp_path / "sglang" / "srt" / "mem_cache"
    folder.mkdir(parents=True)
    (folder / "memory_pool.py").write_text(
        "class KVCache:\n    def get_kv_buffer(self, layer_id): raise NotImplementedError()\n"
        "class MHATokenToKVPool(KVCache):\n    pass\n"
    )
    for version in ('0.5.23"\x1b[2J', "0.5.23\\n::error::x", "::stop-commands::x", "9" * 9000):
        (tmp_path / "sglang" / "version.py").write_text(f"__version__ = '{version}'\n")
        done = run("check", ".", cwd=tmp_path, environment={"GITHUB_ACTIONS": "true"})
        is_harmless(done.stdout)
        is_harmless(done.stderr)
        assert "internal error" not in done.stderr


def test_names_of_requirement_files(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements-\n::error::\x1b[2J.txt").write_text("sglang==0.5.19\n")
    (tmp_path / "a.py").write_text("pool = 1\n")
    done = run("check", ".", cwd=tmp_path, environment={"GITHUB_ACTIONS": "true"})
    assert "0.5.19" in done.stderr
    is_harmless(done.stderr)


def test_one_spelling_of_an_escape() -> None:
    """Of two digits below U+0100, of four above: `\\x202e` would read as a space and `2e`."""
    assert harmless("\x1b\x9b\u061c\u202e\n\t") == "\\x1b\\x9b\\u061c\\u202e\n\t"


@pytest.mark.parametrize("actions", ["true", ""])
def test_the_names_in_a_diff(tmp_path: Path, actions: str) -> None:
    (tmp_path / "kvlint.toml").write_text('sglang = "0.5.23"\n')
    for name in NAMES:
        (tmp_path / name).write_text("pool = 1  # kvlint: ignore[KV101] unneeded\n")
    environment = {"GITHUB_ACTIONS": actions}
    done = run("check", ".", "--diff", cwd=tmp_path, environment=environment)
    assert done.stdout.count("@@ -1") == len(NAMES)
    assert not RAW.search(done.stdout)
    assert not re.search("^::", done.stdout, re.M)
    if actions:
        is_harmless(done.stdout)
