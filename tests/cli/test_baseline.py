"""`--baseline` and `--write-baseline`: known findings that only get fewer."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import BAD, GOOD, HEAD, UNSAFE, Kvlint


def entries(path: Path) -> list[tuple[str, str]]:
    return [(item["path"], item["code"]) for item in json.loads(path.read_text())["entries"]]


def test_what_is_written_down_is_not_reported(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", ".", "--write-baseline", "known.json")
    assert (done.status, done.out) == (0, "")
    assert entries(project / "known.json") == [("bad.py", "KV101")]
    done = kvlint("check", "bad.py", "--baseline", "known.json")
    assert (done.status, done.out) == (0, "")
    assert "1 known to the baseline." in done.err


def test_lines_may_move_and_indents_change(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    kvlint("check", "bad.py", "--write-baseline", "known.json")
    moved = HEAD + "    if layer_id:\n\n        k, v = pool.get_kv_buffer(layer_id)\n    return k\n"
    (project / "bad.py").write_text("import os\n" + moved)
    assert kvlint("check", "bad.py", "--baseline", "known.json").status == 0


def test_a_second_misuse_alike_is_new(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    kvlint("check", "bad.py", "--write-baseline", "known.json")
    line = "    k, v = pool.get_kv_buffer(layer_id)\n"
    (project / "bad.py").write_text(BAD.replace(line, line * 2))
    done = kvlint("check", "bad.py", "--baseline", "known.json", "--output-format", "concise")
    assert done.status == 1
    assert done.out.startswith("bad.py:6:12: KV101 ")


def test_fixed_entries_are_reported_and_taken_out(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "other.py").write_text(UNSAFE)
    kvlint("check", ".", "--write-baseline", "known.json")
    (project / "bad.py").write_text(GOOD)
    done = kvlint("check", "bad.py", "other.py", "--baseline", "known.json")
    assert done.status == 0
    assert "1 entry of the baseline is fixed: --write-baseline takes it out." in done.err
    done = kvlint("check", "bad.py", "other.py", "--write-baseline", "known.json")
    assert done.status == 0
    assert done.err.endswith("1 known to the baseline. Took 1 entry out of the baseline: fixed.\n")
    assert entries(project / "known.json") == [("other.py", "KV101")]


def test_files_that_were_not_checked_keep_their_entries(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "other.py").write_text(UNSAFE)
    kvlint("check", "bad.py", "other.py", "--write-baseline", "known.json")
    (project / "bad.py").write_text(GOOD)
    (project / "other.py").write_text(GOOD)
    kvlint("check", "bad.py", "--write-baseline", "known.json")
    assert entries(project / "known.json") == [("other.py", "KV101")]


def test_a_baseline_grows_only_by_force(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    kvlint("check", "bad.py", "--write-baseline", "known.json")
    (project / "other.py").write_text(UNSAFE)
    done = kvlint("check", "bad.py", "other.py", "--write-baseline", "known.json")
    assert done.status == 1
    assert done.out.startswith("other.py:5:12: KV101")
    assert "1 not added to the baseline: only --force adds to it." in done.err
    assert entries(project / "known.json") == [("bad.py", "KV101")]
    done = kvlint("check", "bad.py", "other.py", "--write-baseline", "known.json", "--force")
    assert done.status == 0
    assert entries(project / "known.json") == [("bad.py", "KV101"), ("other.py", "KV101")]


def test_a_baseline_can_stand_in_the_settings(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    kvlint("check", "bad.py", "--write-baseline", "known.json")
    (project / "kvlint.toml").write_text('sglang = "0.5.23"\nbaseline = "known.json"\n')
    assert kvlint("check", "bad.py").status == 0


def test_settings_that_name_no_baseline_are_named_with_their_line(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "kvlint.toml").write_text('sglang = "0.5.23"\nbaseline = "gone.json"\n')
    done = kvlint("check", "bad.py")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"kvlint: error: {project / 'kvlint.toml'}:2: baseline: {project / 'gone.json'}:"
        " cannot be read: No such file or directory\n"
    )


def test_a_baseline_is_no_input(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    kvlint("check", ".", "--write-baseline", "known.json")
    (project / "kvlint.toml").write_text('sglang = "0.5.23"\nbaseline = "known.json"\n')
    for arguments in (
        ("check", "."),
        ("check", ".", "--baseline", "known.json"),
        ("check", ".", "--write-baseline", "known.json"),
    ):
        assert "(1 file checked against" in kvlint(*arguments).err, arguments


def test_a_file_that_is_no_baseline_is_not_overwritten(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "notes.txt").write_text("words\n")
    for arguments, message in (
        (("bad.py", "--write-baseline", "bad.py"), "--write-baseline: bad.py is one of the files"),
        (("bad.py", "--write-baseline", "notes.txt"), "notes.txt:1: is no JSON"),
    ):
        done = kvlint("check", *arguments, "--force")
        assert (done.status, done.out) == (2, "")
        assert message in done.err
    assert (project / "bad.py").read_text() == BAD
    assert (project / "notes.txt").read_text() == "words\n"


def test_a_known_finding_is_not_fixed(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    kvlint("check", "bad.py", "--write-baseline", "known.json")
    assert kvlint("check", "--fix", "bad.py", "--baseline", "known.json").status == 0
    assert (project / "bad.py").read_text() == BAD


def test_a_syntax_error_cannot_be_written_down(project: Path, kvlint: Kvlint) -> None:
    (project / "broken.py").write_text("def f(:\n")
    assert kvlint("check", "broken.py", "--write-baseline", "known.json").status == 2
    assert entries(project / "known.json") == []


def test_a_baseline_that_cannot_be_used_is_named(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", "bad.py", "--baseline", "gone.json")
    assert done.status == 2
    assert "gone.json: cannot be read: No such file or directory" in done.err
    (project / "known.json").write_text('{\n"version": 1,,\n}\n')
    done = kvlint("check", "bad.py", "--baseline", "known.json")
    assert done.status == 2
    assert "known.json:2: is no JSON" in done.err
    (project / "known.json").write_text('{"version": 9}')
    assert kvlint("check", "bad.py", "--baseline", "known.json").status == 2
