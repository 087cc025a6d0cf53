"""Nothing outside of the repository is read, written or removed by a link in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import kvlint as run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
BAD = (
    "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
    "def f(pool: DeepSeekV4SingleKVPool):\n"
    "    k, _ = pool.get_kv_buffer(0)  # {mark}\n"
    "    return k\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "kvlint.toml").write_text('sglang = "0.5.23"\n')
    (folder / "bad.py").write_text(BAD.format(mark="mine"))
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.py").write_text(BAD.format(mark="SECRET"))
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_linked_file_is_neither_shown_nor_fixed(project: Path, outside: Path) -> None:
    (project / "linked.py").symlink_to(outside / "secret.py")
    before = everything(outside)
    done = run("check", ".", "--fix", "--unsafe-fixes", cwd=project)
    assert "SECRET" not in done.stdout + done.stderr
    assert "passed over, since they lead out of the repository: linked.py" in done.stderr
    assert everything(outside) == before


def test_a_linked_file_that_is_named_is_meant(project: Path, outside: Path) -> None:
    (project / "linked.py").symlink_to(outside / "secret.py")
    done = run("check", "linked.py", cwd=project)
    assert "SECRET" in done.stdout


def test_a_link_within_the_repository_is_followed(project: Path) -> None:
    (project / "src").mkdir()
    (project / "bad.py").rename(project / "elsewhere.txt")
    (project / "src" / "linked.py").symlink_to("../elsewhere.txt")
    done = run("check", "src", "--output-format", "concise", cwd=project)
    assert done.stdout.startswith("src/linked.py:3:")


def test_add_ignore_writes_through_no_link(project: Path, outside: Path) -> None:
    (project / "linked.py").symlink_to(outside / "secret.py")
    before = everything(outside)
    run("check", ".", "--add-ignore=meant", cwd=project)
    assert everything(outside) == before


@pytest.mark.parametrize("option", ["--output-file", "--write-baseline"])
@pytest.mark.parametrize("name", ["report.json", "folder/report.json"])
def test_reports_go_through_no_link(project: Path, outside: Path, option: str, name: str) -> None:
    if "/" in name:
        (project / "folder").symlink_to(outside)
    else:
        (project / name).symlink_to(outside / "secret.py")
    before = everything(outside)
    done = run("check", ".", option, name, cwd=project)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert everything(outside) == before


def test_scratch_names_cannot_be_planted(project: Path, outside: Path) -> None:
    target = outside / "secret.py"
    for process in range(os.getpid(), os.getpid() + 400):
        (project / f".kvlint-{process}.tmp").symlink_to(target)
    before = everything(outside)
    run("check", ".", "--output-file", "report.txt", cwd=project)
    assert everything(outside) == before


@pytest.mark.parametrize("place", ["", "rests", "catalogues"])
def test_a_cache_that_is_a_link_is_not_used(project: Path, outside: Path, place: str) -> None:
    for number in range(100):
        (outside / f"{number:032x}").write_text("kept")
    cache = project / ".kvlint_cache"
    if place:
        cache.mkdir()
    (cache / place if place else cache).symlink_to(outside)
    before = everything(outside)
    done = run("check", ".", cwd=project)
    assert everything(outside) == before
    assert done.stderr.count("is a link: no results are kept") == 1


def test_a_module_that_is_imported_is_not_read_through_a_link(project: Path, outside: Path) -> None:
    (outside / "holder.py").write_text(
        "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
        "def main() -> DeepSeekV4SingleKVPool: ...\n"
    )
    (project / "holder.py").symlink_to(outside / "holder.py")
    text = "from holder import main\nk, v = main().get_kv_buffer(0)\n"
    (project / "bad.py").write_text(text)
    assert run("check", "bad.py", cwd=project).returncode == 0
    (project / "holder.py").unlink()
    (project / "holder.py").write_text((outside / "holder.py").read_text())
    assert run("check", "bad.py", cwd=project).returncode == 1


SPECIAL = [".gitignore", "requirements.txt", "pyproject.toml", "kvlint.toml", "known.json"]
SPECIAL += ["rule.md", "helper.py", "bad.py", "launch.sh", ".kvlint_cache/seen"]


@pytest.mark.parametrize("kind", ["zero", "pipe", "folder"])
@pytest.mark.parametrize("name", SPECIAL)
def test_what_is_no_regular_file_neither_blocks_nor_ends_a_run(
    project: Path, name: str, kind: str
) -> None:
    settings = 'sglang = "0.5.23"\n'
    settings += 'baseline = "known.json"\n' if name == "known.json" else ""
    settings += 'extend-rules = ["rule.md"]\n' if name == "rule.md" else ""
    (project / "kvlint.toml").write_text(settings)
    (project / "good.py").write_text("import helper\nx: helper.Pool\n")
    path = project / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    done = run("check", ".", cwd=project, timeout=60)
    assert done.returncode in (0, 1, 2)
    assert "internal error" not in done.stderr


def test_a_cache_that_a_repository_brings_along_changes_nothing(project: Path) -> None:
    first = run("check", ".", "--output-format", "json", cwd=project)
    for path in (project / ".kvlint_cache").rglob("*"):
        if path.is_file() and path.name not in (".gitignore", "CACHEDIR.TAG"):
            _, _, body = path.read_bytes().partition(b"\n")
            data = json.loads(body)
            if isinstance(data, dict) and "findings" in data:
                data["findings"] = []
            import hashlib

            changed = json.dumps(data, separators=(",", ":")).encode()
            path.write_bytes(hashlib.sha256(changed).hexdigest().encode() + b"\n" + changed)
    again = run("check", ".", "--output-format", "json", cwd=project)
    assert (again.returncode, again.stdout) == (first.returncode, first.stdout)


def test_what_a_killed_run_left_is_removed_by_the_next(project: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = project / f".kvlint-{gone.pid}-{'0' * 16}.tmp"
    left.write_text("half")
    others = project / f".kvlint-{os.getpid()}-{'1' * 16}.tmp"
    others.write_text("of a run that goes on")
    run("check", ".", "--fix", "--unsafe-fixes", cwd=project)
    assert (left.exists(), others.exists()) == (False, True)


@pytest.mark.parametrize(
    "name", ["kvlint.toml", "pyproject.toml", "requirements.txt", "setup.cfg", ".gitignore", "r.md"]
)
def test_what_steers_a_run_is_not_read_through_a_link(
    project: Path, outside: Path, name: str
) -> None:
    if name == "r.md":
        (project / "kvlint.toml").write_text('extend-rules = ["r.md"]\n')
    else:
        (project / "kvlint.toml").unlink()
    secret = outside / "secret"
    secret.write_text("[tool.kvlint]\nSECRET = 1\nsglang==0.5.16\n")
    (project / name).symlink_to(secret)
    done = run("check", ".", cwd=project)
    assert "SECRET" not in done.stdout + done.stderr
    assert "0.5.16" not in done.stdout + done.stderr
    assert "internal error" not in done.stderr


def test_a_pipe_that_nobody_reads_is_an_error(project: Path) -> None:
    os.mkfifo(project / "report.txt")
    done = run("check", ".", "--output-file", "report.txt", cwd=project, timeout=30)
    assert done.returncode == 2
    assert "report.txt: cannot be written" in done.stderr


def test_a_linked_folder_is_passed_over_and_said(project: Path, outside: Path) -> None:
    (project / "vendor").symlink_to(outside)
    done = run("check", ".", cwd=project)
    assert "SECRET" not in done.stdout + done.stderr
    assert "passed over, since they lead out of the repository: vendor" in done.stderr
