"""`kvlint check`: what is found, what is said, and the exit status."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import BAD, FIXED, GOOD, UNSAFE, Kvlint

WHERE = "bad.py:5:12: KV101"


def test_a_finding_is_printed_and_ends_with_1(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", "bad.py")
    assert done.status == 1
    assert done.out.startswith(f"{WHERE} `get_kv_buffer`")
    assert "Found 1 error in 1 file (1 file checked against SGLang 0.5.23" in done.err


def test_clean_code_prints_nothing_and_ends_with_0(project: Path, kvlint: Kvlint) -> None:
    (project / "good.py").write_text(GOOD)
    done = kvlint("check", ".")
    assert (done.status, done.out) == (0, "")
    assert done.err.startswith("No findings (1 file checked")


def test_a_path_that_does_not_exist_ends_with_3_and_spoils_nothing(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", "bad.py", "gone.py")
    assert done.status == 3
    assert WHERE in done.out
    assert "gone.py: error: no such file or folder" in done.err


def test_a_folder_without_python_ends_with_3(project: Path, kvlint: Kvlint) -> None:
    (project / "docs").mkdir()
    (project / "docs" / "README.md").write_text("words\n")
    done = kvlint("check", "docs")
    assert done.status == 3
    assert "docs: error: holds nothing to check" in done.err


def test_no_paths_end_with_0(project: Path, kvlint: Kvlint) -> None:
    done = kvlint("check")
    assert (done.status, done.out) == (0, "")
    assert "no paths given" in done.err


def test_files_that_are_not_python_pass(project: Path, kvlint: Kvlint) -> None:
    (project / "README.md").write_text("words\n")
    assert kvlint("check", "README.md").status == 0


def test_a_list_of_files_that_are_all_excluded_passes(project: Path, kvlint: Kvlint) -> None:
    (project / "kvlint.toml").write_text('sglang = "0.5.23"\nextend-exclude = ["vendor"]\n')
    (project / "vendor").mkdir()
    (project / "vendor" / "bad.py").write_text(BAD)
    assert kvlint("check", "vendor/bad.py").status == 0
    assert kvlint("check", "vendor").status == 0


def test_a_syntax_error_is_a_finding_with_its_place_and_ends_with_2(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "broken.py").write_text("x = 1\ndef f(:\n")
    done = kvlint("check", ".", "--output-format", "concise")
    assert done.status == 2
    assert WHERE in done.out
    assert "broken.py:2:7: KV001 invalid syntax" in done.out


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = '\xff'\n", "bad_input.py:1: error: is not valid utf-8: byte 0xff"),
        (b"x = 1\n\0\n", "bad_input.py:2: error: holds a NUL byte"),
        (b"# coding: klingon\n", "bad_input.py:1: error: its encoding is not understood"),
        (b"x = 1\n" * 1_800_000, "bad_input.py: error: is larger than 10 MB"),
        (b"x = " + b"(" * 5000 + b")" * 5000, "bad_input.py"),
        (b"x = " + b"-" * 200_000 + b"1", "bad_input.py"),
    ],
    ids=["bytes", "nul", "encoding", "size", "brackets", "depth"],
)
def test_unreadable_input_is_named_and_ends_with_2(
    project: Path, kvlint: Kvlint, data: bytes, message: str
) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "bad_input.py").write_bytes(data)
    done = kvlint("check", ".", "--output-format", "concise")
    assert done.status == 2
    assert WHERE in done.out
    assert message in done.err + done.out


def test_select_and_ignore_take_codes_prefixes_and_names(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    for arguments in (
        ("--select", "KV2"),
        ("--ignore", "KV101"),
        ("--ignore", "single-kv-pair-read"),
        ("--select", "KV1", "--ignore", "KV102,KV101"),
    ):
        assert kvlint("check", ".", *arguments).status == 0, arguments
    for arguments in (
        ("--select", "KV101"),
        ("--select", "KV1,KV2"),
        ("--select", "single-kv-pair-read"),
        ("--select", "KV101", "--ignore", "KV1"),
    ):
        assert kvlint("check", ".", *arguments).status == 1, arguments


def test_an_unknown_rule_is_a_usage_error_with_a_suggestion(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", ".", "--ignore", "single-kv-pair-reed")
    assert done.status == 2
    assert "--ignore: unknown rule 'single-kv-pair-reed', did you mean single-kv-pair-read?" in (
        done.err
    )


def test_an_unknown_release_is_a_usage_error(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", ".", "--sglang", "newest")
    assert done.status == 2
    assert done.err.startswith("kvlint: error: 'newest'")


def test_statistics_count_by_rule(project: Path, kvlint: Kvlint) -> None:
    (project / "a.py").write_text(BAD)
    (project / "b.py").write_text(BAD)
    done = kvlint("check", ".", "--statistics")
    assert done.status == 1
    assert done.out == "    2  KV101  single-kv-pair-read  [2 fixable]\n"


def test_output_file_takes_the_findings(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", ".", "--output-format", "json", "--output-file", "out/report.json")
    assert (done.status, done.out) == (1, "")
    assert json.loads((project / "out" / "report.json").read_text())["findings"][0]["line"] == 5


def test_fix_repairs_the_file_and_ends_with_0(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", "--fix", "--show-fixes", ".")
    assert (done.status, done.out) == (0, "")
    assert (project / "bad.py").read_text() == FIXED
    assert "Applied 1 fix." in done.err
    assert "bad.py:\n    KV101 line 5: " in done.err
    assert kvlint("check", "--fix", ".").err.startswith("No findings")


def test_unsafe_fixes_need_their_option(project: Path, kvlint: Kvlint) -> None:
    (project / "unsafe.py").write_text(UNSAFE)
    done = kvlint("check", "--fix", ".")
    assert done.status == 1
    assert "1 more with --unsafe-fixes." in done.err
    assert (project / "unsafe.py").read_text() == UNSAFE
    assert kvlint("check", "--fix", "--unsafe-fixes", ".").status == 0
    assert (project / "unsafe.py").read_text() == GOOD


def test_diff_shows_the_fix_and_writes_nothing(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", "--diff", ".")
    assert done.status == 1
    assert "--- a/bad.py\n+++ b/bad.py\n" in done.out
    assert "-    k, v = pool.get_kv_buffer(layer_id)\n" in done.out
    assert "+    k = pool.get_key_buffer(layer_id)\n" in done.out
    assert (project / "bad.py").read_text() == BAD
    assert "Would apply 1 fix." in done.err


def test_standard_input_is_checked_under_its_file_name(project: Path, kvlint: Kvlint) -> None:
    done = kvlint(
        *("check", "-", "--stdin-filename", "models/x.py", "--output-format", "concise"),
        stdin=BAD.encode(),
    )
    assert done.status == 1
    assert done.out.startswith("models/x.py:5:12: KV101 ")


def test_the_fixed_text_of_standard_input_goes_to_standard_output(
    project: Path, kvlint: Kvlint
) -> None:
    text = BAD.replace("\n", "\r\n").encode()
    done = kvlint("check", "-", "--fix", stdin=text)
    assert done.status == 0
    assert done.out_bytes == FIXED.replace("\n", "\r\n").encode()
    done = kvlint("check", "-", "--fix", stdin=UNSAFE.encode())
    assert done.status == 1
    assert done.out_bytes == UNSAFE.encode()
    assert "KV101" in done.err


def test_excluded_standard_input_passes_through(project: Path, kvlint: Kvlint) -> None:
    (project / "kvlint.toml").write_text('extend-exclude = ["vendor"]\n')
    done = kvlint("check", "-", "--fix", "--stdin-filename", "vendor/x.py", stdin=BAD.encode())
    assert (done.status, done.out) == (0, BAD)


def test_standard_input_does_not_go_with_paths(project: Path, kvlint: Kvlint) -> None:
    assert kvlint("check", "-", "bad.py").status == 2


def test_wrong_settings_are_named_by_file_and_line(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "kvlint.toml").write_text('# settings\nselekt = ["KV101"]\n')
    done = kvlint("check", ".")
    assert done.status == 2
    assert f"{project / 'kvlint.toml'}:2: unknown key 'selekt', did you mean select?" in done.err
    (project / "kvlint.toml").write_text('select = [\n  "KV1",\n  "KV9",\n]\n')
    done = kvlint("check", ".")
    assert done.status == 2
    assert f"{project / 'kvlint.toml'}:3: select: unknown rule 'KV9'" in done.err


def test_files_go_by_the_closest_settings(project: Path, kvlint: Kvlint) -> None:
    for name in ("a", "b"):
        (project / name).mkdir()
        (project / name / "bad.py").write_text(BAD)
    (project / "b" / "pyproject.toml").write_text(
        '[tool.kvlint]\nsglang = "0.5.23"\nignore = ["KV101"]\n'
    )
    done = kvlint("check", ".", "--output-format", "concise")
    assert [line.partition(":")[0] for line in done.out.splitlines()] == ["a/bad.py"]


def test_per_file_ignores_hold_below_the_settings(project: Path, kvlint: Kvlint) -> None:
    (project / "kvlint.toml").write_text(
        'sglang = "0.5.23"\n[per-file-ignores]\n"tests/**" = ["KV1"]\n'
    )
    (project / "tests").mkdir()
    (project / "tests" / "bad.py").write_text(BAD)
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", ".", "--output-format", "concise")
    assert [line.partition(":")[0] for line in done.out.splitlines()] == ["bad.py"]


def test_rules_of_ones_own_join_in(project: Path, kvlint: Kvlint) -> None:
    (project / "kvlint.toml").write_text('extend-rules = ["rules/missing.md"]\n')
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", ".")
    assert done.status == 2
    assert "kvlint.toml:1: " in done.err
    assert "no such rule file or folder" in done.err


def test_a_closed_pipe_leaves_no_traceback(project: Path) -> None:
    import subprocess
    import sys

    for number in range(40):
        (project / f"bad{number}.py").write_text(BAD)
    command = f'"{sys.executable}" -m kvlint check --no-cache . | head -n 1'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=project)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.stdout.startswith("bad0.py:5:12: KV101")


def test_colour_and_control_characters_stay_out_of_piped_text(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "bad.py").write_text(
        BAD.replace("(layer_id)\n    return", "(layer_id)  # \x1b[31m\n    return")
    )
    done = kvlint("check", ".")
    assert done.status == 1
    assert "\x1b" not in done.out
    assert "\\x1b[31m" in done.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(project: Path, kvlint: Kvlint) -> None:
    (project / "locked.py").write_text(BAD)
    (project / "locked.py").chmod(0)
    done = kvlint("check", ".")
    assert done.status == 2
    assert "locked.py: error: cannot be read: Permission denied" in done.err


def test_an_internal_error_is_one_line_without_a_traceback(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("something\nunforeseen")

    monkeypatch.delenv("KVLINT_TRACEBACK")
    monkeypatch.setattr("kvlint.cli.check.main", fail)
    done = kvlint("check", ".")
    assert done.status == 2
    assert done.err.startswith("kvlint: internal error: RuntimeError: something unforeseen\n")
    assert "Traceback" not in done.err


def test_ctrl_c_ends_with_130(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kvlint.cli.check.main", interrupt)
    done = kvlint("check", ".")
    assert (done.status, done.out) == (130, "")
    assert "Traceback" not in done.err
