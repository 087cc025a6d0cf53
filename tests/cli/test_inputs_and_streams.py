"""`kvlint check` where an input, an option or a stream cannot be used as it is given."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import BAD, GOOD, Kvlint

FOUND = "bad.py:5:12: KV101 "
FULL = Path("/dev/full")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command line in which `kvlint` is this one."""
    function = f'kvlint() {{ "{sys.executable}" -m kvlint "$@"; }}\n'
    return subprocess.run(
        ["sh", "-c", function + command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=folder,
    )


def test_a_file_that_cannot_be_read_is_not_counted_as_checked(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "odd.py").write_bytes(b"x = 1\n\0\n")
    done = kvlint("check", "odd.py")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "odd.py:2: error: holds a NUL byte: no Python source\nNothing could be checked.\n"
    )
    (project / "good.py").write_text(GOOD)
    done = kvlint("check", ".", "--output-format", "json")
    assert json.loads(done.out)["files"] == 1
    assert "No findings (1 file checked against SGLang 0.5.23, set in [tool.kvlint];" in done.err
    assert done.err.endswith("; 1 could not be checked).\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"\xef\xbb\xbf# coding: latin-1\n",
            "odd.py:1: error: is declared as latin-1, but starts with the byte order mark of UTF-8",
        ),
        (
            b"#!/usr/bin/python\n# coding: klingon\n",
            "odd.py:2: error: its encoding is not understood: unknown encoding: klingon",
        ),
        (
            b"#!/usr/bin/python\n# coding: rot13\n",
            "odd.py:2: error: its encoding is not understood: rot-13 is none for source text",
        ),
    ],
)
def test_an_encoding_is_complained_of_where_it_is_declared(
    project: Path, kvlint: Kvlint, data: bytes, message: str
) -> None:
    (project / "odd.py").write_bytes(data)
    done = kvlint("check", "odd.py")
    assert (done.status, done.err.splitlines()[0]) == (2, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--unsafe-fixes",), "--unsafe-fixes goes with --fix or --diff"),
        (("--stdin-filename", "x.py"), "--stdin-filename goes with the path -"),
        (("--output-file", "bad.py"), "--output-file: bad.py is one of the files to check"),
        (("--output-file", "link.txt"), "--output-file: link.txt is one of the files to check"),
        (
            ("--output-file", "out.json", "--write-baseline", "out.json"),
            "--output-file: out.json is the file of --write-baseline, too",
        ),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    project: Path, kvlint: Kvlint, arguments: tuple[str, ...], message: str
) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "link.txt").symlink_to("bad.py")
    done = kvlint("check", "bad.py", *arguments)
    assert (done.status, done.out, done.err) == (2, "", f"kvlint: error: {message}\n")
    assert (project / "bad.py").read_text() == BAD
    assert not (project / "out.json").exists()


def test_a_launch_file_is_not_overwritten_but_an_earlier_report_is(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "bad.py").write_text(BAD)
    launch = '{"args": ["--attention-backend", "fa3"]}'
    (project / "server.json").write_text(launch)
    done = kvlint("check", ".", "--output-file", "server.json", "--output-format", "json")
    assert (done.status, done.err) == (
        2,
        "kvlint: error: --output-file: server.json is one of the files to check\n",
    )
    assert (project / "server.json").read_text() == launch
    for _ in range(2):
        done = kvlint("check", ".", "--output-file", "report.json", "--output-format", "json")
        assert done.status == 1
        assert "(2 files checked against" in done.err


def test_a_report_keeps_the_mode_of_its_file_and_leaves_nothing_beside_it(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "out").mkdir()
    report = project / "out" / "report.txt"
    report.write_text("old\n")
    report.chmod(0o640)
    (project / "out" / "link.txt").symlink_to("report.txt")
    done = kvlint("check", "bad.py", "--output-file", "out/link.txt")
    assert (done.status, done.out) == (1, "")
    assert report.read_text().startswith(FOUND)
    assert stat.S_IMODE(report.stat().st_mode) == 0o640
    assert sorted(path.name for path in report.parent.iterdir()) == ["link.txt", "report.txt"]
    assert (project / "out" / "link.txt").is_symlink()


def test_a_report_that_cannot_be_written_leaves_the_old_one(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "report.txt").write_text("old\n")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kvlint.source.writing.os.fsync", full)
    done = kvlint("check", "bad.py", "--no-cache", "--output-file", "report.txt")
    assert done.status == 2
    assert done.err == (
        "kvlint: error: --output-file: report.txt: cannot be written: No space left on device\n"
    )
    assert (project / "report.txt").read_text() == "old\n"
    assert {path.name for path in project.iterdir()} == {"bad.py", "kvlint.toml", "report.txt"}


def test_a_file_that_is_not_fixed_says_so(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "bad.py").chmod(0o444)
    done = kvlint("check", "--fix", "bad.py")
    assert done.status == 2
    assert "bad.py: error: was not fixed: it is read-only\n" in done.err
    done = kvlint("check", "--add-ignore", "bad.py")
    assert "bad.py: error: got no suppression comment: it is read-only\n" in done.err


def test_a_prefix_in_a_comment_is_told_from_a_misspelt_code(project: Path, kvlint: Kvlint) -> None:
    for name in ("KV1", "kv1", "ALL"):
        (project / "x.py").write_text(f"x = 1  # kvlint: ignore[{name}] why\n")
        done = kvlint("check", "x.py", "--output-format", "concise")
        assert done.out == (
            f"x.py:1:8: KV003 suppression comment names {name!r}: a comment takes codes and names,"
            " no prefixes and no ALL\n"
        )
    (project / "x.py").write_text("x = 1  # kvlint: ignore[KV110] why\n")
    done = kvlint("check", "x.py", "--output-format", "concise")
    assert done.out.startswith(
        "x.py:1:8: KV003 suppression comment names an unknown rule 'KV110', did you mean KV"
    )


def test_a_rule_of_ones_own_that_is_wrong_is_named_by_settings_and_file(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "kvlint.toml").write_text('extend-rules = ["own.md"]\n')
    (project / "own.md").write_text("+++\ncode = 1\n+++\n")
    done = kvlint("rules")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"kvlint: error: {project / 'kvlint.toml'}:1: {project / 'own.md'}:2:"
        " code is missing or no text\n"
    )


def test_pools_go_by_the_closest_settings(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "kvlint.toml").write_text('# words\nsglang = "0.5.16"\n')
    (project / "models").mkdir()
    monkeypatch.chdir(project / "models")
    assert kvlint("pools").out.startswith("SGLang 0.5.16, set in [tool.kvlint]: ")
    assert kvlint("pools", "--sglang", "0.5.14").out.startswith("SGLang 0.5.14, given with ")
    (project / "kvlint.toml").write_text('# words\nsglang = "gone"\n')
    done = kvlint("pools")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"kvlint: error: {project / 'kvlint.toml'}:2: ")


def test_pools_compare_only_releases_that_are_known(project: Path, kvlint: Kvlint) -> None:
    done = kvlint("pools", "--diff", "0.5.19", "9.9")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "kvlint: error: SGLang 9.9 is not known;"
        " known: 0.5.12.post1, 0.5.14, 0.5.16, 0.5.19, 0.5.21, 0.5.23\n"
    )
    assert kvlint("pools", "--diff", "0.5.19", "0.5.21+cu129").status == 0


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["kvlint check bad.py", "kvlint rules", "kvlint rule KV101"])
def test_output_that_is_full_is_one_line(project: Path, command: str) -> None:
    (project / "bad.py").write_text(BAD)
    done = shell(f"{command} > /dev/full", project)
    assert done.returncode == 2
    assert done.stderr.endswith(
        "kvlint: error: standard output: cannot be written: No space left on device\n"
    )
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_streams_may_be_closed(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    done = shell("kvlint check bad.py >&-", project)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Found 1 error in 1 file")
    done = shell("kvlint check bad.py 2>&-", project)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(FOUND)
    done = shell("kvlint check bad.py <&- >&- 2>&-", project)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    done = shell("kvlint check - <&-", project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kvlint: error: -: standard input is closed\n"
