"""Which files a run checks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvlint.project.files import Selection, collect
from kvlint.project.settings import SettingsFinder


def make(top: Path, *names: str) -> None:
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def found(top: Path, *names: str) -> list[str]:
    selection = select(top, *names)
    return [path.relative_to(top).as_posix() for path in selection.files]


def select(top: Path, *names: str) -> Selection:
    paths = [top / name for name in names or (".",)]
    return collect(paths, SettingsFinder(), lambda path: path.suffix == ".sh")


def test_a_folder_is_walked_for_python_and_launch_files(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b/c.py", "b/d.pyw", "b/notes.txt", "b/e.pyi", "b/serve.sh")
    assert found(tmp_path) == ["a.py", "b/c.py", "b/d.pyw", "b/serve.sh"]


def test_a_file_named_twice_is_checked_once(tmp_path: Path) -> None:
    make(tmp_path, "b/a.py")
    assert found(tmp_path, "b/a.py", "b", ".", "b/../b/a.py") == ["b/a.py"]


def test_a_script_without_a_suffix_is_python_by_its_first_line(tmp_path: Path) -> None:
    make(tmp_path, "plain")
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\n")
    assert found(tmp_path, "plain", "tool") == ["tool"]
    assert select(tmp_path, "plain").skipped == 1


def test_missing_paths_and_bare_folders_are_told_apart(tmp_path: Path) -> None:
    make(tmp_path, "docs/words.txt")
    selection = select(tmp_path, "docs", "gone")
    assert selection.bare == (tmp_path / "docs",)
    assert selection.missing == (tmp_path / "gone",)
    assert selection.files == ()


def test_default_excludes_steer_the_walk_but_not_named_paths(tmp_path: Path) -> None:
    make(tmp_path, "a.py", ".venv/lib/plugin/b.py", "node_modules/c.py", "x/__pycache__/d.py")
    assert found(tmp_path) == ["a.py"]
    assert found(tmp_path, ".venv/lib/plugin") == [".venv/lib/plugin/b.py"]
    assert found(tmp_path, "node_modules/c.py") == ["node_modules/c.py"]


def test_excludes_of_the_settings_hold_for_named_paths_too(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "vendor/b.py", "x/vendor/c.py", "gen/d_pb2.py", "gen/d.py")
    (tmp_path / "kvlint.toml").write_text('extend-exclude = ["vendor/", "*_pb2.py"]\n')
    assert found(tmp_path) == ["a.py", "gen/d.py"]
    assert found(tmp_path, "vendor/b.py", "gen/d_pb2.py", "a.py") == ["a.py"]
    selection = select(tmp_path, "vendor")
    assert (selection.files, selection.bare, selection.skipped) == ((), (), 1)


def test_exclude_replaces_the_defaults(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "venv/b.py", "old/c.py")
    (tmp_path / "kvlint.toml").write_text('exclude = ["/old"]\n')
    assert found(tmp_path) == ["a.py", "venv/b.py"]


def test_gitignore_is_respected_at_every_level(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "out/b.py", "x/c.py", "x/keep/d.py", "x/keep/e.gen.py", "y/f.gen.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("# words\n/out\n*.gen.py\n")
    (tmp_path / "x" / ".gitignore").write_text("c.py\n!e.gen.py\n")
    assert found(tmp_path) == ["a.py", "x/keep/d.py", "x/keep/e.gen.py"]
    assert found(tmp_path, "x") == ["x/keep/d.py", "x/keep/e.gen.py"]
    assert found(tmp_path, "y/f.gen.py", "out") == ["out/b.py", "y/f.gen.py"]


def test_git_info_exclude_is_respected(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "scratch/b.py")
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("scratch/\n")
    assert found(tmp_path) == ["a.py"]


def test_gitignore_files_above_the_repository_do_not_count(tmp_path: Path) -> None:
    make(tmp_path, "repo/a.py")
    (tmp_path / ".gitignore").write_text("*.py\n")
    (tmp_path / "repo" / ".git").mkdir()
    assert found(tmp_path / "repo") == ["a.py"]


def test_links_do_not_lead_the_walk_astray(tmp_path: Path) -> None:
    make(tmp_path, "a/b.py", "elsewhere/c.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "a" / "same.py").symlink_to(tmp_path / "a" / "b.py")
    (tmp_path / "a" / "other.py").symlink_to(tmp_path / "elsewhere" / "c.py")
    (tmp_path / "named").symlink_to(tmp_path / "a")
    assert found(tmp_path, "a") == ["a/b.py", "a/other.py"]
    assert found(tmp_path, "named") == ["named/b.py", "named/other.py"]


def test_a_pipe_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    selection = select(tmp_path, "pipe.py")
    assert [error.message for error in selection.errors] == ["is no regular file"]
    assert select(tmp_path).files == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "locked/b.py")
    (tmp_path / "locked").chmod(0)
    selection = select(tmp_path)
    (tmp_path / "locked").chmod(0o755)
    assert [error.path for error in selection.errors] == [tmp_path / "locked"]
    assert selection.files == (tmp_path / "a.py",)
