"""The result cache never changes a result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvlint.engine import screen as reading
from kvlint.engine import seen
from tests.cli.conftest import BAD, GOOD, HEAD, Done, Kvlint

HELPER = (
    "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
    "from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool\n\n\n"
    "def open_pool() -> {name}:\n    return make()\n"
)
USER = "from helper import open_pool\n\nk, v = open_pool().get_kv_buffer(0)\nprint(k, v)\n"


def check(kvlint: Kvlint, *arguments: str) -> Done:
    return kvlint("check", ".", "--output-format", "concise", *arguments)


def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the names of the files that are really analysed."""
    from kvlint.engine import schedule as runner

    names: list[str] = []
    real = runner.check_files

    def spy(request: runner.Request) -> list[runner.RawResult]:
        names.extend(path.name for path in request.files)
        return real(request)

    monkeypatch.setattr(runner, "check_files", spy)
    return names


def test_a_second_run_analyses_nothing_and_says_the_same(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "good.py").write_text(GOOD)
    names = analysed(monkeypatch)
    first = kvlint("check", ".")
    assert sorted(names) == ["bad.py", "good.py"]
    names.clear()
    second = kvlint("check", ".")
    assert names == []
    assert second == first


def test_json_is_the_same_to_the_last_byte(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    (project / "umlaut.py").write_bytes(f"# größe\n{BAD}".encode("utf-8-sig"))
    fresh = kvlint("check", ".", "--output-format", "json", "--no-cache")
    kvlint("check", ".", "--output-format", "json")
    assert kvlint("check", ".", "--output-format", "json") == fresh


def test_no_cache_leaves_no_trace(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    check(kvlint, "--no-cache")
    assert not (project / ".kvlint_cache").exists()
    check(kvlint)
    assert (project / ".kvlint_cache" / ".gitignore").read_text() == "*\n"


def test_changed_content_is_checked_again(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    assert check(kvlint).status == 1
    (project / "bad.py").write_text(GOOD)
    assert check(kvlint).status == 0
    (project / "bad.py").write_text(BAD)
    assert check(kvlint).status == 1


def test_what_an_imported_module_says_decides(project: Path, kvlint: Kvlint) -> None:
    (project / "helper.py").write_text(HELPER.format(name="MHATokenToKVPool"))
    (project / "user.py").write_text(USER)
    assert check(kvlint).out == ""
    (project / "helper.py").write_text(HELPER.format(name="DeepSeekV4SingleKVPool"))
    assert check(kvlint).out.startswith("user.py:3:8: KV101 ")
    (project / "helper.py").unlink()
    assert check(kvlint).out == ""
    (project / "helper.py").write_text(HELPER.format(name="DeepSeekV4SingleKVPool"))
    assert check(kvlint).out.startswith("user.py:3:8: KV101 ")


def test_a_module_behind_an_imported_module_decides_too(project: Path, kvlint: Kvlint) -> None:
    (project / "far.py").write_text(HELPER.format(name="MHATokenToKVPool"))
    (project / "helper.py").write_text("from far import open_pool  # KVCache\n")
    (project / "a_user.py").write_text(USER)
    (project / "b_user.py").write_text(USER)
    assert check(kvlint).out == ""
    (project / "far.py").write_text(HELPER.format(name="DeepSeekV4SingleKVPool"))
    places = [line.partition(":")[0] for line in check(kvlint).out.splitlines()]
    assert places == ["a_user.py", "b_user.py"]


def test_a_pool_class_of_the_project_decides(project: Path, kvlint: Kvlint) -> None:
    (project / "pools.py").write_text(
        "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n\n\n"
        "class OwnPool(DeepSeekV4SingleKVPool):\n    pass\n"
    )
    (project / "user.py").write_text(
        "from pools import OwnPool\n\n\ndef f(pool: OwnPool):\n"
        "    k, v = pool.get_kv_buffer(0)\n    return k, v\n"
    )
    assert check(kvlint).out.startswith("user.py:5:12: KV101 ")
    with (project / "pools.py").open("a") as handle:
        handle.write("\n    def get_kv_buffer(self, layer_id):\n        return 1, 2\n")
    assert check(kvlint).out == ""


def test_rules_and_release_decide(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    assert check(kvlint, "--ignore", "KV101").status == 0
    assert check(kvlint).status == 1
    assert check(kvlint, "--select", "KV2").status == 0
    assert "SGLang 0.5.16" in check(kvlint, "--sglang", "0.5.16").err
    assert "SGLang 0.5.23" in check(kvlint).err


def test_suppressions_and_settings_are_applied_to_cached_results(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "bad.py").write_text(f"{HEAD}    pool.get_kv_buffer(0)  # kvlint: ignore[KV101]\n")
    assert check(kvlint).status == 0
    (project / "kvlint.toml").write_text('sglang = "0.5.23"\nrequire-reason = true\n')
    assert "KV003" in check(kvlint).out


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"\xff\x00" * 100,
        lambda data: data.replace(b"KV101", b"KV102"),
    ],
    ids=["empty", "cut", "flipped", "noise", "edited"],
)
def test_a_damaged_cache_changes_nothing(project: Path, kvlint: Kvlint, damage: object) -> None:
    assert callable(damage)
    (project / "bad.py").write_text(BAD)
    first = check(kvlint)
    for path in (project / ".kvlint_cache").rglob("*"):
        if path.is_file():
            path.write_bytes(damage(path.read_bytes()))
    assert check(kvlint) == first
    assert check(kvlint) == first


def test_a_cache_that_cannot_be_written_is_no_error(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    (project / ".kvlint_cache").write_text("in the way\n")
    assert check(kvlint).status == 1
    assert (project / ".kvlint_cache").read_text() == "in the way\n"


def test_several_at_once_on_one_cache_all_say_the_same(project: Path) -> None:
    for number in range(20):
        (project / f"bad{number}.py").write_text(BAD)
    command = [sys.executable, "-m", "kvlint", "check", ".", "--output-format", "concise"]
    running = [
        subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    outputs = {process.communicate()[0] for process in running}
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 20
    assert not list((project / ".kvlint_cache").rglob(".new-*"))


def fill(project: Path) -> None:
    """More files than are read each time."""
    for number in range(reading.THOROUGH_LIMIT + 5):
        (project / f"plain{number:03}.py").write_text("x = 1\n")


def files_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the names of the files that are really read."""
    read: list[str] = []
    real = reading._read

    def spy(path: Path) -> tuple[bytes | None, os.stat_result]:
        read.append(path.name)
        return real(path)

    monkeypatch.setattr(reading, "_read", spy)
    return read


def test_of_a_large_project_untouched_files_are_not_read_again(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "_RACY", 0)
    fill(project)
    (project / "bad.py").write_text(BAD)
    (project / "unused.py").write_text("x = 1  # kvlint: ignore[KV101]\n")
    first = check(kvlint)
    assert first.out.splitlines()[0].startswith("bad.py:5:12: KV101")
    assert first.out.splitlines()[1].startswith("unused.py:1:8: KV002")
    read = files_read(monkeypatch)
    assert check(kvlint) == first
    assert set(read) == {"bad.py", "unused.py"}


def test_a_change_that_hides_behind_size_and_time_is_seen(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "_RACY", 0)
    fill(project)
    harmless = BAD.replace("get_kv_buffer", "get_zz_buffer")
    (project / "bad.py").write_text(harmless)
    before = (project / "bad.py").stat()
    assert "KV101" not in check(kvlint).out
    (project / "bad.py").write_text(BAD)
    os.utime(project / "bad.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "bad.py:5:12: KV101" in check(kvlint).out


def test_a_file_that_has_just_been_written_is_not_trusted(
    project: Path, kvlint: Kvlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "_RACY", 10**18)
    fill(project)
    (project / "bad.py").write_text(BAD)
    assert check(kvlint).status == 1
    read = files_read(monkeypatch)
    assert check(kvlint).status == 1
    assert len(read) >= reading.THOROUGH_LIMIT
