"""Which release a check is made against."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.catalogue.choose import CatalogueError, choose
from tests.catalogue.test_extract import tree


@pytest.mark.parametrize(
    ("asked", "version", "reason"),
    [
        ("0.5.16", "0.5.16", "SGLang 0.5.16, given with --sglang"),
        ("0.5.16+cu129", "0.5.16", "SGLang 0.5.16, given with --sglang"),
        (
            "0.5.17",
            "0.5.16",
            "SGLang 0.5.16, the nearest older release that kvlint knows, for 0.5.17, "
            "given with --sglang",
        ),
        (
            "0.0.0.dev9596+g29b7f22d8",
            "0.5.23",
            "SGLang 0.5.23, the newest release that kvlint knows, for 0.0.0.dev9596+g29b7f22d8, "
            "given with --sglang",
        ),
        (
            "0.4.1",
            "0.5.12.post1",
            "SGLang 0.5.12.post1, the oldest release that kvlint knows, newer than 0.4.1, "
            "given with --sglang",
        ),
        (
            "9.0",
            "0.5.23",
            "SGLang 0.5.23, the newest release that kvlint knows, older than 9.0, "
            "given with --sglang",
        ),
    ],
)
def test_version_asked_for(asked: str, version: str, reason: str) -> None:
    choice = choose(asked, "0.5.14", [], None)

    assert (choice.catalogue.version, choice.reason) == (version, reason)


@pytest.mark.parametrize("text", ["latest", ">=0.5"])
def test_text_that_is_no_version(text: str) -> None:
    with pytest.raises(CatalogueError, match="neither a version"):
        choose(text, None, [], None)


def test_path_of_a_tree(tmp_path: Path) -> None:
    choice = choose(str(tree(tmp_path, {})), None, [], None)

    assert choice.reason == f"SGLang unknown in {tmp_path}, given with --sglang"


def test_configured_path_counts_from_the_project(tmp_path: Path) -> None:
    tree(tmp_path / "vendored", {})

    assert len(choose(None, "./vendored", [], tmp_path).catalogue.classes) == 2


def test_checked_tree_comes_before_the_project(tmp_path: Path) -> None:
    root = tree(tmp_path, {})
    (root / "requirements.txt").write_text("sglang==0.5.14\n")
    file = root / "sglang" / "srt" / "mem_cache" / "memory_pool.py"

    for checked in (root, root / "sglang", file):
        assert choose(None, None, [checked], root).reason.endswith("the checked tree itself")


DECLARED = {
    "pinned": ("requirements.txt", "torch\nsglang==0.5.14\n", "0.5.14"),
    "extras and marker": (
        "requirements-dev.txt",
        'sglang[all]==0.5.19 ; python_version > "3.9"\n',
        "0.5.19",
    ),
    "lower bound": ("requirements.txt", "sglang>=0.5.14\n", "0.5.23"),
    "range": ("requirements.txt", "sglang>=0.5.14,<0.5.19\n", "0.5.16"),
    "pyproject": ("pyproject.toml", '[project]\ndependencies = ["sglang~=0.5.21"]\n', "0.5.23"),
    "optional": (
        "pyproject.toml",
        '[project.optional-dependencies]\nrun = ["sglang==0.5.16"]\n',
        "0.5.16",
    ),
    "setup.cfg": (
        "setup.cfg",
        "[options]\ninstall_requires =\n  sglang==0.5.12.post1\n",
        "0.5.12.post1",
    ),
    "another distribution": ("requirements.txt", "sglang-router==0.1\n", "0.5.23"),
    "no version": ("requirements.txt", "sglang===main\n", "0.5.23"),
    "no bound": ("requirements.txt", "sglang\n", "0.5.23"),
}


@pytest.mark.parametrize(("name", "text", "version"), DECLARED.values(), ids=DECLARED)
def test_declared_dependency(tmp_path: Path, name: str, text: str, version: str) -> None:
    (tmp_path / name).write_text(text)

    assert choose(None, None, [], tmp_path).catalogue.version == version


def test_declared_dependency_is_named(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("sglang==0.5.14\n")

    choice = choose(None, None, [], tmp_path)
    assert choice.reason == "SGLang 0.5.14, declared in requirements.txt"


def test_installed_in_the_projects_environment(tmp_path: Path) -> None:
    info = tmp_path / ".venv/lib/python3.12/site-packages/sglang-0.5.19.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.19\n")
    (tmp_path / "requirements.txt").write_text("sglang==0.5.14\n")

    choice = choose(None, None, [], tmp_path)
    assert choice.reason == "SGLang 0.5.19, installed in the project's .venv"


def test_broken_pyproject_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n")

    with pytest.raises(CatalogueError, match=r"pyproject\.toml:1: is not valid TOML: .* \(col"):
        choose(None, None, [], tmp_path)


def test_nothing_known(tmp_path: Path) -> None:
    choice = choose(None, None, [], tmp_path)

    assert choice.reason == "SGLang 0.5.23, the newest release that kvlint knows"
