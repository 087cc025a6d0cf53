"""`kvlint args`: one command line, or that of a running process."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.engine.command_line import command_findings, command_source, process_words
from kvlint.errors import UsageError
from kvlint.launch.facts import LaunchRelease
from tests.launch.asking import RULES
from tests.running import kvlint

COMMAND = ("python", "-m", "sglang.launch_server", "--model-path", "my model", "--is-embedding")


def found(*words: str) -> list[str]:
    source = command_source(words, "command line")
    findings = command_findings(source, RULES, LaunchRelease("0.5.23"))
    return [finding.code for finding in findings if finding.severity != "hint"]


def test_a_command_line_that_contradicts_itself() -> None:
    flag = "--prefill-only-disable-kv-cache"
    assert found(*COMMAND, flag, "--attention-backend=triton") == ["KV303", "KV302"]


def test_a_command_line_that_is_right() -> None:
    assert found(*COMMAND, "--attention-backend", "fa3") == []


def test_a_command_that_starts_no_server_is_refused() -> None:
    with pytest.raises(UsageError, match="starts no SGLang server: ls -l"):
        found("ls", "-l")


def test_the_command_exits_with_1_and_shows_the_corrected_line(tmp_path: Path) -> None:
    done = kvlint("args", "--", *COMMAND, "--attention-backend", "fa", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.rstrip().endswith(
        "corrected: python -m sglang.launch_server --model-path 'my model' --is-embedding"
        " --attention-backend fa3"
    )


def test_bare_options_are_those_of_a_server(tmp_path: Path) -> None:
    done = kvlint("args", "--", "--model", "m", "--attention-backend", "fa3", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("arguments", [("--pid", "1", "--", "sglang"), ("--pid", "4194305")])
def test_usage_errors_exit_with_2(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert kvlint("args", *arguments, cwd=tmp_path).returncode == 2


def _process(folder: Path, command: bytes) -> Path:
    (folder / "7").mkdir()
    (folder / "7" / "cmdline").write_bytes(command)
    return folder


def test_the_words_of_a_running_process(tmp_path: Path) -> None:
    processes = _process(tmp_path, b"python\0-m\0sglang.launch_server\0--model-path\0a b\0")
    assert process_words(7, processes)[-1] == "a b"


@pytest.mark.parametrize(
    ("command", "message"),
    [(b"sglang::scheduler_TP0\0", "a worker"), (b"", "no command line")],
)
def test_a_process_that_is_no_server(tmp_path: Path, command: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        process_words(7, _process(tmp_path, command))


def test_a_process_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no process 7"):
        process_words(7, tmp_path)


def test_where_there_are_no_processes_to_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only Linux"):
        process_words(7, tmp_path / "proc")
