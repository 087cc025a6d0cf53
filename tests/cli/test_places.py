"""kvlint where other tools run it: pre-commit, the action, the other commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kvlint.project.settings import KEYS
from kvlint.rules.rule import builtin_rules
from tests.cli.conftest import BAD, FIXED, GOOD, Kvlint

ROOT = Path(__file__).parent.parent.parent


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with the working tree of this one, as pre-commit would clone it."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git, and a clone of the repository")
    folder = tmp_path_factory.mktemp("hooks")
    for name in git(ROOT, "ls-files", "-co", "--exclude-standard", "-z").split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("tests/", "fixtures/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "kvlint")
    return folder


@pytest.fixture(scope="module")
def pre_commit_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit")


def staged(folder: Path, hooks: Path, hook: str, **files: str) -> None:
    """A scratch repository with one hook configured and these files staged."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    repository = {"repo": str(hooks), "rev": git(hooks, "rev-parse", "HEAD")}
    config = {"repos": [{**repository, "hooks": [{"id": hook}]}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    (folder / "kvlint.toml").write_text('sglang = "0.5.23"\nextend-exclude = ["vendor"]\n')
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all")


def pre_commit(folder: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", *arguments],
        cwd=folder,
        env={**os.environ, "PRE_COMMIT_HOME": str(home)},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_pre_commit_runs_the_hooks(hooks: Path, pre_commit_home: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    staged(bad, hooks, "kvlint", bad_dot_py=BAD)
    done = pre_commit(bad, pre_commit_home)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "bad.py:5:12: KV101" in done.stdout

    good = tmp_path / "good"
    staged(good, hooks, "kvlint", good_dot_py=GOOD, notes_dot_txt="words\n", vendor__x_dot_py=BAD)
    assert pre_commit(good, pre_commit_home).returncode == 0

    nothing = tmp_path / "nothing"
    staged(nothing, hooks, "kvlint", notes_dot_txt="words\n")
    assert pre_commit(nothing, pre_commit_home, "--files", "notes.txt").returncode == 0

    fix = tmp_path / "fix"
    staged(fix, hooks, "kvlint-fix", bad_dot_py=BAD)
    done = pre_commit(fix, pre_commit_home)
    assert done.returncode == 1
    assert "files were modified by this hook" in done.stdout
    assert (fix / "bad.py").read_text() == FIXED
    git(fix, "add", "--all")
    assert pre_commit(fix, pre_commit_home).returncode == 0


def test_the_hooks_and_the_action_are_what_their_readers_expect() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [(hook["id"], hook["entry"]) for hook in hooks] == [
        ("kvlint", "kvlint check"),
        ("kvlint-fix", "kvlint check --fix"),
    ]
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    script = action["runs"]["steps"][-1]
    used = {value.strip("${} ").partition(".")[2] for value in script["env"].values()}
    assert used | {"python-version"} == set(action["inputs"])


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    assert [key.name for key in KEYS if f"| `{key.name}` |" not in text] == []


def test_rule_shows_the_document_by_code_and_by_name(project: Path, kvlint: Kvlint) -> None:
    by_code = kvlint("rule", "KV101")
    assert by_code.status == 0
    assert by_code.out.startswith("# KV101 single-kv-pair-read\n")
    assert "## Why is this bad" in by_code.out
    assert kvlint("rule", "single-kv-pair-read") == by_code
    assert kvlint("rule", "kv101") == by_code


def test_an_unknown_rule_gets_a_suggestion(project: Path, kvlint: Kvlint) -> None:
    done = kvlint("rule", "single-kv-pair")
    assert done.status == 2
    assert "did you mean single-kv-pair-read?" in done.err


def test_rules_lists_them_all(project: Path, kvlint: Kvlint) -> None:
    listed = json.loads(kvlint("rules", "--output-format", "json").out)
    assert [item["code"] for item in listed] == [rule.code for rule in builtin_rules()]
    lines = kvlint("rules").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.startswith("KV")] == [
        rule.code for rule in builtin_rules()
    ]


def test_config_shows_values_and_origins(project: Path, kvlint: Kvlint) -> None:
    lines = kvlint("config").out.splitlines()
    assert f'sglang = "0.5.23"  # {project / "kvlint.toml"}:1' in lines
    assert "require-reason = false  # default" in lines
    data = json.loads(kvlint("config", ".", "--output-format", "json").out)
    assert data["sglang"] == {"value": "0.5.23", "from": f"{project / 'kvlint.toml'}:1"}
    assert kvlint("config", "gone").status == 3


def test_config_reports_an_unknown_rule(project: Path, kvlint: Kvlint) -> None:
    (project / "kvlint.toml").write_text('ignore = ["KV999"]\n')
    done = kvlint("config")
    assert done.status == 2
    assert f"{project / 'kvlint.toml'}:1: ignore: unknown rule 'KV999'" in done.err


def test_the_schema_is_printed(project: Path, kvlint: Kvlint) -> None:
    assert json.loads(kvlint("config", "--schema").out)["title"] == "kvlint"


def test_version_and_help(project: Path, kvlint: Kvlint) -> None:
    assert kvlint("--version").out.startswith("kvlint 0.")
    help_ = kvlint("--help")
    assert help_.status == 0
    for command in ("check", "rule", "rules", "config", "pools", "run", "doctor", "args"):
        assert f"\n  {command} " in help_.out
    assert kvlint().status == 2
    assert kvlint("chekc").status == 2


def test_python_m_is_the_same_command(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    command = [sys.executable, "-m", "kvlint", "check", "--output-format", "concise", "bad.py"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.startswith("bad.py:5:12: KV101 ")
